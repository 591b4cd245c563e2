"""Compare the calls and bytes of a replay with those of the trace (dissertation, §3.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scalatrace.operations import Category, operation, sent_bytes
from scalatrace.replay.calls.environment import SILENT
from scalatrace.replay.common.options import Options
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.walk import distinct_calls

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.result import RankResult


def recorded(trace: Trace) -> dict[str, float | None]:
    """Return the recorded time of the mean rank, computation and MPI, in seconds; None without times."""
    indices = [trace.stat_index[name] for name in (COMPUTE, COMM) if name in trace.stat_index]
    total = 0.0
    for leaf in trace.leaves():
        for stats in leaf.stats:
            for i in indices:
                h = stats.histograms[i] if i < len(stats.histograms) else None
                total += h.total * trace.stats[i].resolution if h is not None else 0.0
    return {"recorded_s": total / len(trace.ranks) / 1e9 if indices and len(trace.ranks) else None}


def expected(trace: Trace, rank: int, whatif: WhatIf) -> dict[tuple[str, int], list[int]]:
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


def compare(trace: Trace, result: RankResult, options: Options) -> list[dict[str, Any]]:
    """Return a row for each operation and communicator whose calls or bytes on a rank are not as asked."""
    recorded = expected(trace, result.rank, WhatIf(options.rules))
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
