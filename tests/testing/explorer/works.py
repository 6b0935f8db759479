"""An agent that has every kind of tool, for the explorer to explore. No handler of it may ever run."""

from __future__ import annotations

from remit import (
    CALL,
    CONVERSATION,
    READ,
    RUN,
    TRUSTED,
    Agent,
    Arguments,
    Context,
    Tool,
    always,
    ask_user,
    idempotent,
    key,
    manual,
    never,
    reconcile,
    tool,
    transactional,
    when,
    write,
)
from remit.tool import Told


class Reached(BaseException):
    """The outside world was reached."""


def look(arguments: Arguments, ctx: Context[object]) -> Told:
    raise Reached


async def owner_of(arguments: Arguments, ctx: Context[object]) -> bool:
    raise Reached


@tool(effect=READ, scopes={"read"}, label=TRUSTED)
def balance(account: str) -> int:
    """Read a balance.

    Args:
        account: whose
    """
    raise Reached


@tool(effect=READ)
def inbox(folder: str = "in") -> str:
    """Read what strangers wrote."""
    raise Reached


@tool(effect=write(once_per="order", recovery=idempotent(window_s=3_600)), approve=never, label=TRUSTED, timeout_s=20)
def pay(order: str, cents: int) -> str:
    """Pay an order; the bank dedupes.

    Args:
        order: which
        cents: how much
    """
    raise Reached


@tool(
    effect=write(once_per=key("refund", "charge"), recovery=reconcile(look)),
    scopes={"refund"},
    owns=owner_of,
    approve=when(lambda arguments: arguments.cents > 10_000, scope="approve"),
    label=TRUSTED,
    timeout_s=10,
)
def refund(charge: str, cents: int) -> str:
    """Refund a charge; the books can be asked.

    Args:
        charge: which
        cents: how much
    """
    raise Reached


@tool(effect=write(once_per=RUN, recovery=reconcile(look, settle_s=1.0), atomic=True), approve=never, label=TRUSTED)
def reserve(seat: str) -> str:
    """Reserve a seat: at once or not at all.

    Args:
        seat: which
    """
    raise Reached


@tool(effect=write(once_per=CONVERSATION, recovery=manual), approve=never, label=TRUSTED, timeout_s=5)
def notify(text: str) -> str:
    """Send a notice.

    Args:
        text: what it says
    """
    raise Reached


@tool(effect=write(once_per=CALL, recovery=manual), approve=always(scope="post", two_person=True), timeout_s=5)
async def post_letter(to: str) -> str:
    """Post a letter.

    Args:
        to: whom
    """
    raise Reached


@tool(effect=write(once_per=CALL, recovery=idempotent(window_s=60, attempts=2)), approve=never, label=TRUSTED, timeout_s=5)
def log_entry(line: str) -> str:
    """Write a line into the log.

    Args:
        line: what it says
    """
    raise Reached


@tool(effect=write(once_per="account", recovery=transactional), approve=never, label=TRUSTED, timeout_s=4)
def open_account(account: str, ctx: Context[object]) -> str:
    """Open an account, in the ledger's own database.

    Args:
        account: which
    """
    raise Reached


TOOLS: list[Tool] = [balance, inbox, pay, refund, reserve, notify, post_letter, log_entry, open_account, ask_user]

works = Agent("works", model="anthropic:claude-sonnet-5-5", instructions="Do what is asked.", tools=TOOLS)
waiting = Agent("waiting", model="openai:gpt-5.5", tools=[balance, refund, post_letter], on_wait="answer")

clerk = Agent("clerk", model="anthropic:claude-sonnet-5-5", tools=[balance, refund, log_entry])
chief = Agent(
    "chief", model="anthropic:claude-sonnet-5-5", tools=[balance, pay, clerk.as_tool(description="Refunds what is asked.")]
)
