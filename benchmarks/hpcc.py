"""Debian's hpcc predicted by models of its BLAS calls, against its runs (Cornebize, part I).

python -m benchmarks.hpcc platform.toml [--fit 1000 2000 3000] [--orders 1500 2500] [--runs 5] [--keep]

The models of dgemm and dtrsm are fitted to runs of other orders on as many ranks. The platform must be
measured with Debian's Open MPI (README.md). Compared are the times from MPI_Init to MPI_Finalize, under the
tracer. Each order runs several times, and the run of the median time is predicted.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.debian.cases import hpcc_input
from benchmarks.hpl import report
from benchmarks.predictions import drawn_runs
from scalatrace import Trace, load
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.kernels import fit_traces
from scalatrace.predict.platform import Platform, read_platform
from scalatrace.report.costs.efficiency import efficiency
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.running import record, run

COLUMNS = (
    "ranks", "order", "run, s", "by models, s", "error", "by recorded times, s", "error",
    "polls as waiting, s", "error",
)  # fmt: skip
RANKS = 2
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    # Copies by the kernel are not allowed in containers.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def _recorded(mpi: Mpi, marks: Path, order: int, folder: Path) -> Trace:
    """Record hpcc with marked BLAS calls."""
    where = Path(tempfile.mkdtemp(dir=folder))
    hpcc_input(where, order, 1, RANKS)
    env = {**ENVIRONMENT, "LD_PRELOAD": str(marks)}
    record(mpi, RANKS, ["hpcc"], where / "a.st", env=env, timeout=600).check()
    return load(where / "a.st")


def _run_s(trace: Trace) -> float:
    costs = efficiency(trace)
    assert costs is not None
    return costs.run_time_ns / 1e9


def _lines(mpi: Mpi, platform: Platform, args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        marks = folder / "marks.so"
        compiler = [mpi.mpicc, "-O2", "-shared", "-fPIC", "-o", marks]
        run([*compiler, SAMPLES / "blas_kernels.c", "-ldl"], env=mpi.environment()).check()
        models = fit_traces(_recorded(mpi, marks, order, folder) for order in args.fit)
        for order in args.orders:
            traces = [_recorded(mpi, marks, order, folder) for _ in range(args.runs)]
            trace = sorted(traces, key=_run_s)[args.runs // 2]
            run_s = _run_s(trace)
            cells = [str(RANKS), str(order), f"{run_s:.3f}"]
            for kernels, polls_work in ((KernelTimes(models), True), (None, True), (None, False)):
                simulator = Simulator(trace, kernels, polls_work)
                time_s = drawn_runs(simulator, platform).median_ns / 1e9
                cells += [f"{time_s:.3f}", f"{time_s / run_s - 1:+.1%}"]
            yield tuple(cells)


def main() -> int:
    """Print the table; 1 where a mean absolute error, with polls as work, is beyond the limit."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("platform", help="platform file of this machine, with Debian's Open MPI")
    parser.add_argument("--fit", nargs="+", type=int, default=[1000, 2000, 3000], metavar="N", help="orders")
    parser.add_argument("--orders", nargs="+", type=int, default=[1500, 2500], metavar="N")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/hpcc.md")
    args = parser.parse_args()
    mpi = installed().get("debian-openmpi")
    if mpi is None or shutil.which("hpcc") is None:
        print("benchmarks.hpcc needs Debian's openmpi-bin, libopenmpi-dev and hpcc", file=sys.stderr)
        return 2
    platform = read_platform(args.platform)
    title = "Debian's hpcc by models of its BLAS calls"
    limited = {"by models": 4, "by recorded times": 6}
    return report("hpcc", title, COLUMNS, _lines(mpi, platform, args), limited, args.keep)


if __name__ == "__main__":
    sys.exit(main())
