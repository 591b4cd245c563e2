"""Kill a random rank at a random time, repeatedly: count recovered calls and remaining processes.

python -m benchmarks.kills [--runs 20] [--only cg] [--mpi mpich] [--seed 1] [--keep]
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.kills.endings import Ending, Plan, end, undisturbed_s
from benchmarks.table import keep, show
from support.mpis import Mpi, installed
from support.programs import SAMPLES

TITLE = "A random rank killed at a random moment, 4 ranks"
COLUMNS = (
    "program",
    "runs",
    "too late",
    "recovered",
    "killed one missing",
    "begin as logs",
    "launcher, s",
    "gone, s",
)
NOTES = (
    "SIGKILL, SIGTERM, SIGSEGV in turn, without and with `--checkpoint 1`.",
    "Recovered: parts of all ranks but those that SIGKILL hit before a checkpoint, merged into a trace.",
    "Too late: the rank had ended, and the whole trace is there.",
    "Longest time from the kill until the launcher returned, and from then until the last process was gone.",
)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)

#: Name -> file and arguments: two to four seconds from MPI_Init to the end on 4 ranks.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "bt": ("npb/bt.py", "--steps", "50", "--sleep-us", "2000"),
    "sp": ("npb/sp.py", "--steps", "50", "--sleep-us", "2000"),
    "cg": ("npb/cg.py", "--steps", "80", "--sleep-us", "30000"),
    "ep": ("npb/ep.py", "--steps", "80", "--sleep-us", "30000"),
    "ft": ("npb/ft.py", "--steps", "40", "--sleep-us", "30000"),
    "is": ("npb/is.py", "--steps", "80", "--sleep-us", "30000"),
    "lu": ("npb/lu.py", "--steps", "80", "--sleep-us", "2000"),
    "mg": ("npb/mg.py", "--steps", "30", "--sleep-us", "30000"),
    "sweep3d": ("sweep3d.py", "--steps", "25", "--sleep-us", "2000"),
    "ocean": ("ocean.py", "--steps", "7", "--sleep-us", "10000"),
    "amr": ("amr.py", "--steps", "80", "--sleep-us", "10000"),
    "coupled": ("coupled.py", "--steps", "40", "--sleep-us", "10000"),
    "hpl": ("hpl.py", "--steps", "20", "--sleep-us", "2000"),
}


def plans(mpi: Mpi, runs: int, longest_s: float, dice: random.Random) -> list[Plan]:
    """How runs of a program are ended. MPICH kills the others with SIGKILL: only checkpoints help there."""
    return [
        Plan(
            rank=dice.randrange(4),
            sign=SIGNALS[i % len(SIGNALS)],
            moment_s=dice.uniform(0, longest_s),
            checkpoint=mpi.family == "mpich" or i // len(SIGNALS) % 2 == 1,
        )
        for i in range(runs)
    ]


def measure(mpi: Mpi, name: str, runs: int, dice: random.Random) -> list[tuple[Plan, Ending]]:
    """End `runs` runs of a program. AssertionError when it does not even run undisturbed."""
    source, *arguments = PROGRAMS[name]
    program = [str(mpi.python), str(SAMPLES / source), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        longest_s = undisturbed_s(mpi, program, Path(folder))
    print(f"{name}: {longest_s:.1f} s undisturbed", file=sys.stderr, flush=True)
    endings = []
    for plan in plans(mpi, runs, longest_s, dice):
        with tempfile.TemporaryDirectory() as folder:
            try:
                ending = end(mpi, program, Path(folder), plan)
            except AssertionError as error:  # the other runs are worth having
                ending = Ending(problems=[str(error)])
        endings.append((plan, ending))
        for problem in ending.problems:
            print(f"{name}: {plan}: {problem}", file=sys.stderr, flush=True)
    return endings


def row(name: str, endings: list[tuple[Plan, Ending]]) -> list[str]:
    """The table's line of a program."""
    counts = (
        len(endings),
        sum(not e.hit for _, e in endings),
        sum(e.recovered for _, e in endings),
        sum(p.rank in e.missing for p, e in endings),
        sum(e.exact for _, e in endings),
    )
    times = (max(e.ended_s for _, e in endings), max(e.gone_s for _, e in endings))
    return [name, *map(str, counts), *(f"{t:.1f}" for t in times)]


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--runs", type=int, default=20, help="of each program (20)")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--mpi", default="openmpi", help="openmpi or mpich")
    parser.add_argument("--seed", type=int, default=1, help="of ranks and moments (1)")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/kills.md")
    args = parser.parse_args()
    mpi = installed().get(args.mpi)
    if mpi is None or mpi.python is None:
        print(f"skipped: no {args.mpi} with mpi4py here")
        return 0
    rows, good = [], True
    for name in (p for p in PROGRAMS if args.only in p):
        endings = measure(mpi, name, args.runs, random.Random(f"{args.seed} {name}"))
        rows.append(row(name, endings))
        print(*rows[-1], sep=", ", file=sys.stderr, flush=True)
        good &= all(e.recovered and e.exact and not e.problems for _, e in endings)
    show(TITLE, COLUMNS, rows)
    if args.keep:
        keep("kills", f"{TITLE}, {mpi.name}", COLUMNS, rows, *NOTES)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
