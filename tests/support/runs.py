"""Runs of one program whose times vary a little, for tests of regressions."""

from __future__ import annotations

import numpy as np

from scalatrace.trace.model.nodes import Event, PredStats
from scalatrace.trace.model.tables import Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec

__all__ = ["SITES", "run_of"]

SITES = {"Allreduce": (40e6, 9e6), "Barrier": (20e6, 3e6), "Bcast": (15e6, 1e6)}
"""Operation -> ns per rank of computation before it, and inside."""


def run_of(seed: int, slow: dict[str, float] | None = None, nprocs: int = 2, line: int = 10) -> Trace:
    """A run of ten calls of each operation per rank; each time varies by 0.5 %."""
    random = np.random.default_rng(seed)
    trace = Trace(nprocs, meta={}, stats=[RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)])
    trace.preds[:] = [START]
    for number, (op, times) in enumerate(SITES.items()):
        trace.frames.append(f"/somewhere/solver.py:{line + number}:step")
        trace.signatures.append((number,))
        trace.ops.append(Op(op, ()))
        means = [ns / 10 * (slow or {}).get(op, 1.0) * (1 + 0.005 * random.standard_normal()) for ns in times]
        both = tuple(Histogram(10 * nprocs, int(m), int(m) + 1, m, 0.0) for m in means)
        signature = trace.signatures.index((number,))
        trace.nodes.append(Event(Vec(10), number, signature, (), (PredStats(0, both),)))
    return trace
