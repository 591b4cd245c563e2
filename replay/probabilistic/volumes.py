"""Compare the replay of a probabilistic trace with it: equal numbers of calls, similar numbers of bytes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scalatrace.operations import operation, sent_bytes
from scalatrace.replay.calls.environment import SILENT
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.probabilistic.sampled_calls import (
    Group,
    SampledCall,
    group_of_call,
    histogram_of,
    shared_counts,
)
from scalatrace.replay.probabilistic.shared_random import Weighted, counts_of
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.walk import distinct_calls

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.result import Summary as Totals

TOLERANCE = 0.02
"""Of the bytes of an operation, over all ranks."""


def expected(trace: Trace, whatif: WhatIf) -> tuple[Counter[str], dict[str, float]]:
    """Return calls and bytes sent by operation, over all ranks; from means where values are not known."""
    ncalls: Counter[str] = Counter()
    nbytes: dict[str, float] = {}
    shared = shared_counts(trace)
    for leaf, classes in executions(trace):
        op = trace.ops[leaf.op].name
        if op in SILENT:
            continue
        for ranks, times in classes:
            ncalls[op] += times * len(ranks)
            sent = sum(_sent(trace, leaf, rank, times, whatif, shared) for rank in ranks)
            nbytes[op] = nbytes.get(op, 0.0) + sent
    return ncalls, nbytes


def _sent(
    trace: Trace, leaf: Event, rank: int, times: int, whatif: WhatIf, shared: dict[Group, Weighted]
) -> float:
    op = trace.ops[leaf.op].name
    flow = operation(op).sends
    if flow is None:
        return 0.0
    own = _own_mean(trace, leaf, flow.count)
    total = 0.0
    for call, n in distinct_calls(trace, leaf, rank, times):
        group = group_of_call(call)
        mean = shared[group].mean if group in shared else own
        if mean is None:
            total += n * sent_bytes(op, whatif.view(call))
            continue
        typical = call.get(flow.count, 0)
        one = (1,) * len(typical) if isinstance(typical, tuple) else 1
        # What a call hands over is in proportion to its elements, of which the trace has a rounded mean.
        total += n * sent_bytes(op, SampledCall(call, {flow.count: one})) * mean * whatif.nbytes(call.place)
    return total


def _own_mean(trace: Trace, leaf: Event, name: str) -> float | None:
    histogram = histogram_of(trace.ops[leaf.op], leaf, name)
    bins = counts_of(histogram) if histogram else ()
    return Weighted.of(bins).mean if bins else None


def compare(trace: Trace, totals: Totals, whatif: WhatIf) -> list[dict[str, Any]]:
    """Return a row for each operation with other calls than the trace, or bytes beyond the tolerance."""
    ncalls, nbytes = expected(trace, whatif)
    rows = []
    for op in sorted({*ncalls, *totals.calls}):
        was, now = nbytes.get(op, 0.0), totals.sent.get(op, 0)
        if ncalls[op] != totals.calls.get(op, 0) or abs(was - now) > TOLERANCE * was:
            amounts = {"calls_recorded": ncalls[op], "calls_replayed": totals.calls.get(op, 0)}
            sizes = {"bytes_recorded": round(was), "bytes_replayed": now}
            rows.append({"op": op, "communicator": "all", "ranks": "all", **amounts, **sizes})
    return rows
