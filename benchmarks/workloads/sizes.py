"""One run of a workload: sizes of trace and logs, parts of the trace, and whether it is lossless."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.result_table import NO_VALUE
from benchmarks.sizes import SINGLE, Sizes, measure
from benchmarks.table import grouped
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, record, scalatrace
from support.workloads import Workload

TITLE = "Traces of the workloads"
KEYS = ("program", "ranks", "steps")
SHARES = ("times", "values", "ranklists", "call sites", "rest")
COLUMNS = (
    *KEYS,
    *("events", "trace", "plain log", "gzip -9", "bytes/event", "nodes", "unpacked"),
    *SHARES,
    "lossless",
)
NOTES = (
    "Sizes in bytes; *unpacked* is the trace before deflation, and the shares are shares of it: *times* all "
    "histograms, *values* parameters, arrays and trip counts, *rest* communicators, datatypes and header.",
)
#: What `scalatrace info` tells apart and the table does not.
_AS = {"repeats": "values", "arrays": "values"}
#: A larger log is not checked: it takes as long as hundreds of runs.
CHECKED_BYTES = 2_000_000_000


def command(mpi: Mpi, workload: Workload, steps: int) -> list[Argument]:
    """What to give to mpiexec."""
    sample = workload.of_steps(steps)
    return [str(mpi.python), SAMPLES / sample.source, *sample.arguments]


def size_line(mpi: Mpi, workload: Workload, nprocs: int, steps: int, limit_s: float) -> list[str]:
    """Measure one run. Raises TimeoutError when something takes longer, AssertionError when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        trace, logs = Path(folder, "a.st"), Path(folder, "logs")
        run = command(mpi, workload, steps)
        options: list[Argument] = ["--flat-log", logs]
        record(mpi, nprocs, run, trace, options=options, env=SINGLE, timeout=limit_s).check()
        sizes = measure(trace, logs, gzip_level=9)
        facts = json.loads(scalatrace(mpi, "info", "--json", trace, timeout=limit_s).check().stdout)
        verdict = lossless(mpi, trace, logs, sizes, limit_s)
    payload = sum(facts["payload_bytes"].values())
    numbers = (sizes.calls, sizes.trace, sizes.log, sizes.gzipped)
    return [
        *(workload.title, str(nprocs), str(steps)),
        *map(grouped, numbers),
        f"{sizes.trace / sizes.calls:.3g}",
        *map(grouped, (facts["nodes"], payload)),
        *(f"{100 * part / payload:.0f} %" for part in parts(facts["payload_bytes"]).values()),
        verdict,
    ]


def parts(payload: dict[str, int]) -> dict[str, int]:
    """Bytes of each of SHARES."""
    result = dict.fromkeys(SHARES, 0)
    for name, nbytes in payload.items():
        kind = _AS.get(name, name)
        result[kind if kind in result else "rest"] += nbytes
    return result


def lossless(mpi: Mpi, trace: Path, logs: Path, sizes: Sizes, limit_s: float) -> str:
    """Whether `verify` finds every call of every rank in the trace."""
    if sizes.log > CHECKED_BYTES:
        return "not checked"
    try:
        checked = scalatrace(mpi, "verify", trace, logs, timeout=limit_s)
    except TimeoutError:
        return "not checked"
    return "yes" if checked.returncode == 0 else "NO"


def refused(workload: Workload, nprocs: int) -> list[str]:
    """The line of a number of ranks that the program does not take."""
    return [workload.title, str(nprocs), *[NO_VALUE] * (len(COLUMNS) - 2)]


def failed(workload: Workload, nprocs: int, steps: int, why: str) -> list[str]:
    """The line of a run that gave nothing to measure."""
    return [workload.title, str(nprocs), str(steps), why, *[NO_VALUE] * (len(COLUMNS) - 4)]
