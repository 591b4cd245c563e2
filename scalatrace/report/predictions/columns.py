"""The tables of predictions, as in `scalatrace.report.columns`: simulations, models, tests, rules of MPI."""

from __future__ import annotations

from scalatrace.report.columns import OPERATION, SITE
from scalatrace.report.tables import CommandTable, TableColumn


def _signed_share(share: float | None) -> str:
    return "" if share is None else f"{share:+.1%}"


def _yes_or_no(value: bool) -> str:
    return "yes" if value else ""


SIMULATED = CommandTable(
    "call site, operation or rank",
    (
        OPERATION,
        SITE,
        TableColumn("rank", "rank", "count", "with --by rank", shown=str),
        TableColumn("calls", "calls", "count", "of all ranks"),
        TableColumn("transfer_ns", "transfer", "ns", "time of messages in the calls, all ranks", exact=False),
        TableColumn(
            "waiting_ns", "waiting", "ns", "time in the calls without any transfer, all ranks", exact=False
        ),
        TableColumn(
            "compute_ns",
            "computation",
            "ns",
            "computation before the calls, all ranks",
            exact=False,
            page_heading="computation before",
        ),
        TableColumn("in_mpi", None, "share", exact=False, derived=True, page_heading="in MPI, of the run"),
        TableColumn(
            "path_calls", None, "share", exact=False, derived=True, page_heading="calls on the longest path"
        ),
        TableColumn(
            "path_compute", None, "share", exact=False, derived=True, page_heading="computation on it"
        ),
        TableColumn("of_path", "path share", "share", exact=False, derived=True),
        TableColumn("path_ns", None, "ns", "part of the longest path", exact=False),
        TableColumn("end_ns", "end", "ns", "end of the rank", exact=False),
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

HOT_LINKS = CommandTable(
    "link",
    (
        TableColumn("link", "link", "text", "from one end to the other"),
        TableColumn("nbytes", "bytes", "bytes", "of the run"),
        TableColumn("busy", "busy", "share", "of the run", exact=False),
        OPERATION,
        SITE,
        TableColumn("of_bytes", "of them", "share", "bytes of this call site", exact=False),
    ),
)  # fmt: skip
"""Links that are busy longest, with the call site that sends most of their bytes."""

OPERATION_MODELS = CommandTable(
    "operation and algorithm",
    (
        TableColumn("operation", "operation"),
        TableColumn("algorithm", "algorithm"),
        TableColumn("asymptotic", "growth"),
        TableColumn("dominant", "dominant"),
        TableColumn("exact", "exact"),
        TableColumn("upper", "upper bound"),
    ),
)
MESSAGE_RANGES = CommandTable(
    "range of message sizes",
    (
        TableColumn("sizes", "messages"),
        TableColumn("alpha_ns", "alpha", "ns"),
        TableColumn("beta_ns", "beta", "ns", shown=lambda ns: f"{ns:.4g} ns/B"),
    ),
)
MODEL_TIMES = CommandTable(
    "operation, size and number of ranks",
    (
        TableColumn("operation", "operation", meaning="message, or a collective operation"),
        TableColumn("algorithm", "algorithm"),
        TableColumn("chosen", meaning="whether the platform uses this algorithm"),
        TableColumn("nbytes", "bytes", "bytes", "size"),
        TableColumn("nranks", "ranks", "count", "ranks"),
        TableColumn("exact_ns", "time", "ns", "time by the exact formula"),
        TableColumn("upper_ns", "upper bound", "ns", "upper bound"),
        TableColumn("fastest", "fastest", meaning="algorithm with the lowest upper bound"),
        TableColumn("fastest_ns", None, "ns", "its upper bound"),
    ),
)
MODEL_SENDS = CommandTable(
    "size of a partitioned send (--partitioned)",
    (
        TableColumn("nbytes", "bytes", "bytes", "size of the buffer"),
        TableColumn("threads", "threads", "count", "threads, each with a part of the buffer"),
        TableColumn("message_ns", "message", "ns", "time of the message of a thread"),
        TableColumn("overlapped", "overlapped", meaning="mean number before the slowest thread ends"),
        TableColumn("elapsed_ns", "time after", "ns", "from the slowest thread's end to the send's"),
        TableColumn("bandwidth", "bandwidth", meaning="bytes over this time, per second (equation 4.3)"),
        TableColumn("single_ns", "single send", "ns", "time of one message with the whole buffer"),
        TableColumn("single_bandwidth", "its bandwidth", meaning="bytes over that time, per second"),
    ),
)
MODEL_TERMS = CommandTable(
    "call of a program (--trace) and number of ranks",
    (
        TableColumn("grid", meaning="of the ranks"),
        TableColumn("nranks", meaning="ranks"),
        TableColumn("op", "call", meaning="operation"),
        TableColumn("site", "site", "site", "innermost frame"),
        TableColumn("calls", "calls", meaning="formula of the number of calls"),
        TableColumn("each", "each, ns", meaning="formula of the time of a call, ns"),
        TableColumn("time_ns", "time", "ns", "all calls of the busiest rank"),
        TableColumn("upper_ns", "upper bound", "ns", "with congestion, matching queue and strided data"),
        TableColumn("share", "share", "share", derived=True),
    ),
)
MODEL_SIZES = CommandTable(
    "number of ranks",
    (
        TableColumn("nranks", "ranks", "count"),
        TableColumn("grid", "grid"),
        TableColumn("time_ns", "time", "ns"),
        TableColumn("upper_ns", "upper bound", "ns"),
        TableColumn("place", "rank"),
    ),
)

INTERVALS = CommandTable(
    "call that ends intervals of computation",
    (
        TableColumn("op", "ends with", "operation"),
        TableColumn("site", "call site", "site"),
        TableColumn("count", "intervals", "count"),
        TableColumn("mean_ns", "mean", "ns"),
        TableColumn("slowest_ns", "slowest", "ns", exact=False),
        TableColumn("over_mean", "over mean", "share", exact=False),
    ),
)
SLOWEST = CommandTable(
    "method and number of ranks",
    (
        TableColumn("method", "method", meaning="pooled, resampled, inter-node or intra-node"),
        TableColumn("nranks", "ranks", "count", "ranks"),
        TableColumn(
            "median_ns",
            "computation of the slowest",
            "ns",
            "computation of the slowest rank",
            exact=False,
        ),
        TableColumn("low_ns", "95 % from", "ns", "95 % interval", exact=False),
        TableColumn("high_ns", "to", "ns", "95 % interval", exact=False),
        TableColumn("over_recorded", "over recorded", "share", exact=False, derived=True),
    ),
)

TESTS = CommandTable(
    "test",
    (
        TableColumn("factor", "factor", "place", "call site and kind of time, total, or several"),
        TableColumn("nnew", "mean of the last", meaning="new runs", page_heading="new runs"),
        TableColumn("nreference", "n", "count", "runs of the history", shown=str, page_heading="history"),
        TableColumn("reference", "before", "ns", "mean of the history; ns for traces"),
        TableColumn("new", "now", "ns", "mean of the new runs"),
        TableColumn(
            "change", "change", "share", "new / reference - 1", shown=lambda change: f"{change:+.2%}"
        ),
        TableColumn("expected", "expected", "ns", derived=True),
        TableColumn("low", None, "ns", "fluctuation interval"),
        TableColumn("high", None, "ns", "fluctuation interval"),
        TableColumn(
            "likelihood", "likelihood", "share", "of such a mean, if nothing changed",
            shown=lambda likelihood: f"{likelihood:.2g}",
        ),
        TableColumn(
            "detectable", None, "share", "least increase that these runs show; empty for several factors"
        ),
        TableColumn("result", "result", meaning="slower, faster or as before"),
    ),
)  # fmt: skip
SHOWN_TESTS = TESTS.only(
    "nnew", "factor", "nreference", "reference", "new", "change", "expected", "likelihood", "result"
)
"""Columns in text."""
TESTS_OF_PAGE = TESTS.without("low", "high", "detectable")
RUNS = CommandTable(
    "run",
    (
        TableColumn("run", "run"),
        TableColumn("run_time_ns", "run time", "ns", exact=False),
        TableColumn("parallel_efficiency", "parallel efficiency", "share", exact=False),
        TableColumn("load_balance", "load balance", "share", exact=False),
        TableColumn("communication_efficiency", "communication efficiency", "share", exact=False),
        TableColumn("prediction", "slowest", "ns", exact=False),
    ),
)

STUDY = CommandTable(
    "setting; parameters and factors are columns, too",
    (
        TableColumn("trace", "trace"),
        TableColumn("ranks", "ranks", "count"),
        TableColumn("platform", "platform"),
        TableColumn("placement", "placement", meaning="empty: as the platform says, as mpi and network"),
        TableColumn("mpi", "mpi"),
        TableColumn("network", "network"),
        TableColumn("runs", "runs", "count", "simulations, with drawn times if there are several"),
        TableColumn("time_ns", "time", "ns", "predicted; the median of several runs", exact=False),
        TableColumn("low_ns", "from", "ns", "2.5 % of the runs are shorter", exact=False),
        TableColumn("high_ns", "to", "ns", "2.5 % of the runs are longer", exact=False),
        TableColumn("ratio", "ratio", "ratio", "to the first setting", shown="{:.4f}".format),
    ),
)

MEASURED_COLLECTIVES = CommandTable(
    "collective operation, at the size where measured and predicted time differ most",
    (
        TableColumn("operation", "operation"),
        TableColumn("ranks", "ranks", "count"),
        TableColumn("median_ratio", "measured / predicted", "ratio", "median of all sizes"),
        TableColumn("nbytes", "farthest at", "bytes"),
        TableColumn("median_ns", "measured", "ns"),
        TableColumn("predicted_ns", "predicted", "ns"),
        TableColumn("ratio", "ratio", "ratio", "of both"),
        TableColumn("algorithm", "algorithm", meaning="that the rules choose"),
        TableColumn("nearest", "nearest", meaning="another algorithm whose time is nearer"),
    ),
)

SEGMENTS = CommandTable(
    "segment of message sizes",
    (
        TableColumn("level", meaning="memory: within a node, network: between nodes"),
        TableColumn("from_bytes", "from", "bytes", "smallest message"),
        TableColumn("latency_ns", "latency", "ns"),
        TableColumn("per_byte_ns", None, "ns", "time per byte in the network"),
        TableColumn("per_kb_ns", "per kB", "ns", derived=True),
        TableColumn("gap_ns", "gap", "ns", "between messages"),
        TableColumn("send_overhead_ns", "send", "ns"),
        TableColumn("recv_overhead_ns", "recv", "ns"),
        TableColumn("send_overhead_per_byte_ns", None, "ns"),
        TableColumn("recv_overhead_per_byte_ns", None, "ns"),
        TableColumn("relative_noise", "noise", "share", "half the middle 68 % over the median"),
    ),
)

ACCOUNT = CommandTable(
    "operation and treatment (simulators)",
    (
        TableColumn("operation", "operation", "operation", "with MPI_"),
        TableColumn("outcome", "outcome", meaning="kept, lowered or lost"),
        TableColumn("treatment", "treatment", meaning="what stands for the calls"),
        TableColumn("calls", "calls", "count", "of all ranks"),
        TableColumn("bytes", "sent", "bytes", "sent"),
    ),
)

TUNED = CommandTable(
    "operation, number of ranks and size",
    (
        OPERATION,
        TableColumn("ranks", "ranks", "count", "of the communicator"),
        TableColumn("bytes", "bytes", "bytes", "of the vector, or for each rank"),
        TableColumn("calls", "calls", "count", "of a rank, on average", exact=False),
        TableColumn("default_ns", "default", "ns", "of a call, as the library decides", exact=False),
        TableColumn("algorithm", "best algorithm", "text", "empty: none was faster, or none was tried"),
        TableColumn("best_ns", "best", "ns", "of a call with it", exact=False),
        TableColumn("saving", "saving", "share", "a part of the default's time", shown=_signed_share),
        TableColumn("saving_low", "from", "share", "lower end of its interval", shown=_signed_share),
        TableColumn("saving_high", "to", "share", "upper end of its interval", shown=_signed_share),
        TableColumn("rule", "rule", "text", "whether the file has a rule for it", shown=_yes_or_no),
        TableColumn("pairs", None, "count", "measurements of default and best algorithm for the saving"),
        TableColumn("algorithms", None, "count", "algorithms that were measured, with segments and fan-outs"),
    ),
)  # fmt: skip
