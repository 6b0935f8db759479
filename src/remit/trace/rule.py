"""The shapes that secrets have, as data. Rules that need no context come with those that name their value.

A rule errs on the side of masking: what is lost from a log line is still in the ledger. E-mail addresses
and names are not here: they are personal, not secret, and free text leaves only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["DEFAULT", "Rule", "luhn"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape, in RE2's syntax.

    Args:
        name: for the reader of the list.
        pattern: what is masked. A capturing group, of which there may be several alternatives, is kept in front
            of the mask: the name of the value, for example.
        check: a last look at the text of a match; False leaves it as it is.
        opens: what a match may begin with up to a white space that is in it, for texts that are still being written.
            Empty: there is none in it before it matches.
    """

    name: str
    pattern: str
    check: Callable[[str], bool] | None = None
    opens: str = ""


def luhn(text: str) -> bool:
    """Whether the digits of `text` carry a right check digit, as every payment card number does (ISO/IEC 7812-1)."""
    digits = [int(letter) for letter in text if letter.isdigit()]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_NAMED = (
    r"(?:password|passwd|passphrase|passcode|pwd|secret|credentials?|api[_.-]?key|apikey"
    r"|(?:access|secret|private|signing|encryption|account|shared|master|session)[_.-]?(?:access[_.-]?)?key"
    r"|token|client[_.-]?secret|connection[_.-]?string|dsn|cvv|cvc)"
)
_ASSIGNED = rf"(?i:[a-z0-9_.-]*{_NAMED}\\*[\"']?\s*(?:=>|:=|[:=])\s*)"
_TO_BE_ASSIGNED = r"\\*[\"']?\s*(?:(?:=>|:=|[:=])\s*\\*[\"']?)?"

DEFAULT: tuple[Rule, ...] = (
    Rule(
        "private key block",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        opens=r"-----BEGIN [A-Z0-9 ]*-{0,5}",
    ),
    Rule(
        "authorization header",
        r"((?i:authorization\\*[\"']\s*[:=]\s*\\*[\"']))(?:[^\"'\\\r\n]+)|((?i:authorization\s*[:=]\s*))[^\s\"'][^\r\n\"']*",
        opens=rf"(?i:authorization){_TO_BE_ASSIGNED}",
    ),
    Rule(
        "cookie header",
        r"((?i:\b(?:set-)?cookie\\*[\"']?\s*[:=]\s*\\*[\"']?))[^\s\"'\\][^\r\n\"'\\]*",
        opens=rf"(?i:\b(?:set-)?cookie){_TO_BE_ASSIGNED}",
    ),
    Rule(
        "bearer token",
        r"((?i:\bbearer\s+))[A-Za-z0-9._~+/=-]{16,}",
        opens=r"(?i:\bbearer)\s+[A-Za-z0-9._~+/=-]{0,15}",
    ),
    Rule("connection string with credentials", r"((?i:\b[a-z][a-z0-9+.-]*://))[^\s\"'/@:]*:[^\s\"']+@[^\s\"']*"),
    Rule("json web token", r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}"),
    Rule("model provider key", r"\b(?:sk-|xai-|gsk_|hf_|r8_|pplx-)[A-Za-z0-9_-]{16,}"),
    Rule("payment provider key", r"\b(?:[rsp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}"),
    Rule(
        "forge or registry token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{16,})",
    ),
    Rule(
        "messaging token",
        r"\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
        r"|SG\.[\w-]{16,}\.[\w-]{16,}|SK[0-9a-f]{32}\b)",
    ),
    Rule("aws key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    Rule("google key", r"\b(?:AIza[\w-]{35}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,})"),
    Rule(
        "payment card",
        r"\b(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6\d{3}|35\d{2})[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,4}(?:[ -]?\d{3})?"
        r"|3[0-9]\d{2}[ -]?\d{6}[ -]?\d{4,5})\b",
        luhn,
        opens=r"\b[2-6]\d*(?:[ -]\d*){0,4}",
    ),
    Rule(
        "named value",
        rf"({_ASSIGNED}\\*\")(?:[^\"\\]|\\.)+|({_ASSIGNED}\\*')(?:[^'\\]|\\.)+|({_ASSIGNED})[^\s\"'\\&;,<>(){{}}\[\]]+",
        opens=rf"(?i:[a-z0-9_.-]*{_NAMED}){_TO_BE_ASSIGNED}",
    ),
)
"""What `Redactor` masks unless told otherwise."""
