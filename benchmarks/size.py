"""Bytes of trace, plain log and gzip of the plain log, over time steps and ranks.

python -m benchmarks.size [--steps 10 1000] [--ranks 16] [--only stencil2d] [--keep]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sizes import Sizes, measure
from benchmarks.table import grouped, keep, show
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.running import record

COLUMNS = ("program", "ranks", "steps", "calls", "trace", "plain log", "log, gzip", "log / trace")
TITLE = "Bytes of trace and log"
Results = dict[tuple[str, int, int], Sizes]

#: Name -> file and arguments; `--steps N` (or the option named first) is added.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "stencil2d, 5 points, periodic": ("--steps", "stencil2d.py", "--periodic"),
    "stencil2d, 5 points": ("--steps", "stencil2d.py"),
    "stencil2d, 9 points, cartesian": ("--steps", "stencil2d.py", "--points", "9", "--cartesian"),
    "stencil3d, 7 points": ("--steps", "stencil3d.py"),
    "stencil3d, 27 points": ("--steps", "stencil3d.py", "--points", "27"),
    "ring": ("--rounds", "ring.py"),
    "subcomms": ("--steps", "subcomms.py"),
    "persistent": ("--steps", "persistent.py"),
    "Figure 2.1": ("--steps", "fig2_1.py"),
    "Figure 5.2, zigzag": ("--steps", "fig5_2.py", "--trips", "zigzag"),
}


@dataclass(frozen=True)
class Claim:
    """What the table must show; `holds` gets the results of one program that were measured."""

    program: str
    text: str
    holds: Callable[[dict[tuple[int, int], Sizes]], bool]


def spread(results: dict[tuple[int, int], Sizes]) -> float:
    """Largest trace over smallest, minus 1."""
    traces = [sizes.trace for sizes in results.values()]
    return max(traces) / min(traces) - 1


def below(limit: int) -> Callable[[dict[tuple[int, int], Sizes]], bool]:
    """All traces are smaller than `limit` bytes."""
    return lambda results: all(sizes.trace < limit for sizes in results.values())


CLAIMS = (
    Claim(
        "stencil2d, 5 points, periodic",
        "changes by less than 5 % over steps and ranks",
        lambda r: spread(r) < 0.05,
    ),
    Claim("stencil2d, 5 points, periodic", "stays below 8 KB", below(8_000)),
    Claim("stencil2d, 5 points", "stays below 24 KB", below(24_000)),
    Claim("stencil3d, 7 points", "stays below 24 KB", below(24_000)),
)


def one(mpi: Mpi, program: str, nprocs: int, steps: int) -> Sizes:
    """Record one run and measure what it left."""
    option, source, *arguments = PROGRAMS[program]
    with tempfile.TemporaryDirectory() as folder:
        trace, logs = Path(folder, "a.st"), Path(folder, "logs")
        command = [str(mpi.python), SAMPLES / source, *arguments, option, str(steps)]
        record(mpi, nprocs, command, trace, options=["--flat-log", logs], timeout=1800).check()
        return measure(trace, logs)


def rows(results: Results) -> list[list[str]]:
    """The table's lines."""
    return [
        [program, *map(grouped, (nprocs, steps, s.calls, s.trace, s.log, s.gzipped, s.log / s.trace))]
        for (program, nprocs, steps), s in results.items()
    ]


def verdicts(results: Results) -> list[tuple[str, bool]]:
    """Every claim about a measured program, and whether it holds."""
    result = []
    for claim in CLAIMS:
        mine = {key[1:]: sizes for key, sizes in results.items() if key[0] == claim.program}
        if mine:
            result.append((f"{claim.program}: {claim.text}", claim.holds(mine)))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/size.md")
    args = parser.parse_args()
    mpi = installed().get("openmpi") or installed().get("mpich")
    if mpi is None:
        print("skipped: no MPI with mpi4py here")
        return 0
    results: Results = {}
    failed: list[str] = []
    for program in (p for p in PROGRAMS if args.only in p):
        for nprocs in args.ranks:
            for steps in args.steps:
                print(f"{program}: {nprocs} ranks, {steps} steps", file=sys.stderr, flush=True)
                try:
                    results[program, nprocs, steps] = one(mpi, program, nprocs, steps)
                except (
                    AssertionError,
                    TimeoutError,
                ) as error:  # the other lines of the table are worth having
                    failed.append(f"{program}, {nprocs} ranks, {steps} steps: {error}")
    show(TITLE, COLUMNS, rows(results))
    claims = verdicts(results)
    for text, holds in claims:
        print("yes" if holds else "NO ", text)
    if args.keep:
        keep("size", TITLE, COLUMNS, rows(results), *(f"{t}: {'yes' if h else 'no'}." for t, h in claims))
    print("\n".join(failed))
    return 0 if all(holds for _, holds in claims) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
