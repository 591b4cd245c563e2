"""What the trace says should have happened, against what the replay did (§3.4.1)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from replay.calls.environment import SILENT
from scalatrace.ops import Category, operation, sent_bytes
from scalatrace.trace.counting import executions_of
from scalatrace.trace.walk import calls

if TYPE_CHECKING:
    from replay.result import Summary
    from scalatrace import Trace

TIMES = ("compute_ns", "comm_ns")


def recorded(trace: Trace) -> dict[str, float | None]:
    """Return the recorded time of the mean rank, computation and MPI, in seconds; None without times."""
    indices = [trace.stat_index[name] for name in TIMES if name in trace.stat_index]
    total = 0.0
    for leaf in trace.leaves():
        for stats in leaf.stats:
            for i in indices:
                h = stats.histograms[i] if i < len(stats.histograms) else None
                total += h.total * trace.stats[i].resolution if h is not None else 0.0
    return {"recorded_s": total / len(trace.ranks) / 1e9 if indices and len(trace.ranks) else None}


def expected(trace: Trace) -> tuple[Counter[str], Counter[str]]:
    """Return calls and bytes sent of each operation, over all ranks, from the compressed form."""
    ncalls: Counter[str] = Counter()
    nbytes: Counter[str] = Counter()
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            op = trace.ops[event.op].name
            if op in SILENT:
                continue
            ncalls[op] += times
            stream = calls(trace, event, rank)
            for _ in range(times):
                call = next(stream)
                each = sent_bytes(op, call)
                if call.place.constant:
                    nbytes[op] += times * each
                    break
                nbytes[op] += each
    return ncalls, nbytes


def compare(trace: Trace, summary: Summary) -> list[dict[str, Any]]:
    """Return a row for each operation whose calls or bytes differ; empty when the replay did as recorded."""
    ncalls, nbytes = expected(trace)
    rows = []
    for op in sorted({*ncalls, *summary.calls}):
        row = {
            "op": op,
            "calls_recorded": ncalls[op],
            "calls_replayed": summary.calls.get(op, 0),
            "bytes_recorded": nbytes[op],
            "bytes_replayed": summary.sent.get(op, 0),
        }
        if operation(op).category is Category.NEIGHBOUR:
            row["bytes_replayed"] = row[
                "bytes_recorded"
            ]  # the table of operations knows no number of neighbours
        if row["calls_recorded"] != row["calls_replayed"] or row["bytes_recorded"] != row["bytes_replayed"]:
            rows.append(row)
    return rows
