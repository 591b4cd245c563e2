"""Bytes of trace with the steps of the compression switched on in turn (Figure 5.7)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.result_table import NO_VALUE
from benchmarks.sizes import SINGLE
from benchmarks.table import grouped
from benchmarks.workloads.sizes import command
from support.mpis import Mpi
from support.running import record
from support.workloads import Workload

TITLE = "Bytes of trace with the steps of the compression switched on in turn"
NPROCS, STEPS = 16, (10, 100)
KEYS = ("program", "ranks", "steps")
_TOLERANCE = ("--signature-tolerance", "20")
#: Each has all that the ones before it have; the first two lossless steps can only be switched off.
OPTIONS: dict[str, tuple[str, ...]] = {
    "neither": ("--no-loop-alignment", "--no-loop-agnostic-merge"),
    "loop-agnostic merge": ("--no-loop-alignment",),
    "loops by LCS": (),
    "signatures": _TOLERANCE,
    "histograms": (*_TOLERANCE, "--histograms", "8"),
}
COLUMNS = (*KEYS, *OPTIONS)
NOTES = (
    "*neither*: loops of equal iterations, structures merged only where their loops agree. *loops by LCS* is "
    "the default and lossless, like those before it. *signatures*: call sites up to 20 lines apart are one. "
    "*histograms*: counts, sources, destinations and their arrays past 8 values.",
)


def option_line(mpi: Mpi, workload: Workload, nprocs: int, steps: int, limit_s: float) -> list[str]:
    """Record with every set of options; what went wrong stands in the cell."""
    cells = [size(mpi, workload, nprocs, steps, options, limit_s) for options in OPTIONS.values()]
    return [workload.title, str(nprocs), str(steps), *cells]


def size(
    mpi: Mpi, workload: Workload, nprocs: int, steps: int, options: tuple[str, ...], limit_s: float
) -> str:
    """Bytes of the trace of one run."""
    with tempfile.TemporaryDirectory() as folder:
        trace, run = Path(folder, "a.st"), command(mpi, workload, steps)
        try:
            record(mpi, nprocs, run, trace, options=options, env=SINGLE, timeout=limit_s).check()
        except TimeoutError:
            return "time limit"
        except AssertionError:
            return "failed"
        return grouped(trace.stat().st_size) if trace.exists() else NO_VALUE
