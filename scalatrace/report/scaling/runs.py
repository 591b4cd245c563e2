"""Times of runs on several numbers of ranks, and efficiencies as the POP centre of excellence defines them.

    global efficiency        = parallel efficiency * computation scalability
    parallel efficiency      = load balance * communication efficiency
    communication efficiency = serialisation * transfer
    serialisation            = largest computation of a rank / run time on a network that takes no time
    transfer                 = run time on a network that takes no time / run time
    computation scalability  = computation of all ranks in the smallest run / that in this one

In weak scaling the computation of the smallest run counts as often as there are more ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import log

from scalatrace.errors import LimitError, UsageError
from scalatrace.operations import COLLECTIVES, SENDING, operation, sent_bytes
from scalatrace.report.costs.efficiency import TimeParts, efficiency, run_time, time_parts
from scalatrace.report.costs.rows import whole_time
from scalatrace.report.style import coarse, coarse_percent, number
from scalatrace.trace.model.elastic import Groups, at
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.oversubscription import knows_cores, oversubscription_note
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.summaries import byte_parameters
from scalatrace.trace.query.traffic import RankTraffic, traffic_by_class
from scalatrace.trace.symbolic.origin import EXTRAPOLATED
from scalatrace.trace.values.vec import PROC_NULL

__all__ = [
    "GRADES", "ScalingKind", "ScalingRun", "check_sizes", "do_same_steps",
    "efficiency_rows", "grade", "kind_of_scaling",
    "scaling_run", "size_of_most_bytes",
]  # fmt: skip

MAX_SIZES = 1024
"""Different calls of an event node and rank whose sizes are distinguished."""

MAX_STRONG_EXPONENT, MIN_WEAK_EXPONENT = 0.3, 0.7
"""Exponents of the number of ranks with which the work of all ranks grows in strong and in weak scaling."""

GRADES = (("good", 0.8), ("middling", 0.6), ("worse", 0.0))
"""Grades of an efficiency, each with the value from which on it counts."""


@dataclass(frozen=True)
class ScalingRun:
    """A run; times in ns.

    Attributes:
        run_time_ns: of the longest rank, else the mean.
        compute_ns, comm_ns: means of the ranks; None: not measured, or of several threads.
        most_compute_ns: the largest computation of a rank; None: not known.
        ideal_ns: run time on a network that takes no time; None: it was not simulated.
        shared_cores: why times contain waiting for cores; "": they do not.
        program: with its arguments.
        cores_known: whether ranks and cores of the hosts were recorded.
        extrapolated: times were fitted, not measured.
        calls, messages, collectives: number of all calls, of sent messages, and of collective calls of a rank
            (mean); None: not counted. Those of persistent requests count where they are started.
        bytes_sent: bytes in the messages of a rank (mean); None: not counted.
        typical_bytes: half of all bytes are in messages that are no smaller; None: there are none.
    """

    name: str
    nranks: int
    run_time_ns: float
    compute_ns: float | None
    comm_ns: float | None
    most_compute_ns: float | None
    ideal_ns: float | None
    shared_cores: str
    program: str
    extrapolated: bool = False
    calls: float | None = None
    messages: float | None = None
    collectives: float | None = None
    bytes_sent: float | None = None
    typical_bytes: float | None = None
    cores_known: bool = True

    @property
    def message_bytes(self) -> float | None:
        """Mean size of the messages; None: there are none, or not counted."""
        return self.bytes_sent / self.messages if self.messages and self.bytes_sent is not None else None

    @property
    def parts(self) -> TimeParts | None:
        """Parts of the run time; None: not known, or they contain waiting for cores."""
        if self.compute_ns is None or self.shared_cores:
            return None
        return time_parts(self.run_time_ns, self.compute_ns, self.most_compute_ns, self.ideal_ns, False)


def scaling_run(trace: Trace, name: str, ideal_ns: float | None) -> ScalingRun:
    """Return the times of a trace.

    Raises:
        UsageError: it has no times.
    """
    trace = trace.without_phases
    total = whole_time(trace)
    times = efficiency(trace, total)
    time = run_time(trace, total, times)
    if not time.ns:
        raise UsageError(f"{name}: the trace has no times, so runs cannot be compared; record it with times")
    n, counts = len(trace.ranks), _counts(trace)
    compute_ns, comm_ns = (
        None if time.is_elapsed or ns is None else ns / n for ns in (total.compute_ns, total.comm_ns)
    )
    return ScalingRun(
        name,
        trace.nprocs,
        time.ns,
        compute_ns,
        comm_ns,
        None if times is None else float(times.compute_ns.max()),
        ideal_ns,
        oversubscription_note(trace.meta),
        trace.meta.get("program", ""),
        EXTRAPOLATED in trace.meta,
        **counts,
        cores_known=EXTRAPOLATED in trace.meta or knows_cores(trace.meta),
    )


def grade(efficiency: float | None) -> str:
    """Return the name of an efficiency's grade; "": not known."""
    return "" if efficiency is None else next(name for name, least in GRADES if efficiency >= least)


def _counts(trace: Trace) -> dict[str, float | None]:
    """Return the counts of a rank by the names of a ScalingRun; {}: they are not countable."""
    sums = dict.fromkeys(("calls", "messages", "collectives", "bytes_sent"), 0)
    bytes_by_size: Counter[float] = Counter()
    try:
        for part in traffic_by_class(trace):
            row, n = operation(part.op), len(part.ranks)
            received = n - _count_without_receiver(trace, part)
            sums["calls"] += n * part.calls
            if row.category in COLLECTIVES:
                sums["collectives"] += n * part.times
            elif row.category in SENDING and row.sends and part.times and received:
                sums["messages"] += received * part.times
                sums["bytes_sent"] += received * part.sent
                for size, total in _bytes_by_size(trace, part):
                    bytes_by_size[size] += received * total
    except (LimitError, UsageError):
        return {}
    means: dict[str, float | None] = {name: total / len(trace.ranks) for name, total in sums.items()}
    return {**means, "typical_bytes": size_of_most_bytes(bytes_by_size)}


def _bytes_by_size(trace: Trace, part: RankTraffic) -> list[tuple[float, int]]:
    """Return sizes of a rank's messages, and the bytes in these; of very many sizes, their mean."""
    sizes: list[tuple[int, int]] = []
    if part.calls and trace.ops[part.event.op].name == part.op:
        calls = counted_calls(trace, part.event, part.ranks.first, part.calls, byte_parameters)
        sizes = [(sent_bytes(part.op, call), n) for call, n in islice(calls, MAX_SIZES + 1)]
    if not 0 < len(sizes) <= MAX_SIZES:
        return [(part.sent / part.times, part.sent)]
    return [(size, size * n) for size, n in sizes]


def _count_without_receiver(trace: Trace, part: RankTraffic) -> int:
    """Return the number of ranks whose messages of a call go to MPI_PROC_NULL."""
    op, schema = operation(part.op), trace.ops[part.event.op]
    if op.sends is None or schema.name != part.op:
        return 0
    for (name, _), param in zip(schema.params, part.event.params, strict=True):
        if name != op.sends.peer or not isinstance(param, Peer):
            continue
        if isinstance(param.value, Groups):
            nowhere = [ranks for ranks, peer in param.value.groups if peer.constant == PROC_NULL]
            return sum(len(ranks & part.ranks) for ranks in nowhere)
        value = at(param.value, part.ranks.first)
        return len(part.ranks) if value is not None and value.constant == PROC_NULL else 0
    return 0


def size_of_most_bytes(bytes_by_size: Mapping[float, int | Fraction]) -> float | None:
    """Return the size for which half of all bytes are in messages that are no smaller; None: no bytes."""
    total, above = sum(bytes_by_size.values()), Fraction()
    for size in sorted(bytes_by_size, reverse=True):
        above += bytes_by_size[size]
        if 2 * above >= total and size:
            return size
    return None


def check_sizes(runs: Sequence[ScalingRun]) -> None:
    """Raise UsageError unless there are two runs or more, each on another number of ranks."""
    for before, run in pairwise(runs):
        if before.nranks == run.nranks:
            raise UsageError(
                f"{before.name} and {run.name} both have {run.nranks} ranks: give one run of each number of "
                "ranks; scalatrace regress compares runs of one number"
            )


def efficiency_rows(runs: Sequence[ScalingRun], weak: bool) -> list[dict[str, float | None]]:
    """Return the efficiencies of each run, speed-up included; None: not known.

    Args:
        runs: ascending by ranks. The first one is the base.
    """
    first = runs[0]
    rows = []
    for run in runs:
        factor = run.nranks / first.nranks
        parallel = run.compute_ns / run.run_time_ns if run.compute_ns else None
        scalability = balance = communication = None
        if first.compute_ns and run.compute_ns:
            scalability = first.compute_ns / (run.compute_ns if weak else run.compute_ns * factor)
        if run.most_compute_ns and run.compute_ns:
            balance, communication = (
                run.compute_ns / run.most_compute_ns,
                run.most_compute_ns / run.run_time_ns,
            )
        parts = run.parts
        speedup = first.run_time_ns / run.run_time_ns * (factor if weak else 1)
        rows.append({
            "ranks": run.nranks,
            "run_time_ns": run.run_time_ns,
            "speedup": speedup,
            "efficiency": speedup / factor,
            "global_efficiency": None if scalability is None or parallel is None else parallel * scalability,
            "parallel_efficiency": parallel,
            "load_balance": balance,
            "communication_efficiency": communication,
            "serialisation": parts.serialisation if parts else None,
            "transfer": parts.transfer_efficiency if parts else None,
            "computation_scalability": scalability,
        })  # fmt: skip
    return rows


@dataclass(frozen=True)
class ScalingKind:
    """Whether the work of all ranks stays (strong scaling) or grows with them (weak scaling).

    Attributes:
        name: "strong", "weak", or "" if neither is clear.
        reason: the evidence, as text.
    """

    name: str
    reason: str


MAX_WEAK_SIZE_EXPONENT = 0.1
"""Exponent of the number of ranks with which messages grow or shrink in weak scaling, at most."""


MAX_STEP_RATIO = 2.0
"""Ratio of the collective calls of a rank in two runs, up to which both may do the same steps."""


def do_same_steps(runs: Sequence[ScalingRun]) -> bool:
    """Return whether the collective calls of a rank are about as many in all runs, if there are any."""
    fewest, most = _collective_calls(runs)
    return most <= MAX_STEP_RATIO * fewest


def _collective_calls(runs: Sequence[ScalingRun]) -> tuple[float, float]:
    """Return the fewest and the most collective calls of a rank; 0, 0: no run has any."""
    counts = [run.collectives for run in runs if run.collectives] or [0.0]
    return min(counts), max(counts)


def kind_of_scaling(runs: Sequence[ScalingRun]) -> ScalingKind:
    """Judge by the computation of all ranks and the sizes of messages; on shared cores, by these alone.

    Runs of a fixed time do more steps the faster they are: they are of no kind.
    """
    first, last = runs[0], runs[-1]
    if not do_same_steps(runs):
        fewest, most = (number(coarse(count)) for count in _collective_calls(runs))
        return ScalingKind(
            "", f"a rank makes {fewest} to {most} collective calls, so the runs may not do the same steps"
        )
    growth = log(last.nranks / first.nranks)
    by_messages = by_computation = None
    if first.typical_bytes and last.typical_bytes:
        power = log(last.typical_bytes / first.typical_bytes) / growth
        name = "weak" if abs(power) < MAX_WEAK_SIZE_EXPONENT else "strong" if power < 0 else ""
        change = coarse_percent(last.typical_bytes / first.typical_bytes)
        by_messages = ScalingKind(
            name, f"typical messages of the largest run have {change} of the size in the smallest"
        )
    if not any(run.shared_cores for run in runs) and first.compute_ns and last.compute_ns:
        power = log(last.compute_ns * last.nranks / (first.compute_ns * first.nranks)) / growth
        name = "strong" if power < MAX_STRONG_EXPONENT else "weak" if power > MIN_WEAK_EXPONENT else ""
        by_computation = ScalingKind(name, f"the computation of all ranks grows as P^{coarse(power):g}")
    if by_computation and by_messages and {by_computation.name, by_messages.name} == {"weak", "strong"}:
        return ScalingKind("", f"{by_computation.reason}, but {by_messages.reason}")
    return by_computation or by_messages or ScalingKind("", "neither computation nor messages say so")
