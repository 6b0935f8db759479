"""What a call did, as far as its name and its result tell.

Knows no rule. Invariant: pure; nothing here is certain, so what is told from it is a warning.
"""

from __future__ import annotations

import re

from remit.check.transcript import Result

__all__ = ["failed", "is_general", "is_undo", "is_write", "words_of"]

_WRITE = re.compile(
    "add|append|apply|archive|assign|book|cancel|charge|close|commit|create|deactivate|delete|deploy|disable|drop|edit|"
    "enable|execute|grant|insert|invite|issue|merge|modify|move|order|overwrite|patch|pay|post|publish|purchase|push|"
    "put|refund|reject|remove|rename|replace|reply|reschedule|reset|reserve|restart|revoke|schedule|send|set|share|"
    "submit|transfer|trigger|unshare|update|upload|withdraw|write|wire"
)
_READ = re.compile("get|list|search|find|read|fetch|lookup|query|show|describe|count|check|view")
_UNDO = re.compile("cancel|delete|undo|revert|refund|void|remove|withdraw|rollback|release")
_FAILED = re.compile(
    r"\W*(error|failed|failure|exception|traceback|invalid|unknown|not found|denied|unauthorized|forbidden|timed? ?out|"
    r"cannot|could not|unable)\b|.{0,40}\b(error|exception|failed)\b\s*:",
    re.IGNORECASE,
)
_FLAG = re.compile(r"\"(error|success|ok|status)\"\s*:\s*(\"?(?:error|failed|failure|false)\b|\{|\"[^\"]{3})", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """The words of a tool's name, in lower case."""
    return [one.lower() for one in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def is_write(name: str) -> bool:
    """Whether a tool changes something, as far as its name tells: its first verb does."""
    verb = next((word for word in words_of(name) if _WRITE.fullmatch(word) or _READ.fullmatch(word)), "")
    return _WRITE.fullmatch(verb) is not None


def failed(result: Result) -> bool:
    """Whether a result says that nothing came of the call."""
    text = result.text[:400]
    if result.error is True or _FAILED.match(text) is not None:
        return True
    found_flag = _FLAG.search(text)
    return found_flag is not None and (
        found_flag[1].lower() == "error" or re.search("error|fail|false", found_flag[2], re.IGNORECASE) is not None
    )


def is_undo(name: str) -> bool:
    """Whether a tool takes back what another one did."""
    return any(_UNDO.fullmatch(word) for word in words_of(name))


def is_general(name: str) -> bool:
    """Whether a tool does what its arguments say: a shell, a program, a query."""
    return bool({"bash", "shell", "execute", "run", "python", "code", "sql", "command", "http", "request"} & {*words_of(name)})
