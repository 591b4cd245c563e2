"""The tables that commands print: each column once, for text, JSON, CSV, help and the page.

Columns of times end with `_ns` or `_s`. Unknown values are empty in CSV, and null in JSON.
"""

from __future__ import annotations

from scalatrace.report.tables import Column, Table

_BEYOND_MEANING = "beyond the shortest call at the same place: at most so much was waiting"

OPERATION = Column("operation", "operation", "operation", "without MPI_")
SITE = Column("call site", "call site", "site", "innermost frame outside wrappers of MPI")
_FRAME = Column("call site", "call site", "site", "innermost frame")

STATS = Table(
    "operation, call site or rank",
    (
        OPERATION,
        SITE,
        Column("rank", "rank", meaning="with --by rank"),
        Column("calls", "calls", "count", "of all ranks"),
        Column("bytes_sent", "sent", "bytes", "handed to MPI"),
        Column("bytes_received", "received", "bytes", "room made for them", min_width=122),
        Column("mpi_ns", "MPI time", "ns", "in the calls", whole=True),
        Column("mpi_ns_mean", "mean", "ns", "of a call", whole=True),
        Column(
            "mpi_ns_max", "max", "ns", "of the longest call, within 3 %", False, whole=True, min_width=122
        ),
        Column("beyond_shortest_ns", "beyond min", "ns", _BEYOND_MEANING, False, whole=True, min_width=122),
        Column("of_mpi", "of MPI", "share", text_only=True),
        Column("of_all", "of all", "share", text_only=True, min_width=122),
        Column(
            "compute_ns",
            "compute before",
            "ns",
            "in the computation before the calls",
            whole=True,
            min_width=122,
        ),
    ),
)
AMOUNTS = STATS.only(
    "calls", "bytes_sent", "bytes_received",
    "mpi_ns", "mpi_ns_mean", "mpi_ns_max", "beyond_shortest_ns", "compute_ns",
)  # fmt: skip
"""Columns of STATS for scripts, without the keys."""
TIMES = AMOUNTS.without("calls", "bytes_sent", "bytes_received")
WHOLE_TIMES = TIMES.only("mpi_ns", "compute_ns")
COMPARED_AMOUNTS = AMOUNTS.only("calls", "bytes_sent", "mpi_ns", "compute_ns")

MEASURES = Table(
    "statistic of `record --stat`",
    (
        Column("stat", "measured"),
        OPERATION,
        SITE,
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
        Column("of_mpi", "of MPI", "share", text_only=True),
        Column("beyond_shortest_ns", "beyond min", "ns", _BEYOND_MEANING, False, whole=True),
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
        Column("left_calls", "calls -", "count", "of all ranks, left trace", min_width=100),
        Column("right_calls", "calls +", "count", "right trace", min_width=100),
        Column("left_bytes_sent", "sent -", "bytes", "handed to MPI, left trace", min_width=130),
        Column("right_bytes_sent", "sent +", "bytes", "right trace", min_width=130),
        Column("left_mpi_ns", "MPI time -", "ns", "in the calls, left trace"),
        Column("right_mpi_ns", "MPI time +", "ns", "right trace"),
        Column("time_ratio", "ratio", "ratio", "right_mpi_ns / left_mpi_ns, per rank"),
        Column("left_compute_ns", None, "ns", "in the computation before the calls, left trace"),
        Column("right_compute_ns", None, "ns", "right trace"),
    ),
)
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

SIMULATED = Table(
    "call site, operation or rank",
    (
        OPERATION,
        SITE,
        Column("rank", "rank", "count", "with --by rank", shown=str),
        Column("calls", "calls", "count", "of all ranks"),
        Column("transfer_ns", "transfer", "ns", "time of messages in the calls, all ranks", exact=False),
        Column(
            "waiting_ns", "waiting", "ns", "time in the calls without any transfer, all ranks", exact=False
        ),
        Column("compute_ns", "compute before", "ns", "computation before the calls, all ranks", exact=False),
        Column("of_path", "of path", "share", exact=False, text_only=True),
        Column("path_ns", None, "ns", "part of the longest path", exact=False),
        Column("end_ns", "end", "ns", "end of the rank", exact=False),
    ),
)

SIMULATED_BY = {
    "site": SIMULATED.without("rank", "end_ns"),
    "operation": SIMULATED.without("call site", "rank", "end_ns"),
    "rank": SIMULATED.only("rank", "transfer_ns", "waiting_ns", "compute_ns", "end_ns"),
}
"""Columns by what a row is."""

OPERATION_MODELS = Table(
    "operation and algorithm",
    (
        Column("operation", "operation"),
        Column("algorithm", "algorithm"),
        Column("asymptotic", "growth"),
        Column("dominant", "dominant"),
        Column("exact", "exact"),
        Column("upper", "upper bound"),
    ),
)
MESSAGE_RANGES = Table(
    "range of message sizes",
    (
        Column("sizes", "messages"),
        Column("alpha_ns", "alpha", "ns"),
        Column("beta_ns", "beta", "ns", shown=lambda ns: f"{ns:.4g} ns/B"),
    ),
)
MODEL_TIMES = Table(
    "operation, size and number of ranks",
    (
        Column("operation", "operation", meaning="message, or a collective operation"),
        Column("algorithm", "algorithm"),
        Column("chosen", meaning="whether the platform uses this algorithm"),
        Column("nbytes", "bytes", "bytes", "size"),
        Column("nranks", "ranks", "count", "ranks"),
        Column("exact_ns", "time", "ns", "time by the exact formula"),
        Column("upper_ns", "upper bound", "ns", "upper bound"),
        Column("fastest", "fastest", meaning="algorithm with the lowest upper bound"),
        Column("fastest_ns", None, "ns", "its upper bound"),
    ),
)
MODEL_TERMS = Table(
    "call of a program (--trace) and number of ranks",
    (
        Column("grid", meaning="of the ranks"),
        Column("nranks", meaning="ranks"),
        Column("op", "call", meaning="operation"),
        Column("site", "site", "site", "innermost frame"),
        Column("calls", "calls", meaning="formula of the number of calls"),
        Column("each", "each, ns", meaning="formula of the time of a call, ns"),
        Column("time_ns", "time", "ns", "all calls of the busiest rank"),
        Column("share", "share", "share", text_only=True),
    ),
)
MODEL_SIZES = Table(
    "number of ranks",
    (
        Column("nranks", "ranks", "count"),
        Column("grid", "grid"),
        Column("time_ns", "time", "ns"),
        Column("place", "rank"),
    ),
)

INTERVALS = Table(
    "call that ends intervals of computation",
    (
        Column("op", "ends with", "operation"),
        Column("site", "call site", "site"),
        Column("count", "intervals", "count"),
        Column("mean_ns", "mean", "ns"),
        Column("slowest_ns", "slowest", "ns", exact=False),
        Column("over_mean", "over mean", "share", exact=False),
    ),
)
SLOWEST = Table(
    "method and number of ranks",
    (
        Column("method", "method", meaning="pooled, resampled, inter-node or intra-node"),
        Column("nranks", "ranks", "count", "ranks"),
        Column(
            "median_ns",
            "computation of the slowest",
            "ns",
            "computation of the slowest rank",
            exact=False,
        ),
        Column("low_ns", "95 % from", "ns", "95 % interval", exact=False),
        Column("high_ns", "to", "ns", "95 % interval", exact=False),
        Column("over_recorded", "over recorded", "share", exact=False, text_only=True),
    ),
)

TESTS = Table(
    "test",
    (
        Column("factor", "factor", "place", "call site and kind of time, total, or several"),
        Column("nnew", "mean of the last", meaning="new runs"),
        Column("nreference", "n", "count", "runs of the history", shown=str),
        Column("reference", "before", "ns", "mean of the history; ns for traces"),
        Column("new", "now", "ns", "mean of the new runs"),
        Column("change", "change", "share", "new / reference - 1", shown=lambda change: f"{change:+.2%}"),
        Column("expected", "expected", "ns", text_only=True),
        Column("low", None, "ns", "fluctuation interval"),
        Column("high", None, "ns", "fluctuation interval"),
        Column(
            "likelihood", "likelihood", "share", "of such a mean, if nothing changed",
            shown=lambda likelihood: f"{likelihood:.2g}",
        ),
        Column("detectable", None, "share", "least increase that these runs show; empty for several factors"),
        Column("result", "result", meaning="slower, faster or as before"),
    ),
)  # fmt: skip
SHOWN_TESTS = TESTS.only(
    "nnew", "factor", "nreference", "reference", "new", "change", "expected", "likelihood", "result"
)
"""Columns in text."""
RUNS = Table(
    "run",
    (
        Column("run", "run"),
        Column("run_time_ns", "run time", "ns", exact=False),
        Column("parallel_efficiency", "parallel efficiency", "share", exact=False),
        Column("load_balance", "load balance", "share", exact=False),
        Column("communication_efficiency", "communication efficiency", "share", exact=False),
        Column("prediction", "slowest", "ns", exact=False),
    ),
)

SEGMENTS = Table(
    "segment of message sizes",
    (
        Column("level", meaning="memory: within a node, network: between nodes"),
        Column("from_bytes", "from", "bytes", "smallest message"),
        Column("latency_ns", "latency", "ns"),
        Column("per_byte_ns", None, "ns", "time per byte in the network"),
        Column("per_kb_ns", "per kB", "ns", text_only=True),
        Column("gap_ns", "gap", "ns", "between messages"),
        Column("send_overhead_ns", "send", "ns"),
        Column("recv_overhead_ns", "recv", "ns"),
        Column("send_overhead_per_byte_ns", None, "ns"),
        Column("recv_overhead_per_byte_ns", None, "ns"),
        Column("relative_noise", "noise", "share", "standard deviation over mean"),
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
        Column("mean_s", "mean", "s", text_only=True),
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

ACCOUNT = Table(
    "operation and treatment (simulators)",
    (
        Column("operation", "operation", "operation", "with MPI_"),
        Column("outcome", "outcome", meaning="kept, lowered or lost"),
        Column("treatment", "treatment", meaning="what stands for the calls"),
        Column("calls", "calls", "count", "of all ranks"),
        Column("bytes", "sent", "bytes", "sent"),
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
        Column("call", "call", text_only=True),
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
        Column("call", "call", text_only=True),
        Column("op", meaning="operation"),
        Column("site", meaning="innermost frame"),
        Column("dropped", "dropped", "count", "calls of all ranks"),
        Column("share", "of all", "share", "of all calls of the trace", shown="{:.2%}".format),
        Column("by_rank", "ranks", "count", shown=lambda by_rank: str(len(by_rank)), text_only=True),
        Column("reason", "why"),
    ),
)
SUGGESTIONS = Table(
    "size to record, with --suggest",
    (Column("ranks", meaning="number of ranks"), Column("grid", meaning="of the ranks")),
)
