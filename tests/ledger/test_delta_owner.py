"""What one owner does to its deltas changes nothing of another's who lives."""

from __future__ import annotations

from ledger.support import RUN, Store, hears
from remit.types.stream import Delta


def piece(index: int, text: str, *, after: int = 3) -> Delta:
    return Delta(run=RUN, after=after, turn=1, attempt=1, index=index, kind="text", text=text)


def test_deltas_of_an_owner_who_lives_are_dropped_by_nobody_else(store: Store) -> None:
    async def story() -> None:
        ours, other = await store.open(), await store.open()
        ours.publish_deltas([piece(0, "still written")])
        other.drop_deltas(RUN)
        for ledger in (ours, other):
            assert await hears(ledger, [piece(0, "still written")], after=3)
        ours.drop_deltas(RUN)
        for ledger in (ours, other):
            assert await hears(ledger, [], after=3)

    store.tell(story)


def test_an_owner_that_lost_the_run_and_writes_on_takes_nothing_from_the_new_ones_reply(store: Store) -> None:
    async def story() -> None:
        loser, heir, follower = await store.open(), await store.open(), await store.open()
        loser.publish_deltas([piece(0, "old")])
        heir.publish_deltas([piece(0, "new", after=6)])
        loser.publish_deltas([piece(1, " and late")])
        heir.publish_deltas([piece(1, " and more", after=6)])
        loser.drop_deltas(RUN)
        for ledger in (heir, follower):
            assert await hears(ledger, [piece(0, "new", after=6), piece(1, " and more", after=6)], after=6)

    store.tell(story)
