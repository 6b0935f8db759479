from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from check.conftest import Told
from check.test_source import ANTHROPIC, CHAT, RESPONSES

Command = Callable[..., Told]
FOUND = 18


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A request in which a call has no result."""
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"model": "gpt-5", "messages": CHAT[:2], "tools": []}, indent=1))
    return path


@pytest.mark.parametrize("messages", [CHAT, ANTHROPIC, RESPONSES])
def test_a_clean_file_is_said_to_be_clean(command: Command, tmp_path: Path, messages: list[object]) -> None:
    path = tmp_path / "clean.json"
    path.write_text(json.dumps(messages))
    said = command("check", str(path))
    assert said.code == 0
    assert "nothing found" in said.out
    assert "messages" in said.out


def test_a_finding_is_told_with_its_place_and_its_mend(command: Command, broken: Path) -> None:
    said = command("check", str(broken))
    assert said.code == FOUND
    assert "/messages/1/tool_calls/0: error call.without_result" in said.out
    assert "unknown" in said.out


def test_findings_come_as_one_document(command: Command, broken: Path) -> None:
    said = command("check", str(broken), "--json", "--ignore", "tools")
    (file,) = said.json["files"]
    assert said.code == FOUND
    assert file["transcripts"] == [{"line": None, "format": "openai-chat", "kind": "request"}]
    assert [one["code"] for one in file["findings"]] == ["call.without_result"]


def test_fix_mends_the_file_and_then_it_is_clean(command: Command, broken: Path) -> None:
    said = command("check", "--fix", "--ignore", "tools", str(broken))
    assert said.code == 0
    assert "mended call.without_result" in said.out
    assert [one["role"] for one in json.loads(broken.read_text())["messages"]] == ["user", "assistant", "tool"]


def test_fix_leaves_a_clean_file_untouched_to_the_byte(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "clean.json"
    data = b"\xef\xbb\xbf" + json.dumps(CHAT, indent=3).replace("\n", "\r\n").encode() + b"\r\n"
    path.write_bytes(data)
    before = path.stat().st_mtime_ns
    assert command("check", "--fix", str(path)).code == 0
    assert path.read_bytes() == data
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\x00", b"{", b"[" * 100_000, b"\x80\x81", b'{"a": "\xff"}', b"1e999999", b"NaN"]
)
def test_a_file_that_is_no_transcript_is_a_finding_and_never_a_traceback(command: Command, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd"
    path.write_bytes(data)
    said = command("check", "--fix", str(path))
    assert said.code in (0, FOUND)
    assert "source." in said.out
    assert "Traceback" not in said.out + said.err
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "argv",
    [
        ("check", "nowhere.json"),
        ("check", "."),
        ("check", "FILE", "--select", "no.such.rule"),
        ("check", "FILE", "--format", "morse"),
        ("check", "FILE", "--cut", "many"),
        ("check", "FILE", "FILE", "--cut", "3"),
        ("check", "FILE", "--cut", "/nowhere"),
        ("convert", "FILE", "--to", "morse"),
        ("convert", "nowhere.json", "--to", "anthropic"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_a_code(command: Command, broken: Path, argv: tuple[str, ...]) -> None:
    said = command(*(str(broken) if one == "FILE" else one for one in argv))
    assert said.code == 2
    assert said.err.count("\n") == 1


def test_a_cut_prints_closed_rounds_only(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(json.dumps([*CHAT, {"role": "assistant", "content": "Seen."}]))
    said = command("check", str(path), "--cut", "2")
    assert said.code == 0
    assert json.loads(said.out) == [{"role": "assistant", "content": "Seen."}]
    assert "kept 1, left out 3" in said.err


def test_a_conversion_prints_the_transcript_and_tells_what_was_lost_beside_it(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(json.dumps(ANTHROPIC))
    said = command("convert", str(path), "--to", "openai-chat")
    assert (said.code, said.err) == (0, "")
    assert [one["role"] for one in json.loads(said.out)] == ["user", "assistant", "tool"]
    thought = {"type": "thinking", "thinking": "a", "signature": "b"}
    path.write_text(json.dumps([ANTHROPIC[0], {"role": "assistant", "content": [thought, {"type": "text", "text": "x"}]}]))
    lost = command("convert", str(path), "--to", "openai-chat")
    assert lost.code == FOUND
    assert "/1/content/0: thought" in lost.err
    assert command("convert", str(path), "--to", "openai-chat", "--json").json["transcripts"][0]["losses"] != []


def test_several_transcripts_are_converted_line_by_line(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps({"messages": ANTHROPIC}) for _ in range(3)))
    said = command("convert", str(path), "--to", "openai-responses")
    assert said.code == 0
    assert [len(json.loads(line)) for line in said.out.splitlines()] == [3, 3, 3]


def test_where_one_file_cannot_be_read_none_is_changed(command: Command, broken: Path) -> None:
    before = broken.read_bytes()
    assert command("check", "--fix", str(broken), "nowhere.json").code == 2
    assert broken.read_bytes() == before


def test_fix_through_a_link_changes_the_file_and_keeps_its_mode(command: Command, broken: Path) -> None:
    broken.chmod(0o640)
    link = broken.with_name("link.json")
    link.symlink_to(broken)
    assert "mended" in command("check", "--fix", str(link)).out
    assert link.is_symlink()
    assert broken.stat().st_mode & 0o777 == 0o640
    assert len(json.loads(broken.read_text())["messages"]) == 3


def test_cut_and_fix_are_not_asked_for_together(command: Command, broken: Path) -> None:
    before = broken.read_bytes()
    said = command("check", str(broken), "--fix", "--cut", "1")
    assert (said.code, said.out) == (2, "")
    assert broken.read_bytes() == before
