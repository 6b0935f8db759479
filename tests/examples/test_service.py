"""The web service example: submit, follow, decide; over ASGI, without a port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2

from examples.example import load
from remit import Finished, Paused, Remit

ALICE = {"X-User": "alice", "Idempotency-Key": "message-1"}
BOB = {"X-User": "bob"}
Story = Callable[[httpx2.AsyncClient, Remit, list[str]], Awaitable[None]]


def play(folder: Path, story: Story) -> None:
    books: list[str] = []
    app = load("service").create_app(folder / "service.db", books)

    async def main() -> None:
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://service") as client,
        ):
            await story(client, app.state.remit, books)

    asyncio.run(main())


async def submit(client: httpx2.AsyncClient, text: str = "ch_1 was charged twice") -> httpx2.Response:
    return await client.post("/messages", json={"text": text}, headers=ALICE)


async def follow(client: httpx2.AsyncClient, run: str, after: int = 0) -> list[tuple[int | None, str, dict[str, object]]]:
    """Events up to the run's end: the sequence number of what is committed, kind and data."""
    reply = await client.get(f"/runs/{run}/events", headers={"X-User": "alice", "Last-Event-ID": str(after)})
    found = []
    for block in reply.text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if "event" not in fields:
            continue  # a browser keeps its id, and hands nothing on
        number = int(fields["id"]) if "id" in fields else None
        found.append((number, fields["event"], json.loads(fields["data"])))
    return found


async def pending(remit: Remit, run: str) -> str:
    """The approval that the run asks for, once it waits."""
    standing = await remit.run_to_end(run)
    assert isinstance(standing, Paused)
    return standing.approvals[0].id


def test_a_submitted_run_waits_for_its_approval_and_a_second_click_changes_nothing(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        submitted = await submit(client)
        assert submitted.status_code == 202
        approval = await pending(remit, submitted.json()["run"])
        assert books == []
        for _ in range(2):
            decided = await client.post(f"/approvals/{approval}", json={"allow": True, "reason": "seen"}, headers=BOB)
            assert decided.status_code == 200
        events = await follow(client, submitted.json()["run"])
        committed = [(number, kind) for number, kind, _ in events if number is not None]
        assert committed == sorted(committed)
        assert [kind for _, kind in committed] == ["call", "decision_wanted", "waiting", "decided", "call", "result", "end"]
        said = [data["text"] for number, kind, data in events if number is None and kind == "delta"]
        assert "".join(map(str, said)) == "That is done."
        assert books == ["ch_1"]
        rest = await follow(client, submitted.json()["run"], after=committed[-3][0])
        assert [(number, kind) for number, kind, _ in rest if number is not None] == committed[-2:]

    play(tmp_path, story)


def test_the_same_key_is_the_same_run_and_another_message_under_it_a_conflict(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        first, second = await submit(client), await submit(client)
        assert first.json() == second.json()
        assert (await submit(client, "something else")).status_code == 409

    play(tmp_path, story)


def test_who_may_not_decide_is_refused_and_a_stranger_is_not_let_in(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        submitted = await submit(client)
        approval = await pending(remit, submitted.json()["run"])
        refused = await client.post(f"/approvals/{approval}", json={"allow": True}, headers={"X-User": "alice"})
        assert refused.status_code == 403
        assert (await client.post("/messages", json={"text": "x"}, headers={**ALICE, "X-User": "eve"})).status_code == 401
        assert (await client.post("/approvals/apr_none", json={"allow": True}, headers=BOB)).status_code == 404
        assert books == []

    play(tmp_path, story)


def test_the_events_of_an_unknown_run_or_of_another_user_are_not_found_and_nothing_is_sent(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        run = (await submit(client)).json()["run"]
        for path, headers in ((f"/runs/{run}/events", BOB), ("/runs/run_none/events", {"X-User": "alice"})):
            reply = await client.get(path, headers=headers)
            assert reply.status_code == 404
            assert "id: " not in reply.text

    play(tmp_path, story)


def test_a_second_message_has_a_run_of_its_own_that_ends_in_an_answer(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        runs = []
        for number, charge in enumerate(("ch_1", "ch_2")):
            headers = {"X-User": "alice", "Idempotency-Key": f"message-{number}"}
            submitted = await client.post("/messages", json={"text": f"{charge} was charged twice"}, headers=headers)
            runs.append(submitted.json()["run"])
            approval = await pending(remit, runs[-1])
            await client.post(f"/approvals/{approval}", json={"allow": True}, headers=BOB)
            finished = await remit.run_to_end(runs[-1])
            assert isinstance(finished, Finished)
            assert finished.answer == "That is done."
        assert len(set(runs)) == 2
        assert books == ["ch_1", "ch_2"]

    play(tmp_path, story)


def test_what_cannot_be_used_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        run = (await submit(client)).json()["run"]
        assert (await submit(client, "")).status_code == 422
        empty = await client.post("/messages", json={"text": "hi"}, headers={"X-User": "alice", "Idempotency-Key": ""})
        assert empty.status_code == 422
        before = await client.get(f"/runs/{run}/events", headers={"X-User": "alice", "Last-Event-ID": "-5"})
        assert before.status_code == 422

    play(tmp_path, story)


def test_a_yes_that_comes_after_the_run_was_cancelled_is_a_conflict(tmp_path: Path) -> None:
    async def story(client: httpx2.AsyncClient, remit: Remit, books: list[str]) -> None:
        run = (await submit(client)).json()["run"]
        approval = await pending(remit, run)
        await remit.cancel(run, by="alice")
        await remit.run_to_end(run)
        late = await client.post(f"/approvals/{approval}", json={"allow": True}, headers=BOB)
        assert late.status_code == 409
        assert books == []

    play(tmp_path, story)
