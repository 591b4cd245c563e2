"""The tables of predictions, as in `scalatrace.report.columns`: simulations, models, tests of runs."""

from __future__ import annotations

from scalatrace.report.columns import OPERATION, SITE
from scalatrace.report.tables import Column, Table

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
        Column(
            "compute_ns",
            "computation",
            "ns",
            "computation before the calls, all ranks",
            exact=False,
            page_heading="computation before",
        ),
        Column("in_mpi", None, "share", exact=False, derived=True, page_heading="in MPI, of the run"),
        Column(
            "path_calls", None, "share", exact=False, derived=True, page_heading="calls on the longest path"
        ),
        Column("path_compute", None, "share", exact=False, derived=True, page_heading="computation on it"),
        Column("of_path", "path share", "share", exact=False, derived=True),
        Column("path_ns", None, "ns", "part of the longest path", exact=False),
        Column("end_ns", "end", "ns", "end of the rank", exact=False),
    ),
)  # fmt: skip

SIMULATED_BY = {
    "site": SIMULATED.without("rank", "end_ns"),
    "operation": SIMULATED.without("call site", "rank", "end_ns"),
    "rank": SIMULATED.only("rank", "transfer_ns", "waiting_ns", "compute_ns", "end_ns"),
}
"""Columns by what a row is."""
PREDICTED_SITES = SIMULATED.only(
    "operation",
    "call site",
    "calls",
    "transfer_ns",
    "waiting_ns",
    "in_mpi",
    "compute_ns",
    "path_calls",
    "path_compute",
)
"""Columns of the page; times are per rank."""

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
        Column("share", "share", "share", derived=True),
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
        Column("over_recorded", "over recorded", "share", exact=False, derived=True),
    ),
)

TESTS = Table(
    "test",
    (
        Column("factor", "factor", "place", "call site and kind of time, total, or several"),
        Column("nnew", "mean of the last", meaning="new runs", page_heading="new runs"),
        Column("nreference", "n", "count", "runs of the history", shown=str, page_heading="history"),
        Column("reference", "before", "ns", "mean of the history; ns for traces"),
        Column("new", "now", "ns", "mean of the new runs"),
        Column("change", "change", "share", "new / reference - 1", shown=lambda change: f"{change:+.2%}"),
        Column("expected", "expected", "ns", derived=True),
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
TESTS_OF_PAGE = TESTS.without("low", "high", "detectable")
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
        Column("per_kb_ns", "per kB", "ns", derived=True),
        Column("gap_ns", "gap", "ns", "between messages"),
        Column("send_overhead_ns", "send", "ns"),
        Column("recv_overhead_ns", "recv", "ns"),
        Column("send_overhead_per_byte_ns", None, "ns"),
        Column("recv_overhead_per_byte_ns", None, "ns"),
        Column("relative_noise", "noise", "share", "standard deviation over mean"),
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
