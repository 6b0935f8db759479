"""An agent behind a web service: the request may die, the run does not.

Three endpoints. One submits with a request id and answers at once; one follows the run, as server-sent events: what is
committed, by sequence number, so that a browser reconnects where it was, and what is being written meanwhile; one decides
an approval. Authentication is the
application's: here a header stands for it. It needs fastapi and uvicorn (`make setup` installs both); in this folder:

    uvicorn --factory service:create_app
    curl -d '{"text": "refund ch_1"}' -H 'content-type: application/json' -H 'x-user: alice' \\
        -H 'idempotency-key: m1' localhost:8000/messages
    curl -N -H 'x-user: alice' localhost:8000/runs/RUN/events      # the approval's id is in decision_wanted
    curl -d '{"allow": true}' -H 'content-type: application/json' -H 'x-user: bob' localhost:8000/approvals/APPROVAL
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from remit import TRUSTED, Agent, Context, Principal, Remit, ScriptedModel, call, manual, sse, tool, when, write
from remit.errors import Conflict, Denied, InputError, NotFound
from remit.model import ScriptedCall
from remit.types.ident import Json

USERS = {
    "alice": Principal("alice", tenant="acme", scopes={"billing:refund"}),
    "bob": Principal("bob", tenant="acme", scopes={"billing:approve"}),
}


@tool(
    effect=write(once_per="charge_id", recovery=manual),
    scopes={"billing:refund"},
    approve=when(lambda arguments: arguments.amount_cents > 5_000, scope="billing:approve"),
    label=TRUSTED,
)
def issue_refund(charge_id: str, amount_cents: int, ctx: Context[list[str]]) -> str:
    """Refund one charge.

    Args:
        charge_id: the charge, for example ch_1
        amount_cents: what to give back, in cents
    """
    ctx.deps.append(charge_id)
    return "refunded"


def reply(request: dict[str, Json]) -> str | ScriptedCall:
    """What the scripted model says to a request: a call for a message that names a charge, a sentence otherwise.

    A function of the request says the same for every run and in every process; a list of replies would come to its end.
    """
    messages = request["messages"]
    last = json.dumps(messages[-1] if isinstance(messages, list) else messages)
    charge = re.search(r"ch_\w+", last)
    if "tool_result" in last:
        return "That is done."
    return call("issue_refund", charge_id=charge[0], amount_cents=9_900) if charge else "Which charge do you mean?"


def support() -> Agent:
    """The agent that this service runs, with a scripted model so that it works offline."""
    model = ScriptedModel(reply)
    return Agent("support", model=model, instructions="Refund what was charged twice.", tools=[issue_refund], stream=True)


class Message(BaseModel):
    """What a customer writes."""

    text: str


class Choice(BaseModel):
    """What an approver decides."""

    allow: bool
    reason: str = ""


def user(x_user: Annotated[str, Header()]) -> Principal:
    """Who is asking. Put your own authentication here; a model never gets a say in it."""
    if x_user not in USERS:
        raise HTTPException(401)
    return USERS[x_user]


User = Annotated[Principal, Depends(user)]


def create_app(ledger: Path = Path("service.db"), books: list[str] | None = None) -> FastAPI:
    """The application. `books` is where refunds are written down."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with Remit(ledger=ledger, agents=[support()], deps=[] if books is None else books) as remit:
            app.state.remit = remit
            yield

    app = FastAPI(lifespan=lifespan)
    app.add_exception_handler(InputError, unusable)
    app.post("/messages", status_code=202)(say)
    app.get("/runs/{run}/events")(events)
    app.post("/approvals/{approval}")(decide)
    return app


async def unusable(request: Request, error: Exception) -> JSONResponse:
    """What cannot be used is the client's to mend, and the error says where."""
    del request
    return JSONResponse({"detail": str(error)}, status_code=422)


async def say(message: Message, who: User, request: Request, idempotency_key: Annotated[str, Header()]) -> dict[str, str]:
    """Submit. The same key again is the same run; with another message it is a conflict."""
    remit: Remit = request.app.state.remit
    try:
        run = await remit.submit("support", message.text, principal=who, request_id=idempotency_key)
    except Conflict as error:
        raise HTTPException(409, error.code) from error
    return {"run": run.id}


async def events(run: str, who: User, request: Request, last_event_id: Annotated[int, Header(ge=0)] = 0) -> StreamingResponse:
    """Follow. What has an id was committed before it is sent; `Last-Event-ID` is the last that was seen."""
    remit: Remit = request.app.state.remit
    try:
        await remit.standing(run, principal=who)  # before the first byte, while the answer can still be 404
    except NotFound as error:
        raise HTTPException(404) from error

    steps = remit.follow(run, after=last_event_id, principal=who, deltas=True)
    return StreamingResponse(sse(steps), media_type="text/event-stream")


async def decide(approval: str, choice: Choice, who: User, request: Request) -> dict[str, str]:
    """Decide. A second click gets the first one's answer."""
    remit: Remit = request.app.state.remit
    try:
        decided = await remit.decide(approval, choice.allow, by=who, reason=choice.reason)
    except NotFound as error:
        raise HTTPException(404) from error
    except Denied as error:
        raise HTTPException(403, error.code) from error
    if choice.allow != (decided.state in ("approved", "consumed")):
        raise HTTPException(409, f"it is {decided.state} already")
    return {"approval": decided.id, "state": decided.state}
