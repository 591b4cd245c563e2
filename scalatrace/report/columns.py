"""The tables that commands print: each column once, for text, JSON, CSV, help and the page.

Columns of times end with `_ns` or `_s`. Unknown values are empty in CSV, and null in JSON.
"""

from __future__ import annotations

from scalatrace.report.tables import Column, Table

_WIDE = 121
"""Characters of a terminal that has room for all columns of STATS."""

_BEYOND_MEANING = "beyond the shortest call at the same place: at most so much was waiting"

OPERATION = Column("operation", "operation", "operation", "without MPI_")
SITE = Column("call site", "call site", "site", "innermost frame outside wrappers of MPI")
_FRAME = Column("call site", "call site", "site", "innermost frame")

STATS = Table(
    "operation, call site, kind of memory or rank",
    (
        OPERATION,
        SITE,
        Column("memory", "memory", meaning="with --by memory: where the buffers lie"),
        Column("rank", "rank", meaning="with --by rank"),
        Column("calls", "calls", "count", "of all ranks"),
        Column("bytes_sent", "sent", "bytes", "handed to MPI"),
        Column(
            "bytes_received", "received", "bytes", "room made for them",
            min_width=_WIDE, page_heading="receive buffers",
        ),
        Column("mpi_ns", "MPI time", "ns", "in the calls", whole=True, page_heading="time in MPI"),
        Column("rank_mpi_ns", None, "ns", derived=True, page_heading="per rank"),
        Column("mpi_ns_mean", "mean", "ns", "of a call", whole=True),
        Column(
            "mpi_ns_max", "max", "ns", "of the longest call, within 3 %", exact=False, whole=True,
            min_width=_WIDE, page_heading="longest",
        ),
        Column(
            "beyond_shortest_ns", "over fastest", "ns", _BEYOND_MEANING, exact=False, whole=True,
            min_width=_WIDE, page_heading="beyond shortest",
        ),
        Column("of_mpi", "of MPI", "share", derived=True),
        Column("of_all", "of all", "share", derived=True, min_width=_WIDE, page_heading="of all time"),
        Column(
            "compute_ns", "computation", "ns", "in the computation before the calls", whole=True,
            min_width=_WIDE, page_heading="computation before",
        ),
    ),
)  # fmt: skip
AMOUNTS = STATS.only(
    "calls", "bytes_sent", "bytes_received",
    "mpi_ns", "mpi_ns_mean", "mpi_ns_max", "beyond_shortest_ns", "compute_ns",
)  # fmt: skip
"""Columns of STATS for scripts, without the keys."""
TIMES = AMOUNTS.without("calls", "bytes_sent", "bytes_received")
WHOLE_TIMES = TIMES.only("mpi_ns", "compute_ns")
COMPARED_AMOUNTS = AMOUNTS.only("calls", "bytes_sent", "mpi_ns", "compute_ns")

STATS_OF_SITES = STATS.only(
    "operation", "call site", "calls", "bytes_sent", "bytes_received", "mpi_ns", "rank_mpi_ns", "of_all",
    "mpi_ns_mean", "mpi_ns_max", "beyond_shortest_ns", "compute_ns",
)  # fmt: skip
"""Columns of the page."""

MEASURES = Table(
    "statistic of `record --stat`",
    (
        Column("stat", "measured"),
        OPERATION,
        SITE,
        Column("memory", "memory", meaning="with --by memory"),
        Column("samples", "samples", "count"),
        Column("total", "total", "count"),
        Column("mean", "mean", "count"),
        Column("min", "min", "count"),
        Column("max", "max", "count"),
    ),
)

COSTLIEST = Table(
    "call site that costs most",
    (
        Column("operation", "costs most", "operation", "without MPI_"),
        SITE,
        Column("calls", "calls", "count", "of all ranks"),
        Column("mpi_ns", "MPI time", "ns", "in the calls", whole=True),
        Column("mpi_ns_mean", None, "ns", "of a call", whole=True),
        Column("mpi_ns_max", None, "ns", "of the longest call, within 3 %", whole=True),
        Column("of_mpi", "of MPI", "share", derived=True),
        Column("beyond_shortest_ns", "over fastest", "ns", _BEYOND_MEANING, False, whole=True),
        Column("compute_ns", None, "ns", "in the computation before the calls", whole=True),
    ),
)
COMMUNICATORS = Table(
    "set of communicators",
    (
        Column("name", "communicators"),
        Column("parent", "made from"),
        Column("count", "how many", "count"),
        Column("sizes", "ranks in each"),
    ),
)
PAYLOAD = Table(
    "part of the payload",
    (
        Column("name", "payload (before deflation)"),
        Column("bytes", "bytes", "bytes"),
        Column("share", "share", "share"),
    ),
)

DIFFERENCES = Table(
    "operation or call site that differs",
    (
        OPERATION,
        SITE,
        Column(
            "left_calls",
            "calls -",
            "count",
            "of all ranks, left trace",
            min_width=100,
            page_heading="calls A",
        ),
        Column("right_calls", "calls +", "count", "right trace", min_width=100, page_heading="calls B"),
        Column(
            "left_bytes_sent",
            "sent -",
            "bytes",
            "handed to MPI, left trace",
            min_width=130,
            page_heading="sent A",
        ),
        Column("right_bytes_sent", "sent +", "bytes", "right trace", min_width=130, page_heading="sent B"),
        Column("left_mpi_ns", "MPI time -", "ns", "in the calls, left trace", page_heading="MPI time A"),
        Column("right_mpi_ns", "MPI time +", "ns", "right trace", page_heading="MPI time B"),
        Column("time_ratio", "ratio", "ratio", "right_mpi_ns / left_mpi_ns, per rank"),
        Column("left_compute_ns", None, "ns", "in the computation before the calls, left trace"),
        Column("right_compute_ns", None, "ns", "right trace"),
    ),
)  # fmt: skip
DIFFERENCES_OF_SITES = DIFFERENCES.without("left_compute_ns", "right_compute_ns")
"""Columns of the page."""
COMPUTATION_DIFFERENCES = Table(
    "computation between two calls that differs",
    (
        Column("place", "computation before", "place"),
        Column("left_ns", "-", "ns"),
        Column("right_ns", "+", "ns"),
        Column("time_ratio", "ratio", "ratio"),
        Column("share_of_difference", "of difference", "share"),
    ),
)
TOTALS = Table(
    "sum of times",
    (
        Column("sum", "time"),
        Column("left_ns", "-", "ns"),
        Column("right_ns", "+", "ns"),
        Column("time_ratio", "ratio", "ratio"),
    ),
)

PAIRS = Table(
    "pair of ranks that exchange messages",
    (
        Column("sender", meaning="world rank"),
        Column("receiver", meaning="world rank"),
        Column("bytes", None, "bytes", "point to point, with --what bytes"),
        Column("collective_bytes", None, "bytes", "in collectives"),
        Column("messages", None, "count", "point to point, with --what messages"),
        Column("collective_messages", None, "count", "calls of collectives"),
    ),
)

SETTINGS = Table(
    "setting",
    (
        Column("compute_scale", "computation", "share", "factor on computation", shown="{:.0%}".format),
        Column("bytes_scale", None, "ratio", "factor on messages"),
        Column("collectives", meaning="native or p2p"),
        Column("median_s", None, "s", "replay time"),
        Column("least_s", None, "s", "shortest replay"),
        Column("most_s", None, "s", "longest replay"),
    ),
)
REPLAYED = Table(
    "operation",
    (
        OPERATION,
        Column("calls", "calls", "count", "of all ranks"),
        Column("bytes_sent", "sent", "bytes", "handed to MPI"),
        Column("mpi_s", "MPI time", "s", "in the calls, all ranks"),
        Column("mean_s", "mean", "s", derived=True),
    ),
)
UNEQUAL = Table(
    "operation that differs from the trace",
    (
        Column("op", "operation that differs", "operation"),
        Column("communicator", "communicator"),
        Column("ranks", "ranks"),
        Column("calls_recorded", "calls recorded", "count"),
        Column("calls_replayed", "calls replayed", "count"),
        Column("bytes_recorded", "bytes recorded", "count"),
        Column("bytes_replayed", "bytes replayed", "count"),
    ),
)

MODULES = Table(
    "program or library",
    (
        Column("module", "module", meaning="its name in call sites"),
        Column("path", meaning="its file; empty: not found"),
        Column("frames", "call sites", "count", "call sites of the trace in it"),
        Column("lines", "lines", "count", "call sites with a source line"),
        Column("names", "names", "count", "call sites with the name of a function only"),
        Column("note", "note", meaning="reason why names are missing"),
    ),
)

NODES = Table(
    "node of the tree",
    (
        Column("node", meaning="number, from 1; empty: nodes that are not shown"),
        Column("parent", meaning="the loop around it; 0: none"),
        Column("depth", meaning="from 1"),
        Column("operation", meaning="empty for a loop"),
        Column("repeat", meaning="trip count, by ranks where it differs"),
        Column("ranks", meaning="that take part"),
        Column("parameters", meaning="name=value"),
        _FRAME,
        Column("left_out", meaning="nodes that are not shown"),
    ),
)
CALLS = Table(
    "call, with --rank",
    (
        Column("event", meaning="number, from 1"),
        OPERATION,
        Column("parameters", meaning="name=value"),
        _FRAME,
    ),
)
NOTATION = Table(
    "event, with --notation",
    (
        Column("event", "", meaning="its name"),
        OPERATION,
        Column("parameters", "parameters", meaning="name=value"),
        _FRAME,
    ),
)

SIZES = Table(
    "size",
    (
        Column("ranks", meaning="number of ranks"),
        Column("grid", meaning="of the ranks; empty for a trace"),
        Column("conflict", meaning="first calls that do not fit together"),
        Column("undetermined", meaning="reason why there is no trace of this size"),
    ),
)
FUNCTIONS = Table(
    "MPI function of a program that is not recorded",
    (
        Column("name", "not recorded", meaning="function"),
        Column("files", "used by", meaning="program and libraries that call it", shown=", ".join),
        Column("reason", "why"),
    ),
)

RESULT = Table(
    "result, without the options below",
    (
        Column("output", meaning="file"),
        Column("ranks", meaning="ranks of the trace; empty for formulas"),
        Column("grid", meaning="of the ranks"),
        Column("events", meaning="calls of all ranks; empty: not counted"),
        Column("nodes", meaning="of the trace"),
        Column("bytes", meaning="of the file"),
    ),
)
FITTED_TIMES = Table(
    "call site and time, with --timing-report",
    (
        Column("call", "call", derived=True),
        Column("op", meaning="operation"),
        Column("site", meaning="innermost frame"),
        Column(
            "stat",
            "time",
            meaning="compute_ns: before the call, comm_ns: in it",
            shown=lambda stat: "before" if stat == "compute_ns" else "inside",
        ),
        Column("formula", "model", meaning="timing model, p ranks"),
        Column("fit", "fit", "share", "deviation of the model from the traces", shown="{:.1%}".format),
        Column("ranks", "of ranks", "count", "number of ranks that the prediction is of"),
        Column("prediction", "mean", meaning="mean on so many ranks, ns"),
        Column("low", meaning="95 % interval, ns"),
        Column("high", meaning="95 % interval, ns"),
        Column("slowest", "slowest rank", meaning="expected maximum over the ranks, ns"),
        Column("slowest_low", meaning="95 % interval, ns"),
        Column("slowest_high", meaning="95 % interval, ns"),
    ),
)
CHECKS = Table(
    "trace, with --check",
    (
        Column("left_out", "left out", meaning="the trace that the others predict"),
        Column("events", "events", "count", "calls of all ranks"),
        Column("ranks_differing", "differing ranks", meaning="ranks with another call than predicted"),
        Column("first", "first difference", meaning="first difference", shown=lambda text: text or "none"),
    ),
)
LOSSES = Table(
    "dropped call, with --lossy",
    (
        Column("ranks", meaning="ranks of the trace"),
        Column("grid", meaning="of the ranks"),
        Column("call", "call", derived=True),
        Column("op", meaning="operation"),
        Column("site", meaning="innermost frame"),
        Column("dropped", "dropped", "count", "calls of all ranks"),
        Column("share", "of all", "share", "of all calls of the trace", shown="{:.2%}".format),
        Column("by_rank", "ranks", "count", shown=lambda by_rank: str(len(by_rank)), derived=True),
        Column("reason", "why"),
    ),
)
SUGGESTIONS = Table(
    "size to record, with --suggest",
    (Column("ranks", meaning="number of ranks"), Column("grid", meaning="of the ranks")),
)
