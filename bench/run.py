"""Measure Remit against loops written by hand, and on order against its peers, and write the tables.

python bench/run.py --quick                                  two minutes, fewer rounds
python bench/run.py --write docs/benchmarks.md               all but the peers; the machine should do nothing else
python bench/run.py --peers --write docs/benchmarks.md       the peers, with their floors, in a table of their own
python bench/run.py --part loops --subject "remit chat" --turns 50 --rounds 8
python bench/run.py --profile "remit chat" --turns 50        where its time goes
python bench/run.py --check                                  every subject once, two turns, no figures
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import pstats
import shlex
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cores
import imports
import loops
import scale
from fleet import Worker, fake_model
from subjects import SUBJECTS, Subject
from table import Measured, markdown, peers_markdown

PARTS = ("loops", "padded", "imports", "scale")


def arguments() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns, rounds and runs, and no streams")
    parser.add_argument("--peers", action="store_true", help="the peers and their floors instead; makes the environments first")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--subject", action="append", metavar="PATTERN", help="only subjects of this name, and their floors")
    parser.add_argument("--turns", type=lambda text: [int(one) for one in text.split(",")], metavar="10,50,200")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--parallel", type=int, default=1, help="calls in each turn")
    parser.add_argument("--pad", type=int, default=4_000, help="characters of text in each reply of the part `padded`")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between their marks in this file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all that was measured here")
    parser.add_argument("--profile", metavar="SUBJECT", help="profile one run of it instead")
    parser.add_argument("--check", action="store_true", help="run each subject for two turns and print how often its tool ran")
    return parser


def chosen(given: argparse.Namespace) -> list[Subject]:
    """The subjects that are measured."""
    if given.subject is not None:
        named = [one for one in SUBJECTS.values() if any(fnmatch.fnmatch(one.name, pattern) for pattern in given.subject)]
    elif given.peers:
        peers = [one for one in SUBJECTS.values() if one.kind == "peer"]
        kinds = {(one.protocol, one.durable, one.streamed) for one in peers}
        own = [one for one in SUBJECTS.values() if one.kind == "own"]
        named = [*peers, *(one for one in own if (one.protocol, one.durable, one.streamed) in kinds)]
    else:
        named = [one for one in SUBJECTS.values() if one.family is None and not (given.quick and one.streamed)]
    floors = {floor for one in named for floor in ((one.floor,) if given.peers else one.floors)}
    return [one for one in SUBJECTS.values() if one in named or one.name in floors]


def machine() -> str:
    """Where and when, in a line."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    python = f"Python {platform.python_version()}"
    when = time.strftime("%Y-%m-%d")
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, {python}; {when}"


def report(measured: Measured, given: argparse.Namespace, load: float) -> str:
    """The tables with the command and the machine."""
    head = [
        f"- Command: `python bench/run.py {shlex.join(sys.argv[1:])}`",
        f"- Machine: {machine()}",
        f"- Pinned: {cores.chosen().describe()}",
        f"- Load when it began: {load:.1f}",
    ]
    if measured.loops or measured.padded:
        head.append(f"- {given.rounds} interleaved rounds; in a cell the minimum, then the median; multiples are of minima")
    return "\n".join(head) + "\n\n" + (peers_markdown if given.peers else markdown)(measured)


def write(place: Path, which: str, text: str) -> None:
    """Put the text between its marks."""
    first, last = f"<!-- {which}: begin -->", f"<!-- {which}: end -->"
    page = place.read_text(encoding="utf-8")
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise SystemExit(f"{place} has no marks {first} and {last}")
    place.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def check(given: argparse.Namespace) -> int:
    """Each subject for two turns; 1 where a tool ran another number of times."""
    wrong = 0
    with fake_model() as url:
        for subject in chosen(given):
            worker = Worker(subject, url, rests=False)
            taken = worker.ask(turns=2, parallel=given.parallel)
            worker.close()
            ran = taken.get("ran")
            wrong += ran != 2 * given.parallel
            print(json.dumps({"subject": subject.name, "ran": ran, "requests": taken.get("requests")}), flush=True)
    return int(bool(wrong))


def profile(name: str, turns: int) -> None:
    """Print where one run of a subject spends its time."""
    with fake_model() as url, tempfile.NamedTemporaryFile(suffix=".pstats") as place:
        worker = Worker(SUBJECTS[name], url, rests=False)
        for _ in range(3):
            worker.ask(turns=turns)
        worker.ask(turns=turns, profile=place.name)
        worker.close()
        pstats.Stats(place.name).sort_stats("tottime").print_stats(40)


def measure(given: argparse.Namespace) -> Measured:
    """All parts that are asked for."""
    measured, subjects = Measured(pad=given.pad), chosen(given)
    parts = given.part or (("loops", "imports") if given.peers else PARTS)
    if "loops" in parts:
        course = loops.Course(given.turns, given.rounds, given.parallel, 0)
        measured.loops = loops.measure(measured, subjects, course)
    if "padded" in parts:
        course = loops.Course(given.turns, given.rounds, given.parallel, given.pad)
        measured.padded = loops.measure(measured, subjects, course)
    if "imports" in parts:
        families = sorted({one.family for one in subjects if one.family is not None})
        imports.measure(measured, families, first=() if given.peers else imports.FIRST)
    if "scale" in parts:
        many = {"runs": 100, "rounds": 1, "waiting": 300, "length": 200}
        scale.measure(measured, **(many if given.quick else {"runs": 500, "rounds": 3, "waiting": 10_000, "length": 1_000}))
    return measured


def main() -> int:
    given = arguments().parse_args()
    if given.check:
        return check(given)
    given.turns = given.turns or ([10, 50] if given.quick else [10, 50, 200])
    given.rounds = given.rounds or (3 if given.quick else 4 if given.peers else 8)
    if given.profile:
        profile(given.profile, given.turns[-1])
        return 0
    load = os.getloadavg()[0]
    measured = measure(given)
    text = report(measured, given, load)
    print(text)
    if given.json:
        given.json.write_text(json.dumps(vars(measured)), encoding="utf-8")
    if given.write:
        write(given.write, "peers" if given.peers else "figures", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
