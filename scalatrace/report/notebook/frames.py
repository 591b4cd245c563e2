"""Tables of a trace as pandas DataFrames.

pandas is an extra: pip install 'scalatrace[pandas]'. Times are in ns, sizes in bytes, ranks are world ranks.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from scalatrace.errors import UsageError
from scalatrace.operations import operation, received_bytes, sent_bytes
from scalatrace.report.columns import TIME_DIFFERENCES
from scalatrace.report.costs.rows import KEYS, RANK, by_node, by_rank
from scalatrace.report.notebook.compared_runs import COMPARED, compared
from scalatrace.report.notebook.drawing import check_choice
from scalatrace.report.notebook.scaled_runs import scaled
from scalatrace.trace.exchange.matrix import pair_table
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.summaries import bytes_estimated

if TYPE_CHECKING:
    import pandas as pd

    from scalatrace.trace.model.trace import Trace

__all__ = ["compare_frame", "events_frame", "matrix_frame", "scaling_frame", "stats_frame"]


def events_frame(trace: Trace, rank: int, limit: int | None = None) -> pd.DataFrame:
    """Return the calls of a rank in order, one a row.

    Columns: `op`; `peer` (world rank; missing without one, or for a wildcard); `sent` and `received` in bytes
    (missing where the sizes were not kept); `tag`; `compute_ns` before the call and `comm_ns` in it, both
    means of the calls at this place after the same predecessor; `site`, the innermost frame.

    Args:
        limit: the first so many calls; None: all.

    Raises:
        UsageError: the rank is not in the trace, or pandas is missing.
    """
    pandas = _pandas()
    rows = list(map(_event, islice(trace.walk(rank), limit)))
    frame = pandas.DataFrame(rows, columns=["op", "peer", "sent", "received", "tag", COMPUTE, COMM, "site"])
    return frame.astype({"peer": "Int64", "sent": "Int64", "received": "Int64", "tag": "Int64"})


def _event(call: Call) -> tuple[Any, ...]:
    times = (None if (mean := call.stat(name)) is None else mean.mean for name in (COMPUTE, COMM))
    tag = call.raw("tag") if "tag" in call else -1
    is_exact = not bytes_estimated(call.place.trace, call.node)
    moved = (sent_bytes(call.op, call), received_bytes(call.op, call)) if is_exact else (None, None)
    return call.op, _peer(call), *moved, tag if tag >= 0 else None, *times, call.site


def _peer(call: Call) -> int | None:
    for name in operation(call.op).peers:
        if name in call and 0 <= (peer := call.raw(name)) < len(call.comm.peers):
            world = call.comm.world(peer)
            return world if world >= 0 else None
    return None


def stats_frame(trace: Trace, by: str = "op") -> pd.DataFrame:
    """Return calls, bytes and times as `scalatrace stats --by` prints them, over all ranks.

    Columns: `operation`, with "site" also `call site`, or `memory`, or `rank`; `calls`; `bytes_sent`,
    `bytes_received`; `mpi_ns`, `mpi_ns_mean`, `mpi_ns_median`, `mpi_ns_max`, `beyond_shortest_ns`,
    `compute_ns`. Unknown numbers are missing. Times of start-up and shut-down are left out: `trace.phases`
    has them.

    Raises:
        UsageError: `by` is not "op", "site", "memory", "thread" or "rank", or pandas is missing.
        LimitError: very many ranks have different parameters or trip counts.
    """
    if by not in (*KEYS, RANK):
        raise UsageError(f"by={by!r}: give {', '.join(map(repr, (*KEYS, RANK)))}")
    pandas = _pandas()
    names = (RANK,) if by == RANK else KEYS[by][0]
    trace = trace.without_phases
    rows = by_rank(trace) if by == RANK else by_node(trace, by)
    return pandas.DataFrame([row.plain(names) for row in rows])


def matrix_frame(trace: Trace, what: str = "bytes", calls: str = "all") -> pd.DataFrame:
    """Return the communicating pairs of ranks: `sender`, `receiver`, and `bytes` or `messages`.

    Args:
        calls: "p2p": messages only; "collective": collectives that say who sends to whom; "all".

    Raises:
        UsageError: an unknown measure, or pandas is missing; and as `trace.exchange.matrix.pair_table`.
        LimitError: very many ranks or different calls.
    """
    pandas = _pandas()
    table = pair_table(trace, what, calls)
    columns = {"sender": table.senders, "receiver": table.receivers, what: table.amounts}
    return pandas.DataFrame(columns)


def compare_frame(trace: Trace, after: Trace, by: str = "site") -> pd.DataFrame:
    """Return the computation and calls whose times differ between two runs, the largest differences first.

    Columns: `time`: "computation", or "in" an operation; `place`; `left_ns`, `right_ns`: before and after,
    means of a rank; `difference_ns`; `time_ratio`;
    `share_of_difference`, of all times that differ. Unknown numbers are missing.

    Raises:
        UsageError: `by` is not "site" or "op", or pandas is missing.
    """
    check_choice("by", by, COMPARED)
    pandas = _pandas()
    return pandas.DataFrame(compared(trace, after, by).times(), columns=list(TIME_DIFFERENCES.names))


def scaling_frame(trace: Trace, others: Iterable[Trace], weak: bool | None = None) -> pd.DataFrame:
    """Return the POP efficiencies of runs on several numbers of ranks, one run a row, ascending.

    Columns: `ranks`, `run_time_ns`, `speedup`, `efficiency` (speed-up over that of perfect scaling),
    `global_efficiency`, `parallel_efficiency`, `load_balance`, `communication_efficiency`, `serialisation`,
    `transfer`, `computation_scalability`; `scalatrace.report.scaling.runs` defines them. Unknown ones are
    missing.

    Args:
        weak: the work of a rank is the same in all runs; None: judged.

    Raises:
        UsageError: no other run, two of one number of ranks, one has no times, or pandas is missing.
    """
    pandas = _pandas()
    return pandas.DataFrame(scaled([trace, *others], weak).efficiencies)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise UsageError("tables need pandas: pip install 'scalatrace[pandas]'") from None
    return pandas
