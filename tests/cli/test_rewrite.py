from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from remit.cli.rewrite import rewrite


def test_a_write_that_breaks_off_leaves_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        rewrite(path, cast(Any, "no bytes"))
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="it is no file"):
        rewrite(tmp_path, b"new")
    assert tmp_path.is_dir()
