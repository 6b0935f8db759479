"""A payment with an e-mail: if the e-mail cannot be sent, the payment is taken back; what cannot be is named.

Runs offline: `python examples/payment_email.py`. No model takes part. The outside service is slow to answer on purpose in
one of its runs, so that it is not known whether an e-mail went out: then a person is told, and the payment is taken back.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from remit import (
    DID_NOT,
    TRUSTED,
    Arguments,
    Context,
    Escalated,
    Finished,
    Flow,
    Happened,
    MemoryLedger,
    NoEffect,
    Principal,
    Remit,
    Standing,
    manual,
    never,
    reconcile,
    tool,
    undo,
    workflow,
    write,
)


@dataclass
class Outside:
    """Bank and mail: what happened there, in order. `mail` is `works`, `refuses` or `hangs`."""

    books: list[str] = field(default_factory=list)
    mail: str = "works"


async def find_payment(arguments: Arguments, ctx: Context[Outside]) -> object:
    """Ask the bank about a payment whose outcome is in doubt."""
    return Happened("paid") if f"paid {arguments['invoice']}" in ctx.deps.books else DID_NOT


@tool(effect=write(once_per="invoice", recovery=reconcile(find_payment)), scopes={"bank:pay"}, approve=never, label=TRUSTED)
async def pay_invoice(invoice: str, amount_cents: int, ctx: Context[Outside]) -> str:
    """Pay an invoice.

    Args:
        invoice: its number
        amount_cents: how much
    """
    ctx.deps.books.append(f"paid {invoice}")
    return "paid"


async def find_reversal(arguments: Arguments, ctx: Context[Outside]) -> object:
    """Ask the bank about a reversal whose outcome is in doubt."""
    return Happened("reversed") if f"reversed {arguments['invoice']}" in ctx.deps.books else DID_NOT


@tool(effect=write(once_per="invoice", recovery=reconcile(find_reversal)), approve=never, label=TRUSTED)
async def reverse_payment(invoice: str, ctx: Context[Outside]) -> str:
    """Take a payment back.

    Args:
        invoice: its number
    """
    ctx.deps.books.append(f"reversed {invoice}")
    return "reversed"


@tool(effect=write(once_per="invoice", recovery=manual), timeout_s=0.2, approve=never, label=TRUSTED)
async def send_receipt(invoice: str, to: str, ctx: Context[Outside]) -> str:
    """Send the receipt by e-mail. Nobody can be asked later whether it went out.

    Args:
        invoice: its number
        to: whom
    """
    if ctx.deps.mail == "refuses":
        raise NoEffect("the address does not exist")
    ctx.deps.books.append(f"mailed {invoice}")
    if ctx.deps.mail == "hangs":
        await asyncio.Event().wait()
    return "sent"


@workflow(tools=[pay_invoice, reverse_payment, send_receipt])
async def pay(flow: Flow[Outside], invoice: str, amount_cents: int, to: str) -> str:
    """Pay an invoice and send its receipt."""
    await flow.call(
        pay_invoice, invoice=invoice, amount_cents=amount_cents, undo=lambda done: undo(reverse_payment, invoice=invoice)
    )
    await flow.call(send_receipt, invoice=invoice, to=to)
    await flow.check("booked", lambda ctx: f"paid {invoice}" in ctx.deps.books)
    return f"{invoice} is paid, and the receipt is sent."


async def main(outside: Outside) -> list[Standing]:
    """Pay three invoices: one goes well, of one the address is wrong, of one the mail server does not answer."""
    who = Principal("dana", scopes={"bank:pay"})
    ended: list[Standing] = []
    async with Remit(ledger=MemoryLedger(), workflows=[pay], deps=outside) as remit:
        for number, outside.mail in enumerate(("works", "refuses", "hangs"), 1):
            given = {"invoice": f"R-{number}", "amount_cents": 4_900, "to": "kim@shop.test"}
            run = await remit.run(pay, given, principal=who, request_id=f"R-{number}")
            print(run.answer if isinstance(run, Finished) else f"{run.reason}: {getattr(run, 'explanation', None)}")
            ended.append(run)
    assert isinstance(ended[1], Escalated)
    print("\n".join(["", "What happened outside:", *outside.books]))
    return ended


if __name__ == "__main__":
    asyncio.run(main(Outside()))
