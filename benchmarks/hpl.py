"""HPL predicted by models of its kernels, against its runs.

python -m benchmarks.hpl platform.toml [--ranks 2 4] [--block 32] [--size 6] [--steps 20] [--keep]

The kernels of samples/hpl.py are marked. Their models are fitted to traces of one rank, on smaller and larger
matrices; they predict the runs on more ranks, beside predictions from recorded times (Cornebize, part I).
`scalatrace calibrate` measures the platform of this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd
from pathlib import Path
from statistics import mean

from benchmarks.predictions import drawn_runs
from benchmarks.replay.runs import Recording, recorded
from benchmarks.table import keep, printed, show
from scalatrace import load
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.kernels import KernelModels, fit_traces
from scalatrace.predict.platform import Platform, read_platform
from support.mpis import Mpi, installed
from support.programs import SAMPLES

COLUMNS = ("ranks", "grid", "rows", "run, s", "by models, s", "error", "by recorded times, s", "error")
LIMIT = 0.10
RUNS = 3
"""Of each program; that of the median time is predicted."""
STEPS = 20
"""So many that making communicators takes little of the run."""


def _run(mpi: Mpi, nprocs: int, rows: int, args: argparse.Namespace, size: int, folder: Path) -> Recording:
    words = ["--kernels", "--block", args.block, "--rows", rows, "--size", size, "--steps", args.steps]
    argv = [str(SAMPLES / "hpl.py"), *map(str, words)]
    return recorded(mpi, nprocs, argv, folder / f"{nprocs}.{rows}.{size}.st", ())


def _models(mpi: Mpi, args: argparse.Namespace, folder: Path) -> KernelModels:
    """Fit the models of all kernels to runs on one rank."""
    sizes = sorted({max(1, args.size // 2), args.size, 2 * args.size})
    # Sizes alternate, so that a slow phase of the machine affects all of them.
    return fit_traces(load(_run(mpi, 1, 1, args, size, folder).trace) for _ in range(RUNS) for size in sizes)


def _lines(mpi: Mpi, platform: Platform, args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as name:
        models = _models(mpi, args, Path(name))
        for nprocs in args.ranks:
            for rows in [each for each in range(1, nprocs + 1) if nprocs % each == 0]:
                yield _line(mpi, platform, args, models, nprocs, rows, Path(name))


def _line(
    mpi: Mpi,
    platform: Platform,
    args: argparse.Namespace,
    models: KernelModels,
    nprocs: int,
    rows: int,
    folder: Path,
) -> tuple[str, ...]:
    runs = []
    for i in range(RUNS):
        (folder / str(i)).mkdir(exist_ok=True)
        runs.append(_run(mpi, nprocs, rows, args, args.size, folder / str(i)))
    made = sorted(runs, key=lambda one: one.run_s)[RUNS // 2]
    trace = load(made.trace)
    times = [
        drawn_runs(Simulator(trace, kernels), platform).median_ns / 1e9
        for kernels in (KernelTimes.on(platform, models, nprocs), None)
    ]
    cells = [cell for time in times for cell in (f"{time:.3f}", f"{time / made.run_s - 1:+.1%}")]
    columns = nprocs // rows
    n = args.block * args.size * rows * columns // gcd(rows, columns)
    return str(nprocs), f"{rows} x {columns}", str(n), f"{made.run_s:.3f}", *cells


def main() -> int:
    """Print the table; 1 where the mean absolute error of the models is beyond the limit."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("platform", help="platform file of this machine")
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4], metavar="P")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/hpl.md")
    args = parser.parse_args()
    platform = read_platform(args.platform)
    mpi = installed()["openmpi"]
    title = "HPL by models of its kernels"
    return report("hpl", title, COLUMNS, _lines(mpi, platform, args), {"by models": 5}, args.keep)


def report(
    name: str,
    title: str,
    columns: Sequence[str],
    lines: Iterable[Sequence[str]],
    limited: Mapping[str, int],
    kept: bool,
) -> int:
    """Print a table while its lines are measured, and whether its mean absolute errors are within LIMIT.

    Args:
        name: of the file in `benchmarks/results`, which is written if `kept`.
        limited: kind of prediction -> column of its errors.

    Returns:
        The exit status: 1 if an error is beyond the limit.
    """
    load_before = os.getloadavg()[0]
    rows = [tuple(row) for row in printed(lines)]
    show(title, columns, rows)
    errors = {
        kind: mean(abs(float(row[column].rstrip("%"))) / 100 for row in rows)
        for kind, column in limited.items()
    }
    good = max(errors.values()) <= LIMIT
    found = ", ".join(f"{kind} {error:.1%}" for kind, error in errors.items())
    verdict = f"{'yes' if good else 'NO'}: mean absolute error {found}"
    note = f"Load of the machine before and after: {load_before:.1f}, {os.getloadavg()[0]:.1f}."
    print(verdict, note, sep="\n")
    if kept:
        keep(name, title, columns, rows, note, below=[f"- {verdict}"])
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
