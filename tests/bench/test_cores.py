"""What is measured does not share a core with the fake model where there is another."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def cores() -> ModuleType:
    """`bench/cores.py`, which stands in no package."""
    spec = importlib.util.spec_from_file_location("bench_cores", BENCH / "cores.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def topology(place: Path, siblings: dict[int, str]) -> Path:
    for cpu, text in siblings.items():
        (place / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (place / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(f"{text}\n")
    return place


@pytest.mark.parametrize(
    ("siblings", "there", "chosen"),
    [
        ({0: "0-1"}, [0, 1, 2, 3], (0, 2)),
        ({0: "0,4"}, [0, 1, 4, 5], (0, 1)),
        ({2: "2,6"}, [2, 6, 7], (2, 7)),
        ({}, [0, 1], (0, 1)),
    ],
)
def test_the_subjects_run_on_another_core(
    cores: ModuleType, tmp_path: Path, siblings: dict[int, str], there: list[int], chosen: tuple[int, int]
) -> None:
    found = cores.choose(there, topology(tmp_path, siblings))
    assert (found.model, found.subject) == chosen
    assert "two threads of the only core" not in found.describe()


def test_two_threads_of_the_only_core_are_said_to_be_that(cores: ModuleType, tmp_path: Path) -> None:
    found = cores.choose([0, 1], topology(tmp_path, {0: "0-1"}))
    assert (found.model, found.subject) == (0, 1)
    assert "two threads of the only core" in found.describe()


def test_one_cpu_pins_nobody(cores: ModuleType) -> None:
    assert cores.choose([0]).subject is None
    assert "not pinned" in cores.choose([0]).describe()
