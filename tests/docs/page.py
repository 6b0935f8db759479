"""The pages that people read, and the blocks of code in them."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True, slots=True)
class Step:
    """One block of a page. `file` is where a block of Python goes whose first line names it."""

    language: str
    text: str
    file: str | None = None


def steps(path: Path) -> list[Step]:
    """All fenced blocks, in order."""
    found: list[Step] = []
    for language, text in _FENCE.findall(path.read_text(encoding="utf-8")):
        named = _FILE.match(text) if language == "python" else None
        found.append(Step(language, text, named[1] if named else None))
    return found


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [step.text for step in steps(path) if step.language == language]


def links(path: Path) -> list[str]:
    """The targets of all links, without those to other sites."""
    found = _LINK.findall(_FENCE.sub("", path.read_text(encoding="utf-8")))
    return [target for target in found if not target.startswith(("http:", "https:", "#"))]


def anchors(path: Path) -> set[str]:
    """What a link can name in a page, as GitHub makes it of the headings."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def generator() -> ModuleType:
    """`docs/generate.py`, loaded."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
