"""The tables that commands print: each column once, for text, JSON, CSV, help and the page.

Columns of times end with `_ns` or `_s`. Unknown values are empty in CSV, and null in JSON.
"""

from __future__ import annotations

from scalatrace.report.tables import CommandTable, TableColumn

_WIDE = 121
"""Characters of a terminal that has room for all columns of STATS but the median."""
_WIDEST = 132
"""Characters of a terminal that has room for all columns of STATS."""

_BEYOND_MEANING = "beyond the shortest call at the same place: at most so much was waiting"

OPERATION = TableColumn("operation", "operation", "operation", "without MPI_")
SITE = TableColumn("call site", "call site", "site", "innermost frame outside wrappers of MPI")
_FRAME = TableColumn("call site", "call site", "site", "innermost frame")

STATS = CommandTable(
    "operation, call site, kind of memory, thread or rank",
    (
        OPERATION,
        SITE,
        TableColumn("memory", "memory", meaning="with --by memory: where the buffers lie"),
        TableColumn("thread", "thread", meaning="with --by thread: number by the order of first calls"),
        TableColumn("rank", "rank", meaning="with --by rank"),
        TableColumn("calls", "calls", "count", "of all ranks"),
        TableColumn("bytes_sent", "sent", "bytes", "handed to MPI"),
        TableColumn(
            "bytes_received", "received", "bytes", "room made for them",
            min_width=_WIDE, page_heading="receive buffers",
        ),
        TableColumn("mpi_ns", "MPI time", "ns", "in the calls", whole=True, page_heading="time in MPI"),
        TableColumn("rank_mpi_ns", None, "ns", derived=True, page_heading="per rank"),
        TableColumn("mpi_ns_mean", "mean", "ns", "of a call", whole=True),
        TableColumn(
            "mpi_ns_median", "median", "ns", "half of the calls take at most so long: estimated from bins",
            exact=False, whole=True, min_width=_WIDEST,
        ),
        TableColumn(
            "mpi_ns_max", "max", "ns", "of the longest call, within 3 %", exact=False, whole=True,
            min_width=_WIDE, page_heading="longest",
        ),
        TableColumn(
            "beyond_shortest_ns", "over fastest", "ns", _BEYOND_MEANING, exact=False, whole=True,
            min_width=_WIDE, page_heading="beyond shortest",
        ),
        TableColumn("of_mpi", "of MPI", "share", derived=True),
        TableColumn("of_all", "of all", "share", derived=True, min_width=_WIDE, page_heading="of all time"),
        TableColumn(
            "compute_ns", "computation", "ns", "in the computation before the calls", whole=True,
            min_width=_WIDE, page_heading="computation before",
        ),
    ),
)  # fmt: skip
AMOUNTS = STATS.only(
    "calls", "bytes_sent", "bytes_received",
    "mpi_ns", "mpi_ns_mean", "mpi_ns_median", "mpi_ns_max", "beyond_shortest_ns", "compute_ns",
)  # fmt: skip
"""Columns of STATS for scripts, without the keys."""
TIMES = AMOUNTS.without("calls", "bytes_sent", "bytes_received")
WHOLE_TIMES = TIMES.only("mpi_ns", "compute_ns")
COMPARED_AMOUNTS = AMOUNTS.only("calls", "bytes_sent", "mpi_ns", "compute_ns")

STATS_OF_SITES = STATS.only(
    "operation", "call site", "calls", "bytes_sent", "bytes_received", "mpi_ns", "rank_mpi_ns", "of_all",
    "mpi_ns_mean", "mpi_ns_median", "mpi_ns_max", "beyond_shortest_ns", "compute_ns",
)  # fmt: skip
"""Columns of the page."""

MEASURES = CommandTable(
    "statistic of `record --stat`",
    (
        TableColumn("stat", "measured"),
        OPERATION,
        SITE,
        TableColumn("memory", "memory", meaning="with --by memory"),
        TableColumn("thread", "thread", meaning="with --by thread"),
        TableColumn("samples", "samples", "count"),
        TableColumn("total", "total", "count"),
        TableColumn("mean", "mean", "count"),
        TableColumn("min", "min", "count"),
        TableColumn("max", "max", "count"),
    ),
)

COSTLIEST = CommandTable(
    "call site that costs most",
    (
        TableColumn("operation", "costs most", "operation", "without MPI_"),
        SITE,
        TableColumn("calls", "calls", "count", "of all ranks"),
        TableColumn("mpi_ns", "MPI time", "ns", "in the calls", whole=True),
        TableColumn("mpi_ns_mean", None, "ns", "of a call", whole=True),
        TableColumn("mpi_ns_max", None, "ns", "of the longest call, within 3 %", whole=True),
        TableColumn("of_mpi", "of MPI", "share", derived=True),
        TableColumn("beyond_shortest_ns", "over fastest", "ns", _BEYOND_MEANING, False, whole=True),
        TableColumn("compute_ns", None, "ns", "in the computation before the calls", whole=True),
    ),
)
PER_RANK = CommandTable(
    "quantity of ranks",
    (
        TableColumn("quantity", "per rank"),
        TableColumn("min", "min", "count"),
        TableColumn("min_ranks", "rank of min"),
        TableColumn("mean", "mean", "count"),
        TableColumn("max", "max", "count"),
        TableColumn("max_ranks", "rank of max"),
    ),
)
COMMUNICATORS = CommandTable(
    "set of communicators",
    (
        TableColumn("name", "communicators"),
        TableColumn("parent", "made from"),
        TableColumn("count", "how many", "count"),
        TableColumn("sizes", "ranks in each"),
    ),
)
PAYLOAD = CommandTable(
    "part of the payload",
    (
        TableColumn("name", "payload (before deflation)"),
        TableColumn("bytes", "bytes", "bytes"),
        TableColumn("share", "share", "share"),
    ),
)

DIFFERENCES = CommandTable(
    "operation or call site that differs",
    (
        OPERATION,
        SITE,
        TableColumn(
            "left_calls",
            "calls -",
            "count",
            "of all ranks, left trace",
            min_width=100,
            page_heading="calls A",
        ),
        TableColumn("right_calls", "calls +", "count", "right trace", min_width=100, page_heading="calls B"),
        TableColumn(
            "left_bytes_sent",
            "sent -",
            "bytes",
            "handed to MPI, left trace",
            min_width=130,
            page_heading="sent A",
        ),
        TableColumn(
            "right_bytes_sent", "sent +", "bytes", "right trace", min_width=130, page_heading="sent B"
        ),
        TableColumn(
            "left_mpi_ns", "MPI time -", "ns", "in calls of all ranks, left trace", page_heading="in MPI A"
        ),
        TableColumn("right_mpi_ns", "MPI time +", "ns", "right trace", page_heading="in MPI B"),
        TableColumn("time_ratio", "ratio", "ratio", "right_mpi_ns / left_mpi_ns, per rank"),
        TableColumn("left_compute_ns", None, "ns", "in the computation before the calls, left trace"),
        TableColumn("right_compute_ns", None, "ns", "right trace"),
    ),
)  # fmt: skip
DIFFERENCES_OF_SITES = DIFFERENCES.without("left_compute_ns", "right_compute_ns")
"""Columns of the page."""
TIME_DIFFERENCES = CommandTable(
    "computation between two calls, or call site, whose time differs",
    (
        TableColumn("time", "time", meaning="computation, or that in calls of an operation"),
        TableColumn("place", "place", "place"),
        TableColumn("left_ns", "-", "ns"),
        TableColumn("right_ns", "+", "ns"),
        TableColumn("difference_ns", "difference", "ns", min_width=100),
        TableColumn("time_ratio", "ratio", "ratio"),
        TableColumn("share_of_difference", "of difference", "share", min_width=112),
        TableColumn(
            "mostly_on",
            "mostly on",
            meaning="ranks whose total of this kind differs much more than the mean",
            min_width=132,
        ),
    ),
)
TOTALS = CommandTable(
    "sum of times",
    (
        TableColumn("sum", "time"),
        TableColumn("left_ns", "-", "ns"),
        TableColumn("right_ns", "+", "ns"),
        TableColumn("time_ratio", "ratio", "ratio"),
    ),
)

PAIRS = CommandTable(
    "pair of ranks that exchange messages",
    (
        TableColumn("sender", meaning="world rank"),
        TableColumn("receiver", meaning="world rank"),
        TableColumn("bytes", None, "bytes", "point to point, with --what bytes"),
        TableColumn("collective_bytes", None, "bytes", "in collectives"),
        TableColumn("messages", None, "count", "point to point, with --what messages"),
        TableColumn("collective_messages", None, "count", "calls of collectives"),
    ),
)

SETTINGS = CommandTable(
    "setting",
    (
        TableColumn("compute_scale", "computation", "share", "factor on computation", shown="{:.0%}".format),
        TableColumn("bytes_scale", None, "ratio", "factor on messages"),
        TableColumn("collectives", meaning="native or p2p"),
        TableColumn("median_s", None, "s", "replay time"),
        TableColumn("least_s", None, "s", "shortest replay"),
        TableColumn("most_s", None, "s", "longest replay"),
    ),
)
REPLAYED = CommandTable(
    "operation",
    (
        OPERATION,
        TableColumn("calls", "calls", "count", "of all ranks"),
        TableColumn("bytes_sent", "sent", "bytes", "handed to MPI"),
        TableColumn("mpi_s", "MPI time", "s", "in the calls, all ranks"),
        TableColumn("mean_s", "mean", "s", derived=True),
    ),
)
UNEQUAL = CommandTable(
    "operation that differs from the trace",
    (
        TableColumn("op", "operation that differs", "operation"),
        TableColumn("communicator", "communicator"),
        TableColumn("ranks", "ranks"),
        TableColumn("calls_recorded", "calls recorded", "count"),
        TableColumn("calls_replayed", "calls replayed", "count"),
        TableColumn("bytes_recorded", "bytes recorded", "count"),
        TableColumn("bytes_replayed", "bytes replayed", "count"),
    ),
)

MODULES = CommandTable(
    "program or library",
    (
        TableColumn("module", "module", meaning="its name in call sites"),
        TableColumn("path", meaning="its file; empty: not found"),
        TableColumn("frames", "call sites", "count", "call sites of the trace in it"),
        TableColumn("lines", "lines", "count", "call sites with a source line"),
        TableColumn("names", "names", "count", "call sites with the name of a function only"),
        TableColumn("note", "note", meaning="reason why names are missing"),
    ),
)

NODES = CommandTable(
    "node of the tree",
    (
        TableColumn("node", meaning="number, from 1; empty: nodes that are not shown"),
        TableColumn("parent", meaning="the loop around it; 0: none"),
        TableColumn("depth", meaning="from 1"),
        TableColumn("operation", meaning="empty for a loop"),
        TableColumn("repeat", meaning="trip count, by ranks where it differs"),
        TableColumn("ranks", meaning="that take part"),
        TableColumn("parameters", meaning="name=value"),
        _FRAME,
        TableColumn("left_out", meaning="nodes that are not shown"),
    ),
)
CALLS = CommandTable(
    "call, with --rank",
    (
        TableColumn("event", meaning="number, from 1"),
        OPERATION,
        TableColumn("parameters", meaning="name=value"),
        _FRAME,
    ),
)
UNFINISHED_CALLS = CommandTable(
    "call of some ranks",
    (
        TableColumn("ranks", "ranks"),
        TableColumn("call", "unfinished call", "place"),
        TableColumn("seconds", "since", "s"),
        TableColumn("waits for", "waits for"),
    ),
)
NOTATION = CommandTable(
    "event, with --notation",
    (
        TableColumn("event", "", meaning="its name"),
        OPERATION,
        TableColumn("parameters", "parameters", meaning="name=value"),
        _FRAME,
    ),
)

SIZES = CommandTable(
    "size",
    (
        TableColumn("ranks", meaning="number of ranks"),
        TableColumn("grid", meaning="of the ranks; empty for a trace"),
        TableColumn("conflict", meaning="first calls that do not fit together"),
        TableColumn("undetermined", meaning="reason why there is no trace of this size"),
    ),
)
FUNCTIONS = CommandTable(
    "MPI function of a program that is not recorded",
    (
        TableColumn("name", "not recorded", meaning="function"),
        TableColumn("files", "used by", meaning="program and libraries that call it", shown=", ".join),
        TableColumn("reason", "why"),
    ),
)

RESULT = CommandTable(
    "result, without the options below",
    (
        TableColumn("output", meaning="file"),
        TableColumn("ranks", meaning="ranks of the trace; empty for formulas"),
        TableColumn("grid", meaning="of the ranks"),
        TableColumn("events", meaning="calls of all ranks; empty: not counted"),
        TableColumn("nodes", meaning="of the trace"),
        TableColumn("bytes", meaning="of the file"),
    ),
)
FITTED_TIMES = CommandTable(
    "call site and time, with --timing-report",
    (
        TableColumn("call", "call", derived=True),
        TableColumn("op", meaning="operation"),
        TableColumn("site", meaning="innermost frame"),
        TableColumn(
            "stat",
            "time",
            meaning="compute_ns: before the call, comm_ns: in it",
            shown=lambda stat: "before" if stat == "compute_ns" else "inside",
        ),
        TableColumn("formula", "model", meaning="timing model, p ranks"),
        TableColumn("fit", "fit", "share", "deviation of the model from the traces", shown="{:.1%}".format),
        TableColumn("ranks", "of ranks", "count", "number of ranks that the prediction is of"),
        TableColumn("prediction", "mean", meaning="mean on so many ranks, ns"),
        TableColumn("low", meaning="95 % interval, ns"),
        TableColumn("high", meaning="95 % interval, ns"),
        TableColumn("slowest", "slowest rank", meaning="expected maximum over the ranks, ns"),
        TableColumn("slowest_low", meaning="95 % interval, ns"),
        TableColumn("slowest_high", meaning="95 % interval, ns"),
    ),
)
CHECKS = CommandTable(
    "trace, with --check",
    (
        TableColumn("left_out", "left out", meaning="the trace that the others predict"),
        TableColumn("events", "events", "count", "calls of all ranks"),
        TableColumn("ranks_differing", "differing ranks", meaning="ranks with another call than predicted"),
        TableColumn(
            "first", "first difference", meaning="first difference", shown=lambda text: text or "none"
        ),
    ),
)
LOSSES = CommandTable(
    "dropped call, with --lossy",
    (
        TableColumn("ranks", meaning="ranks of the trace"),
        TableColumn("grid", meaning="of the ranks"),
        TableColumn("call", "call", derived=True),
        TableColumn("op", meaning="operation"),
        TableColumn("site", meaning="innermost frame"),
        TableColumn("dropped", "dropped", "count", "calls of all ranks"),
        TableColumn("share", "of all", "share", "of all calls of the trace", shown="{:.2%}".format),
        TableColumn("by_rank", "ranks", "count", shown=lambda by_rank: str(len(by_rank)), derived=True),
        TableColumn("reason", "why"),
    ),
)
SUGGESTIONS = CommandTable(
    "size to record, with --suggest",
    (TableColumn("ranks", meaning="number of ranks"), TableColumn("grid", meaning="of the ranks")),
)
