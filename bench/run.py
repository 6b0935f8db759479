"""Measure Remit against loops written by hand and against its peers, in one go, and write the table.

python bench/run.py --quick                                  a few minutes, no peers
python bench/run.py --peers --write docs/benchmarks.md       everything; the machine should do nothing else
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

import imports
import loops
import scale
from fleet import Worker, fake_model
from subjects import SUBJECTS, Subject
from table import Measured, markdown

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
PARTS = ("loops", "imports", "scale")


def arguments() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns, rounds and runs")
    parser.add_argument("--peers", action="store_true", help="with the peers; makes their environments first")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--subject", action="append", metavar="PATTERN", help="only subjects of this name, and their floors")
    parser.add_argument("--turns", type=lambda text: [int(one) for one in text.split(",")], metavar="10,50,200")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--peer-rounds", type=int, default=3, help="rounds that the peers take part in")
    parser.add_argument("--parallel", type=int, default=1, help="calls in each turn")
    parser.add_argument("--pad", type=int, default=0, help="characters of text beside them")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the marks in this file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all that was measured here")
    parser.add_argument("--profile", metavar="SUBJECT", help="profile one run of it instead")
    parser.add_argument("--check", action="store_true", help="run each subject for two turns and print how often its tool ran")
    return parser


def chosen(given: argparse.Namespace) -> list[Subject]:
    """The subjects that are measured."""
    there = [one for one in SUBJECTS.values() if one.family is None or given.peers or given.subject]
    if given.subject is None:
        if given.quick:
            return [one for one in there if one.kind == "peer" or not one.streamed]
        return there
    named = [one for one in there if any(fnmatch.fnmatch(one.name, pattern) for pattern in given.subject)]
    floors = {one.floor for one in named}
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
    command = f"python bench/run.py {shlex.join(sys.argv[1:])}"
    head = [f"- Command: `{command}`", f"- Machine: {machine()}", f"- Load when it began: {load:.1f}"]
    if measured.loops:
        peers = f" ({min(given.rounds, given.peer_rounds)} of them with the peers)" if given.peers else ""
        head.append(f"- {given.rounds} interleaved rounds{peers}; each cell is the minimum, and the median in parentheses")
    return "\n".join(head) + "\n" + "\n" + markdown(measured)


def write(place: Path, text: str) -> None:
    """Put the text between the marks."""
    page = place.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{place} has no marks {BEGIN} and {END}")
    place.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


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


def main() -> int:
    given = arguments().parse_args()
    if given.check:
        return check(given)
    given.turns = given.turns or ([10, 50] if given.quick else [10, 50, 200])
    given.rounds = given.rounds or (3 if given.quick else 8)
    if given.profile:
        profile(given.profile, given.turns[-1])
        return 0
    parts, load, measured = given.part or PARTS, os.getloadavg()[0], Measured()
    subjects = chosen(given)
    if "loops" in parts:
        loops.measure(
            measured,
            subjects,
            loops.Course(given.turns, given.rounds, min(given.rounds, given.peer_rounds), given.parallel, given.pad),
        )
    if "imports" in parts:
        imports.measure(measured, sorted({one.family for one in subjects if one.family is not None}))
    if "scale" in parts:
        many = (
            {"runs": 100, "waiting": 300, "length": 200} if given.quick else {"runs": 500, "waiting": 10_000, "length": 1_000}
        )
        scale.measure(measured, **many)
    text = report(measured, given, load)
    print(text)
    if given.json:
        given.json.write_text(json.dumps(vars(measured)), encoding="utf-8")
    if given.write:
        write(given.write, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
