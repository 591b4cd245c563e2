"""Why ranks wait: parts of the run time, late ranks, and the computation for which others wait.

All of it follows from the recorded run on a network that takes no time, which the caller simulates. There,
ranks wait only since others compute longer: what the recorded run takes beyond it is transfer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalatrace.report.costs.rows import distinct_sites
from scalatrace.report.page.overview.summary import PageSummary
from scalatrace.report.style import coarse_duration, coarse_percent, number
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.trace import Trace

__all__ = ["IdealRunFacts", "LateRank", "LateRankComputation", "WaitCauses", "causes_of"]

MAX_LATE_RANKS, MAX_PLACES, MAX_PAIRS, MAX_DRAWN_RANKS = 6, 3, 12, 1024
"""Late ranks that are listed, computations of each, pairs of ranks, and ranks that are drawn."""

MANY = 0.5
"""Part of the waiting that the named late ranks cause, at least; else it is spread."""
MAX_NAMED = 3

LITTLE = 0.02
"""Part of the run time up to which waiting is not explained."""


@dataclass(frozen=True)
class IdealRunFacts:
    """The recorded run on a network that takes no time.

    Attributes:
        time_ns: when the last rank ends.
        waiting_ns: [ranks] waiting of each rank in calls.
        causes: rank, number of the call before which it computes, ns that others wait for it, and how many.
        pairs: rank that waits, rank whose computation it waits for, ns.
        followed: part of the waiting whose causes are known.
    """

    time_ns: float
    waiting_ns: Sequence[float]
    causes: Sequence[tuple[int, int, float, int]] = ()
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
        nwaiting: most ranks that wait for one of its computations.
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
        computing, waiting, transfer: parts of the run time, means of the ranks, from 0 to 1; waiting includes
            that for the rank that ends last. transfer is None where times contain waiting for cores: then
            the others are parts of the time on a network that takes no time.
        serialisation, transfer_efficiency: POP: largest computation over time on that network, and that time
            over the run time; None: not known.
        late: ranks for which others wait most.
        pairs: rank that waits, rank that it waits for, ns: the largest.
        by_rank: rank, ns that it waits, ns that others wait for it; (): too many.
        sentence: the result; `who` is its last part, on the ranks that others wait for, or "".
    """

    time_ns: float
    computing: float
    waiting: float
    transfer: float | None
    serialisation: float | None
    transfer_efficiency: float | None
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
    if ideal is None or not summary.run_time_ns or summary.compute_ns is None:
        return None
    shared_cores = bool(summary.shared_cores)
    nranks = len(trace.ranks)
    whole_ns = ideal.time_ns if shared_cores else max(summary.run_time_ns, ideal.time_ns)
    if whole_ns <= 0:
        return None
    computing = min(summary.compute_ns / nranks / whole_ns, 1.0)
    waiting = max(ideal.time_ns / whole_ns - computing, 0.0)
    late = _late_ranks(trace, ideal, numbers)
    most_ns = max((each.compute_ns[2] for each in summary.ranks), default=None)
    caused: dict[int, float] = {}
    for rank, _, ns, _ in ideal.causes:
        caused[rank] = caused.get(rank, 0.0) + ns
    who = f"{_who(late)}." if nranks > 1 and waiting > LITTLE and late else ""
    drawn = len(ideal.waiting_ns) <= MAX_DRAWN_RANKS and bool(ideal.causes)
    facts = (computing, waiting, None if shared_cores else 1 - ideal.time_ns / whole_ns)
    return WaitCauses(
        whole_ns,
        *facts,
        min(most_ns / ideal.time_ns, 1.0) if ideal.time_ns and most_ns is not None else None,
        None if shared_cores else ideal.time_ns / whole_ns,
        late,
        tuple(ideal.pairs[:MAX_PAIRS]),
        tuple((rank, ns, caused.get(rank, 0.0)) for rank, ns in enumerate(ideal.waiting_ns)) if drawn else (),
        ideal.followed,
        " ".join(filter(None, (_parts(summary.run_time_ns, nranks, facts, shared_cores), who))),
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
        result.append(LateRank(rank, caused_ns, caused_ns / total, max(row[3] for row in rows), places))
    return tuple(result)


def _parts(run_ns: float, nranks: int, parts: tuple[float, float, float | None], shared_cores: bool) -> str:
    """Return the parts of the run time in a sentence."""
    computing, waiting, transfer = parts
    start = f"{coarse_duration(run_ns)} on {number(nranks)} rank{'s' if nranks > 1 else ''}"
    if shared_cores:
        start += ", which shared cores. With a core each and a network that takes no time"
    texts = [f"{coarse_percent(computing)} computing"]
    if nranks > 1:
        texts.append(f"{coarse_percent(waiting)} waiting for other ranks")
    if transfer is not None:
        texts.append(f"{coarse_percent(transfer)} in MPI {'otherwise' if nranks > 1 else ''}".rstrip())
    return f"{start}: {', '.join(texts)}."


def _who(late: Sequence[LateRank]) -> str:
    """Name the ranks that cause most waiting, with the largest computation."""
    named: list[LateRank] = []
    for rank in late[:MAX_NAMED]:
        named.append(rank)
        if sum(each.share for each in named) >= MANY:
            break
    share = sum(each.share for each in named)
    place, first = late[0].places[0], f"rank {number(late[0].rank)}"
    where = f"its computation before {place.op} {_short(place.site)}"
    if share < MANY:
        return f"The waiting is spread; {first} causes most, {coarse_percent(late[0].share)}: {where}"
    if len(named) == 1:
        return f"Ranks wait mostly for {first} ({coarse_percent(share)}): {where}"
    ranks = ", ".join(number(each.rank) for each in named)
    return f"Ranks wait mostly for ranks {ranks} ({coarse_percent(share)}); for {first}: {where}"


def _short(site: str) -> str:
    return " < ".join(short_frame(frame) for frame in site.split(" < "))
