"""Nodes of traces whose calls are given to the compressor once more, beside those that were recorded.

python -m benchmarks.refold sweep.4.st mg.8.st [--keep]

The calls of each rank are walked into a core with their call stacks, and with all parameters as integers.
Nodes can so be compared across versions of the compressor, without the program. Bytes cannot: peers, arrays
and times are not encoded.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.given import table_of_traces
from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, MAX_VALUES, Core
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace

COLUMNS = ("trace", "calls", "nodes recorded", "nodes", "nodes of a rank, least", "most", "calls differ")
TITLE = "Nodes of recorded calls, compressed once more"

INTEGERS = [(f"v{i}", Kind.INT) for i in range(MAX_VALUES - 1)]


def main() -> int:
    """Compress and print; 2 if an argument is no file, 1 if a walk differs from the calls."""
    rows = table_of_traces(__doc__, "refold", TITLE, COLUMNS, _row)
    return 2 if rows is None else int(any(row[-1] != "0" for row in rows))


def _row(path: Path) -> Iterator[str]:
    trace = load(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cores = [_core(trace, rank) for rank in trace.ranks]
        own = [_written(core, folder).nnodes for core in cores]
        for core in cores[1:]:
            cores[0].merge(core.pack())
        merged = _written(cores[0], folder)
        for core in cores:
            core.close()
    differing = sum(
        left.values != right.values[1 : 1 + len(left.values)] or left.stack != right.stack[1:]
        for rank in trace.ranks
        for left, right in zip(trace.walk(rank), merged.walk(rank), strict=True)
    )
    yield path.name
    yield f"{trace.nevents():,}"
    yield f"{trace.nnodes:,}"
    yield f"{merged.nnodes:,}"
    yield f"{min(own):,}"
    yield f"{max(own):,}"
    yield str(differing)


def _core(trace: Trace, rank: int) -> Core:
    """A core with the calls of a rank; the operation is the innermost frame of their stacks."""
    core = Core(rank, trace.nprocs)
    core.define_comm(COMM_WORLD, 0, "world", range(trace.nprocs))
    core.define_stat("compute_ns")
    op = core.define_op("Send", [("count", Kind.INT), *INTEGERS])
    for call in trace.walk(rank):
        signature = core.define_signature([f"{call.op}:0:call", *call.stack])
        values = [1, *call.values, *[0] * (len(INTEGERS) - len(call.values))]
        core.append(op, values, signature, rank, trace.nprocs, [1000.0])
    core.finish()
    return core


def _written(core: Core, folder: Path) -> Trace:
    core.write(folder / "a.st")
    return load(folder / "a.st")


if __name__ == "__main__":
    sys.exit(main())
