"""A shop as a user would write it: one file in the current directory, with an agent, its tools and its books."""

SHOP = '''
"""A shop with books in a file beside it."""

from dataclasses import dataclass
from pathlib import Path

from remit import READ, TRUSTED, Agent, Budget, Context, Flow, ScriptedModel, ask_user, call, manual, never, tool, undo, when
from remit import workflow, write


@dataclass
class Shop:
    books: Path

    def write(self, line):
        with self.books.open("a") as file:
            file.write(line + chr(10))


def make_shop():
    return Shop(Path("books.txt"))


@tool(effect=READ, scopes={"orders:read"}, label=TRUSTED)
async def lookup_order(order_id: str) -> dict[str, str]:
    """Read one order.

    Args:
        order_id: public id
    """
    print("a handler prints this")
    return {"order_id": order_id, "note": "\\x1b[31mred[/bold] [link=http://x.test]", "api_key": "sk-abcdefghijklmnopqrstuv"}


@tool(
    effect=write(once_per="charge_id", recovery=manual),
    scopes={"billing:refund"},
    approve=when(lambda a: a.amount_cents > 5_000, scope="billing:approve"),
    label=TRUSTED,
    timeout_s=5,
)
async def issue_refund(charge_id: str, amount_cents: int, ctx: Context[Shop]) -> dict[str, int]:
    """Refund one charge.

    Args:
        charge_id: the charge
        amount_cents: how much
    """
    ctx.deps.write(f"{charge_id} {amount_cents}")
    return {"refunded": amount_cents}


@tool(effect=write(once_per="to", recovery=manual), approve=never, timeout_s=5, label=TRUSTED)
async def send_mail(to: str) -> str:
    """Send a mail.

    Args:
        to: the address
    """
    raise RuntimeError("smtp://bob:hunter2@mail.test broke off after DATA")


@tool(effect=write(once_per="account", recovery=manual), approve=when(lambda a: True), secret={"pin"}, timeout_s=5)
async def close_account(account: str, pin: str, ctx: Context[Shop]) -> str:
    """Close an account.

    Args:
        account: which
        pin: its pin
    """
    ctx.deps.write(f"{account} closed with {pin}")
    return "closed"


TOOLS = [lookup_order, issue_refund, send_mail, close_account, ask_user]


def agent(name, *turns, **settings):
    return Agent(name, model=ScriptedModel(list(turns)), instructions="Help.", tools=TOOLS, **settings)


talker = agent("talker", "All is well.")
reader = agent("reader", ("I look.", [call("lookup_order", order_id="A-12345")]), "It is [bold]shipped[/bold].\\x1b[2J")
refunder = agent("refunder", call("issue_refund", charge_id="ch_1", amount_cents=9_900), "It is refunded.")
whale = agent("whale", call("issue_refund", charge_id="ch_2", amount_cents=2**60), "It is refunded.")
mailer = agent("mailer", call("send_mail", to="alice@shop.test"), "I do not know if the mail went out.")
asker = agent("asker", call("ask_user", question="Which colour?", choices=["red", "blue"]), "Blue it is.")
closer = agent("closer", call("close_account", account="acc_1", pin="4711-0815"), "It is closed.")
looper = agent("looper", *[call("lookup_order", order_id=f"A-{n}") for n in range(9)], budget=Budget(turns=2))
@tool(
    effect=write(once_per="account", recovery=manual),
    approve=when(lambda a: a.cents > 500, scope="billing:approve"),
    preview=lambda a: f"Credit {a.cents} cents to {a.account}.",
    label=TRUSTED,
)
async def credit(account: str, cents: int, ctx: Context[Shop]) -> str:
    """Credit an account.

    Args:
        account: which
        cents: how much
    """
    ctx.deps.write(f"{account} credited")
    return "credited"


previewed = Agent(
    "previewed",
    model=ScriptedModel([[call("credit", account="acc_1", cents=900), call("send_mail", to="a@shop.test")], "I would have."]),
    tools=[credit, send_mail, lookup_order],
)
stutterer = agent("stutterer", ScriptedModel.turn("It is not ", cut=4), "It is with sk-abcdefghijklmnopqrstuv\\nat the door.")
submitter = agent("submitter", call("issue_refund", charge_id="ch_7", amount_cents=9_900), "It is asked for.", on_wait="answer")


def is_mine(arguments, ctx):
    ctx.deps.write(f"asked whose {arguments['note_id']} is")
    return arguments["note_id"] == "n_1"


@tool(effect=READ, owns=is_mine, label=TRUSTED)
async def read_note(note_id: str) -> str:
    """Read a note.

    Args:
        note_id: which
    """
    return f"{note_id}: buy milk"


def is_read(ctx):
    ctx.deps.write("asked whether it is read")
    return True


noter = Agent(
    "noter",
    model=ScriptedModel([[call("read_note", note_id="n_1"), call("read_note", note_id="n_2")], "Read."]),
    tools=[read_note],
    done=is_read,
)


@tool(effect=write(once_per="charge_id", recovery=manual), approve=never, label=TRUSTED)
async def reopen(charge_id: str, ctx: Context[Shop]) -> str:
    """Take a refund back.

    Args:
        charge_id: the charge
    """
    ctx.deps.write(f"{charge_id} reopened")
    return "reopened"


@workflow(tools=[issue_refund, reopen])
async def refund(flow: Flow[Shop], charge_id: str, right: bool = True) -> dict:
    await flow.approve(f"Refund {charge_id}?", scope="billing:approve")
    done = await flow.call(issue_refund, charge_id=charge_id, amount_cents=500, undo=undo(reopen, charge_id=charge_id))
    await flow.check("right", lambda ctx: right or "the books are wrong")
    return done


not_an_agent = 7
'''
