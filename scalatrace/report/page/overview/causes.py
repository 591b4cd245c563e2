"""Why ranks wait: parts of the run time, late ranks, and the computation for which others wait.

All of it follows from the recorded run on a network that takes no time, which the caller simulates. There,
ranks wait only since others compute longer: what the recorded run takes beyond it is transfer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scalatrace.report.costs.efficiency import TimeParts, time_parts
from scalatrace.report.costs.rows import distinct_sites, short_site_text
from scalatrace.report.page.overview.summary import PageSummary
from scalatrace.report.style import coarse_duration, coarse_percent, number
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.threads import thread_count

__all__ = ["IdealRunFacts", "LateRank", "LateRankComputation", "WaitCauses", "causes_of"]

MAX_LATE_RANKS, MAX_PLACES, MAX_PAIRS, MAX_DRAWN_RANKS = 6, 3, 12, 1024
"""Late ranks that are listed, computations of each, pairs of ranks, and ranks that are drawn."""

MIN_NAMED_SHARE = 0.5
"""Part of the waiting that the named late ranks cause, at least; else it is spread."""
MAX_NAMED = 3

MIN_WAITING = 0.02
"""Part of the time of all ranks from which on waiting is explained."""


@dataclass(frozen=True)
class IdealRunFacts:
    """The recorded run on a network that takes no time.

    Attributes:
        time_ns: when the last rank ends.
        waiting_ns: [ranks] waiting of each rank, also at its end for the last rank.
        causes: rank, number of the call before which it computes, ns that others wait for it, and how many.
        waiters: rank -> ranks that wait for it.
        pairs: rank that waits, rank whose computation it waits for, ns: the largest.
        followed: part of the waiting whose causes are known.
    """

    time_ns: float
    waiting_ns: Sequence[float]
    causes: Sequence[tuple[int, int, float, int]] = ()
    waiters: Mapping[int, int] = field(default_factory=dict)
    pairs: Sequence[tuple[int, int, float]] = ()
    followed: float = 0.0


@dataclass(frozen=True)
class LateRankComputation:
    """Computation of a rank for which others wait.

    Attributes:
        node: number in the tree of the call before which it is.
        share: of all waiting.
    """

    op: str
    site: str
    node: int
    share: float


@dataclass(frozen=True)
class LateRank:
    """A rank for which others wait.

    Attributes:
        caused_ns: waiting of all other ranks for its computation.
        share: of all waiting.
        nwaiting: ranks that wait for it.
    """

    rank: int
    caused_ns: float
    share: float
    nwaiting: int
    places: tuple[LateRankComputation, ...]


@dataclass(frozen=True)
class WaitCauses:
    """Parts of the run time, and who waits for whom.

    Attributes:
        parts: of the run time; None: not known.
        late: ranks for which others wait most.
        pairs: rank that waits, rank that it waits for, ns: the largest.
        by_rank: rank, ns that it waits, ns that others wait for it; (): too many.
        followed: part of the waiting whose causes are known.
        sentence: the result; `who` is its last part, on the ranks that others wait for, or "".
    """

    parts: TimeParts | None
    late: tuple[LateRank, ...]
    pairs: tuple[tuple[int, int, float], ...]
    by_rank: tuple[tuple[int, float, float], ...]
    followed: float
    sentence: str
    who: str


def causes_of(
    trace: Trace, ideal: IdealRunFacts | None, summary: PageSummary, numbers: dict[int, int]
) -> WaitCauses | None:
    """Return why the ranks of a trace wait; None: no time was measured, or the run was not simulated.

    Args:
        numbers: id of a node -> number in the tree.
    """
    if ideal is None or not summary.run_time_ns or summary.compute_ns is None or thread_count(trace.meta) > 1:
        return None
    nranks, shared_cores = len(trace.ranks), bool(summary.shared_cores)
    most_ns = max((each.compute_ns[2] for each in summary.ranks), default=None)
    parts = time_parts(summary.run_time_ns, summary.compute_ns / nranks, most_ns, ideal.time_ns, shared_cores)
    late = _late_ranks(trace, ideal, numbers)
    caused: dict[int, float] = {}
    for rank, _, ns, _ in ideal.causes:
        caused[rank] = caused.get(rank, 0.0) + ns
    waits = nranks > 1 and sum(ideal.waiting_ns) > MIN_WAITING * nranks * ideal.time_ns
    who = f"{_who(late)}." if waits and late else ""
    drawn = len(ideal.waiting_ns) <= MAX_DRAWN_RANKS and bool(ideal.causes)
    return WaitCauses(
        parts,
        late,
        tuple(ideal.pairs[:MAX_PAIRS]),
        tuple((rank, ns, caused.get(rank, 0.0)) for rank, ns in enumerate(ideal.waiting_ns)) if drawn else (),
        ideal.followed,
        " ".join(filter(None, (_parts(summary, nranks, parts), who))),
        who,
    )


def _late_ranks(trace: Trace, ideal: IdealRunFacts, numbers: dict[int, int]) -> tuple[LateRank, ...]:
    total = sum(ideal.waiting_ns) or 1.0
    events = {numbers[id(event)]: event for event in trace.leaves()}
    by_rank: dict[int, list[tuple[int, int, float, int]]] = {}
    for row in sorted(ideal.causes, key=lambda row: -row[2]):
        by_rank.setdefault(row[0], []).append(row)
    late = [(sum(row[2] for row in rows), rank, rows) for rank, rows in by_rank.items()]
    late.sort(key=lambda row: (-row[0], row[1]))
    result = []
    for caused_ns, rank, rows in late[:MAX_LATE_RANKS]:
        calls = [
            (trace.ops[events[node].op].name, trace.stack(events[node].signature))
            for _, node, *_ in rows[:MAX_PLACES]
        ]
        places = tuple(
            LateRankComputation(op, site, node, ns / total)
            for (op, _), site, (_, node, ns, _) in zip(calls, distinct_sites(calls), rows, strict=False)
        )
        result.append(LateRank(rank, caused_ns, caused_ns / total, ideal.waiters.get(rank, 0), places))
    return tuple(result)


def _parts(summary: PageSummary, nranks: int, parts: TimeParts | None) -> str:
    """Return the run time and its parts in a sentence."""
    if summary.run_time_interval_ns is not None:
        time = " to ".join(map(coarse_duration, summary.run_time_interval_ns))
    else:
        time = coarse_duration(summary.run_time_ns or 0.0)
    text = (
        f"{time}{' (mean)' if summary.mean_note else ''} on {number(nranks)} rank{'s' if nranks > 1 else ''}"
    )
    whole_ns = (summary.comm_ns or 0.0) + (summary.compute_ns or 0.0)
    if summary.shared_cores:
        text += ", which shared cores"
        if whole_ns and summary.comm_ns is not None:
            in_mpi = coarse_percent(summary.comm_ns / whole_ns)
            text += f": {in_mpi} of the time in MPI, waiting for cores included"
    if parts is None:
        return f"{text}."
    if summary.shared_cores:
        text += ". With a core each and a network that takes no time"
    texts = [f"{coarse_percent(parts.computing)} computing"]
    if nranks > 1:
        texts.append(f"{coarse_percent(parts.waiting)} waiting for other ranks")
    if parts.transfer is not None:
        texts.append(f"{coarse_percent(parts.transfer)} in MPI{' otherwise' if nranks > 1 else ''}")
    return f"{text}: {', '.join(texts)}."


def _who(late: Sequence[LateRank]) -> str:
    """Name the ranks that cause most waiting, with the largest computation."""
    named: list[LateRank] = []
    for rank in late[:MAX_NAMED]:
        named.append(rank)
        if sum(each.share for each in named) >= MIN_NAMED_SHARE:
            break
    share = sum(each.share for each in named)
    place, first = late[0].places[0], f"rank {number(late[0].rank)}"
    where = f"its computation before {place.op} {short_site_text(place.site)}"
    if share < MIN_NAMED_SHARE:
        return f"The waiting is spread; {first} causes most, {coarse_percent(late[0].share)}: {where}"
    if len(named) == 1:
        return f"Ranks wait mostly for {first} ({coarse_percent(share)}): {where}"
    ranks = ", ".join(number(each.rank) for each in named)
    return f"Ranks wait mostly for ranks {ranks} ({coarse_percent(share)}); for {first}: {where}"
