"""The pages that people read, and the blocks of code in them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [text for said, text in _FENCE.findall(path.read_text(encoding="utf-8")) if said == language]


def links(path: Path) -> list[str]:
    """The targets of all links, without those to other sites."""
    found = _LINK.findall(_FENCE.sub("", path.read_text(encoding="utf-8")))
    return [target for target in found if not target.startswith(("http:", "https:", "#"))]


def generator() -> ModuleType:
    """`docs/generate.py`, loaded."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
