"""Whatever lies where the deltas are kept: it is not followed, not waited for, not taken away, and stops nobody."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest

from ledger.support import RUN, Store
from ledger.test_delta import files, folder, piece

DEEP = b"[" * 200_000 + b"]" * 200_000 + b"\n"


async def _heard_by_another(store: Store) -> None:
    """Publish something and hear it elsewhere."""
    ours, other = await store.open(), await store.open()
    ours.publish_deltas([piece(0)])
    assert await other.deltas(RUN, after=3) == [piece(0)]
    ours.drop_deltas(RUN)
    assert await other.deltas(RUN, after=3) == []


def _place(store: Store, after: int = 3) -> Path:
    """Where the file of an attempt is."""
    name = "".join(f"{place:x}" for place in range(10)) * 4
    return folder(store) / f"{name}-{after}.jsonl"


def test_foreign_files_stay_whatever_is_in_them(file: Store) -> None:
    folder(file).mkdir()
    (folder(file) / "notes.jsonl").write_text('"somebody"\n')
    (folder(file) / "notes.txt").write_text("mine")
    file.tell(lambda: _heard_by_another(file))
    assert [one.name for one in files(file)] == ["notes.jsonl", "notes.txt"]


@pytest.mark.parametrize("first", [DEEP, b'"\\ud800"\n', b'"../../x"\n', b'"' + b"x" * 9000 + b'"\n', b"1" * 9000 + b"\n"])
def test_a_first_line_of_any_kind_stops_nobody(file: Store, first: bytes) -> None:
    folder(file).mkdir()
    _place(file).write_bytes(first)
    file.tell(lambda: _heard_by_another(file))


def test_deep_lines_behind_the_first_are_passed_over(file: Store) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        (one,) = files(file)
        with one.open("ab") as handle:
            handle.write(DEEP)
        ours.publish_deltas([piece(1)])
        assert await other.deltas(RUN, after=3) == [piece(0), piece(1)]

    file.tell(story)


def test_pipes_folders_and_links_under_a_files_name_are_left_alone(file: Store, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text('"somebody"\n')
    folder(file).mkdir()
    os.mkfifo(_place(file, 1))
    _place(file, 2).mkdir()
    _place(file, 3).symlink_to(foreign)
    file.tell(lambda: _heard_by_another(file))
    assert files(file) == [_place(file, 1), _place(file, 2), _place(file, 3)]
    assert foreign.exists()


def test_an_attempts_file_that_became_a_pipe_or_a_link_is_not_heard(file: Store, tmp_path: Path) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        (one,) = files(file)
        one.rename(tmp_path / "elsewhere")
        one.symlink_to(tmp_path / "elsewhere")
        assert await other.deltas(RUN, after=3) == []
        one.unlink()
        os.mkfifo(one)
        assert await other.deltas(RUN, after=3) == []

    file.tell(story)


def test_a_folder_that_is_a_link_is_not_used(file: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder(file).symlink_to(elsewhere)
    kept = elsewhere / _place(file).name
    kept.write_text('"of the dead"\n')

    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        assert await other.deltas(RUN, after=3) == []
        assert await ours.deltas(RUN, after=3) == [piece(0)]
        ours.drop_deltas(RUN)

    with caplog.at_level(logging.WARNING, "remit.ledger"):
        file.tell(story)
    assert list(elsewhere.iterdir()) == [kept]
    assert len(caplog.records) == 1


def test_a_folder_that_was_removed_is_made_again(file: Store, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        shutil.rmtree(folder(file))
        ours.publish_deltas([piece(1)])
        ours.publish_deltas([piece(0, "again", after=5, attempt=2)])
        assert [one.text for one in await other.deltas(RUN, after=5)] == ["again"]

    file.tell(story)
    assert caplog.records == []


def test_a_link_where_a_file_is_to_be_made_is_not_written_through(file: Store, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("mine")

    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        (one,) = files(file)
        ours.drop_deltas(RUN)
        one.with_suffix(".jsonl-new").symlink_to(foreign)
        ours.publish_deltas([piece(0)])
        assert await other.deltas(RUN, after=3) == [piece(0)]

    file.tell(story)
    assert foreign.read_text() == "mine"
