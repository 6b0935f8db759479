"""The pages are true: their code runs, their links lead somewhere, and what is generated is current."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.console import Console, lines
from docs.page import PAGES, ROOT, anchors, blocks, generator, links, steps
from remit.demo.way import WAYS

WITH_CODE = [path for path in PAGES if any(step.language in ("python", "console") for step in steps(path))]
SHOWN_ONLY = ("make ", "pip ", "uvicorn ", "curl ", ".venv/bin/", ".ci/")
"""Commands that a page may show and no test runs: what they print is not said."""


def _named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


@pytest.mark.parametrize("page", _named(WITH_CODE))
def test_every_block_of_a_page_runs_in_order_and_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    console, program = Console(tmp_path), tmp_path / "page.py"
    for step in steps(page):
        match step.language:
            case "python":
                with (program if step.file is None else tmp_path / step.file).open("a", encoding="utf-8") as out:
                    out.write(f"{step.text}\n")
            case "console":
                for line in lines(step.text):
                    if line.is_run:
                        console.run(line)
            case _:
                pass
    if program.exists():
        done = subprocess.run(
            [sys.executable, "-W", "error", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", _named(WITH_CODE))
def test_what_no_test_runs_is_not_said_to_print_anything(page: Path) -> None:
    every = [line for block in blocks(page, "console") for line in lines(block)]
    shown = [line for line in every if not line.is_run]
    assert [line.command for line in shown if line.printed] == []
    assert [line.command for line in shown if not line.command.startswith(SHOWN_ONLY)] == []


def test_what_the_readme_says_is_printed_is_printed_and_nothing_is_refunded_by_a_second_run(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = blocks(ROOT / "README.md", "python")[0]
    (tmp_path / "first.py").write_text(first, encoding="utf-8")
    printed = [_printed(tmp_path) for _ in range(2)]
    assert f"# {printed[0][0]}" in first
    assert f"it prints `{printed[1][0]}`" in text
    assert printed == [["ch_1 is refunded. [('ch_1', 4200)]"] * 2, ["ch_1 is refunded. []"] * 2]


def test_the_readme_followed_to_the_letter_works_however_often_its_first_block_was_run_before(tmp_path: Path) -> None:
    first, second = blocks(ROOT / "README.md", "python")
    (tmp_path / "first.py").write_text(first, encoding="utf-8")
    for _ in range(2):
        _printed(tmp_path)
    (tmp_path / "first.py").write_text(f"{first}\n{second}", encoding="utf-8")
    assert [_printed(tmp_path)[-1] for _ in range(2)] == ["1", "0"]


def test_the_file_of_the_readme_can_be_given_to_the_command(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("\n".join(blocks(ROOT / "README.md", "python")), encoding="utf-8")
    command = [sys.executable, "-c", "from remit.cli import main; main()", "run", "first:support", "x", "--principal", "alice"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ch_1 is refunded." in done.stdout


def test_the_guide_stays_short_and_its_test_passes_under_pytest(tmp_path: Path) -> None:
    guide = ROOT / "docs" / "guide.md"
    assert len(guide.read_text(encoding="utf-8").splitlines()) <= 250
    (tmp_path / "test_guide.py").write_text("\n".join(blocks(guide, "python")), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "test_guide.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def _printed(folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "first.py"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()


@pytest.mark.parametrize("page", _named(PAGES))
def test_every_link_leads_to_a_file_and_to_a_heading_that_is_there(page: Path) -> None:
    missing: list[str] = []
    for target in links(page):
        name, _, heading = target.partition("#")
        path = page.parent / name
        if not path.exists() or (heading and heading not in anchors(path)):
            missing.append(target)
    assert missing == []


def test_every_page_of_the_docs_is_in_their_index() -> None:
    index = ROOT / "docs" / "README.md"
    below = [path for path in PAGES if path.name == "README.md" and path.is_relative_to(index.parent)]
    listed = {(path.parent / target.split("#")[0]).resolve() for path in below for target in links(path)}
    assert (
        sorted(str(path) for path in PAGES if path.is_relative_to(index.parent) and path != index and path not in listed) == []
    )


def test_the_reference_is_what_the_generator_would_write() -> None:
    made = generator()
    made.check()
    for name, write in made.PAGES.items():
        assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == write(), f"{name}: run `make docs`"


def test_the_picture_in_the_readme_is_of_every_way_of_the_demo() -> None:
    assert "docs/images/demo.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = html.unescape(re.sub(r"<[^>]+>", " ", (ROOT / "docs" / "images" / "demo.svg").read_text(encoding="utf-8")))
    words = " ".join(drawn.split())
    assert [way.story for way in WAYS if way.story not in words] == []
