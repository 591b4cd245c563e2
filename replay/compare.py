"""Compare the calls and bytes of a replay with those of the trace (dissertation, §3.4.1).

Exact replays are compared by rank. Replays of histograms are compared by their totals: equal numbers of
calls, similar numbers of bytes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scalatrace.operations import Category, operation, sent_bytes
from scalatrace.replay.calls.environment import SILENT
from scalatrace.replay.common.options import ReplayOptions
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
from scalatrace.trace.query.counting import executions, executions_of
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.walk import distinct_calls

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.result import RankResult, ReplaySummary


TOLERANCE = 0.02
"""Of the bytes of an operation, over all ranks."""


def sum_recorded_times(trace: Trace) -> dict[str, float | None]:
    """Return the recorded time of the mean rank, computation and MPI, in seconds; None without times."""
    indices = [trace.stat_index[name] for name in (COMPUTE, COMM) if name in trace.stat_index]
    total = 0.0
    for leaf in trace.leaves():
        for i in indices:
            total += sum(kept.total for _, kept in leaf.histograms_by_pred(i)) * trace.stats[i].resolution
    return {"recorded_s": total / len(trace.ranks) / 1e9 if indices and len(trace.ranks) else None}


def count_expected(trace: Trace, rank: int, whatif: WhatIf) -> dict[tuple[str, int], list[int]]:
    """Return [calls, bytes sent] of a rank by operation and family, from the compressed form."""
    result: dict[tuple[str, int], list[int]] = {}
    for event, times in executions_of(trace, rank):
        op = trace.ops[event.op].name
        if op in SILENT:
            continue
        for call, n in distinct_calls(trace, event, rank, times):
            amounts = result.setdefault((op, call.family), [0, 0])
            amounts[0] += n
            amounts[1] += n * sent_bytes(op, whatif.view(call))
    return result


def compare(trace: Trace, result: RankResult, options: ReplayOptions) -> list[dict[str, Any]]:
    """Return a row for each operation and communicator whose calls or bytes on a rank are not as asked."""
    recorded = count_expected(trace, result.rank, WhatIf(options.rules))
    replayed = {(op, family): [calls, sent] for op, family, calls, _, sent in result.rows}
    rows = []
    for op, family in sorted({*recorded, *replayed}):
        was, now = (side.get((op, family), [0, 0]) for side in (recorded, replayed))
        if operation(op).category is Category.NEIGHBOUR:
            now = [now[0], was[1]]  # the table of operations knows no number of neighbours
        if was != now:
            amounts = {"calls_recorded": was[0], "calls_replayed": now[0]}
            sizes = {"bytes_recorded": was[1], "bytes_replayed": now[1]}
            rows.append({"op": op, "communicator": family, **amounts, **sizes})
    return rows


def expected_totals(trace: Trace, whatif: WhatIf) -> tuple[Counter[str], dict[str, float]]:
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
    mean_of_site = _mean_of_site(trace, leaf, flow.count)
    total = 0.0
    for call, n in distinct_calls(trace, leaf, rank, times):
        group = group_of_call(call)
        mean = shared[group].mean if group in shared else mean_of_site
        if mean is None:
            total += n * sent_bytes(op, whatif.view(call))
            continue
        typical = call.get(flow.count, 0)
        element = (1,) * len(typical) if isinstance(typical, tuple) else 1
        # What a call hands over is in proportion to its elements, of which the trace has a rounded mean.
        total += (
            n * sent_bytes(op, SampledCall(call, {flow.count: element})) * mean * whatif.nbytes(call.place)
        )
    return total


def _mean_of_site(trace: Trace, leaf: Event, name: str) -> float | None:
    histogram = histogram_of(trace.ops[leaf.op], leaf, name)
    bins = counts_of(histogram) if histogram else ()
    return Weighted.of(bins).mean if bins else None


def compare_totals(trace: Trace, totals: ReplaySummary, whatif: WhatIf) -> list[dict[str, Any]]:
    """Return a row for each operation with other calls than the trace, or bytes beyond the tolerance."""
    ncalls, nbytes = expected_totals(trace, whatif)
    rows = []
    for op in sorted({*ncalls, *totals.calls}):
        was, now = nbytes.get(op, 0.0), totals.sent.get(op, 0)
        if ncalls[op] != totals.calls.get(op, 0) or abs(was - now) > TOLERANCE * was:
            amounts = {"calls_recorded": ncalls[op], "calls_replayed": totals.calls.get(op, 0)}
            sizes = {"bytes_recorded": round(was), "bytes_replayed": now}
            rows.append({"op": op, "communicator": "all", "ranks": "all", **amounts, **sizes})
    return rows
