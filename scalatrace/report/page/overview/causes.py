"""Why ranks wait: parts of the run time, late ranks, and the computation for which others wait.

All of it follows from the recorded run on a network that takes no time, which the caller simulates. There,
ranks wait only since others compute longer: what the recorded run takes beyond it is transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scalatrace.executor.ideal_run import IdealRun, RootCause
from scalatrace.report.costs.computation import (
    FROM_START,
    UNKNOWN,
    Repeats,
    calls_by_number,
    computation_place,
)
from scalatrace.report.costs.efficiency import Efficiency, Manager, TimeParts, find_manager, time_parts
from scalatrace.report.costs.late_starts import LateStart, late_starts, with_late_starts
from scalatrace.report.costs.rows import site_of
from scalatrace.report.page.overview.direct_causes import DirectCause, direct_causes
from scalatrace.report.page.overview.serial_barriers import find_serial_barriers
from scalatrace.report.page.overview.summary import PageSummary
from scalatrace.report.style import coarse, coarse_duration, coarse_percent, number, short_site
from scalatrace.trace.model.nodes import node_numbers
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.origin import EXTRAPOLATED
from scalatrace.trace.threads import thread_count

__all__ = [
    "DirectCause",
    "LateRank",
    "LateRankComputation",
    "SerialPart",
    "WaitCauses",
    "causes_of",
    "result_sentence",
]

MAX_LATE_RANKS, MAX_PLACES, MAX_PAIRS, MAX_DRAWN_RANKS = 6, 3, 12, 1024
"""Late ranks that are listed, computations of each, pairs of ranks, and ranks that are drawn."""

MIN_PLACE_SHARE = 0.01
"""Part of all waiting from which on a second computation of a late rank is listed."""

ALMOST_ALL = 0.95
"""Part of the waiting from which on it is not `mostly` for some ranks."""

MIN_NAMED_SHARE = 0.5
"""Part of the waiting that the named late ranks cause, at least; else it is spread."""
MAX_NAMED = 3

SHOWN_WAITING = 0.0005
"""Part of the run time from which on waiting is a number; with less there is none."""

MIN_SERIAL = 0.1
"""Part of the run time from which on ranks that run one after another are named."""
MAX_IN_TURN = 6
"""Ranks that are named in the order in which they compute."""

MIN_WAITING = 0.05
"""Part of the time of all ranks from which on waiting is explained: totals of a rank are known within 5 %."""

MIN_ONE_PLACE = 2 / 3
"""Part of the waiting for a rank that is for one computation, from which on that is named alone."""


@dataclass(frozen=True)
class LateRankComputation:
    """Computation of a rank for which others wait.

    Attributes:
        place: its function and lines, as `computation_place`.
        node: number in the tree of the call before which it is.
        share: of all waiting.
    """

    place: str
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
class SerialPart:
    """The part of the run time in which ranks run one after another.

    Attributes:
        saving: part of the run time, as `WaitCauses.parts`, that ranks at once would save.
        time_ns: of the run.
        lost_ns: time of the saving.
        mean_ranks: ranks that compute at a time.
        place: function and lines of most of the computation, as `computation_place`.
        node: number in the tree of the call before which it is.
        ranks: an example of ranks that run one after another, as text; "": between barriers, all of them.
    """

    saving: float
    time_ns: float
    lost_ns: float
    mean_ranks: float
    place: str
    node: int
    ranks: str

    @property
    def is_between_barriers(self) -> bool:
        """Whether it follows from recorded times at barriers: the simulated run lacks it."""
        return not self.ranks


@dataclass(frozen=True)
class WaitCauses:
    """Parts of the run time, and who waits for whom.

    Attributes:
        parts: of the run time; None: not known.
        ideal_ns: time of the run on a network that takes no time.
        by_call: number of a call in the tree -> ns that all ranks wait in it in that run.
        late: ranks for which others wait most.
        direct: the largest waits by call.
        pairs: rank that waits, rank that it waits for, ns: the largest.
        by_rank: rank, ns that it waits, ns that others wait for it; (): too many.
        followed: part of the waiting whose causes are known.
        serial: ranks that run one after another; None: they do so for less than MIN_SERIAL of the time.
        sentence: the result.
        why: the reason of the waiting; "": there is little waiting, or it is not known.
        who: names the ranks that others wait for; "": there is little waiting, or these are not known.
        named: the ranks that cause most of the waiting; (): it is spread.
        starts: ranks that make their first communicating call late, the latest first.
    """

    parts: TimeParts | None
    ideal_ns: float
    by_call: Mapping[int, float]
    late: tuple[LateRank, ...]
    direct: tuple[DirectCause, ...]
    pairs: tuple[tuple[int, int, float], ...]
    by_rank: tuple[tuple[int, float, float], ...]
    followed: float
    serial: SerialPart | None
    sentence: str
    why: str
    who: str
    named: tuple[LateRank, ...]
    starts: tuple[LateStart, ...]


def causes_of(
    trace: Trace,
    ideal: IdealRun | None,
    summary: PageSummary,
    times: Efficiency | None = None,
    repeats: Repeats | None = None,
) -> WaitCauses | None:
    """Return why the ranks of a trace wait; None: no time was measured, or the run was not simulated.

    Args:
        times: of each rank; None: not known.
        repeats: as in `computation_place`.
    """
    if ideal is None or not summary.run_time_ns or summary.compute_ns is None or thread_count(trace.meta) > 1:
        return None
    starts = late_starts(trace, times)
    ideal = with_late_starts(ideal, starts)
    nranks, shared_cores = len(trace.ranks), bool(summary.shared_cores)
    most_ns = max((each.compute_ns[2] for each in summary.ranks), default=None)
    waiting_ns = sum(ideal.waiting_ns) / nranks
    parts = time_parts(
        summary.run_time_ns, summary.compute_ns / nranks, most_ns, ideal.time_ns, shared_cores, waiting_ns
    )
    name = _namer(trace, repeats)
    late = _late_ranks(ideal, name)
    caused: dict[int, float] = {}
    for row in ideal.causes:
        caused[row.rank] = caused.get(row.rank, 0.0) + row.waiting_ns
    waits = nranks > 1 and sum(ideal.waiting_ns) > MIN_WAITING * nranks * ideal.time_ns
    waits = waits and (parts is None or parts.waiting >= MIN_WAITING)  # of the measured run, too
    who = f"{_who(late, starts)}." if waits and late else ""
    serial = None if parts is None else _serial_part(ideal, parts, nranks, name)
    named = _named(late)
    caused_part = sum(each.share for each in named) * parts.waiting if parts and who else 0.0
    barriers = _serial_barriers(trace, summary.run_time_ns, name)
    if barriers is not None and barriers.saving >= max(caused_part, 0.0 if serial is None else serial.saving):
        serial, parts, who, caused_part = barriers, None, "", 0.0  # the simulated run lacks this
    why = f"{_in_turn(serial, nranks)}." if serial is not None and serial.saving >= caused_part else who
    manager = find_manager(summary.ranks)
    if manager is not None and why and why == who:
        why, named = f"{_manager_text(manager)}.", ()
    text = result_sentence(summary, nranks, EXTRAPOLATED in trace.meta, parts, ideal.time_ns)
    drawn = len(ideal.waiting_ns) <= MAX_DRAWN_RANKS and bool(ideal.causes)
    return WaitCauses(
        parts,
        ideal.time_ns,
        ideal.by_call,
        late,
        direct_causes(trace, ideal),
        tuple(ideal.pairs[:MAX_PAIRS]),
        tuple((rank, ns, caused.get(rank, 0.0)) for rank, ns in enumerate(ideal.waiting_ns)) if drawn else (),
        ideal.followed,
        serial,
        text,
        why,
        who,
        named if who else (),
        starts,
    )


_Namer = Callable[[int, int], str]
"""Names the computation between two nodes by their numbers."""


def _namer(trace: Trace, repeats: Repeats | None) -> _Namer:
    calls = calls_by_number(trace)

    def name(after: int, node: int) -> str:
        first, last = calls.get(after, FROM_START), calls.get(node, FROM_START)
        place = computation_place(first, last, repeats)
        if place != UNKNOWN and last[1]:
            return place
        site = f" {short_site(site_of(last[1]))}" if last[1] else ""
        return f"before {last[0]}{site}"

    return name


def _late_ranks(ideal: IdealRun, name: _Namer) -> tuple[LateRank, ...]:
    total = sum(ideal.waiting_ns) or 1.0
    by_rank: dict[int, list[RootCause]] = {}
    for row in ideal.causes:
        by_rank.setdefault(row.rank, []).append(row)
    late = [(sum(row.waiting_ns for row in rows), rank, rows) for rank, rows in by_rank.items()]
    late.sort(key=lambda row: (-row[0], row[1]))
    result = []
    for caused_ns, rank, rows in late[:MAX_LATE_RANKS]:
        places: dict[str, LateRankComputation] = {}
        for row in rows:
            place = name(row.after, row.node)
            share = places[place].share if place in places else 0.0
            node = places[place].node if place in places else row.node
            places[place] = LateRankComputation(place, node, share + row.waiting_ns / total)
        ordered = sorted(places.values(), key=lambda each: -each.share)
        largest = [ordered[0], *(each for each in ordered[1:MAX_PLACES] if each.share >= MIN_PLACE_SHARE)]
        result.append(
            LateRank(rank, caused_ns, caused_ns / total, ideal.waiters.get(rank, 0), tuple(largest))
        )
    return tuple(result)


def _serial_part(ideal: IdealRun, parts: TimeParts, nranks: int, name: _Namer) -> SerialPart | None:
    """Return the time in which ranks run one after another; None: it is short."""
    serial = ideal.serial
    if serial is None or not ideal.time_ns:
        return None
    share = serial.time_ns / ideal.time_ns * (parts.computing + parts.waiting)  # of the recorded run
    if share < MIN_SERIAL:
        return None
    after, node, _ = serial.places[0]
    shown = ", ".join(number(rank) for rank in serial.ranks[:MAX_IN_TURN])
    ranks = f"{shown}, …" if len(serial.ranks) > MAX_IN_TURN else shown
    lost_ns = serial.time_ns * (1 - serial.mean_ranks / nranks)
    saving = share * lost_ns / serial.time_ns
    return SerialPart(saving, serial.time_ns, lost_ns, serial.mean_ranks, name(after, node), node, ranks)


def _serial_barriers(trace: Trace, run_time_ns: float, name: _Namer) -> SerialPart | None:
    """Return the time in which ranks compute one after another between barriers; None: it is short."""
    found = find_serial_barriers(trace)
    if found is None or found.time_ns < MIN_SERIAL * run_time_ns:
        return None
    node = node_numbers(trace.nodes)[id(found.event)]
    lost_ns = found.time_ns * max(1 - found.mean_ranks / len(trace.ranks), 0.0)
    saving = min(lost_ns / run_time_ns, 1.0)
    return SerialPart(saving, found.time_ns, lost_ns, found.mean_ranks, name(node, node), node, "")


def _manager_text(manager: Manager) -> str:
    return (
        f"Rank {number(manager.rank)} hardly computes, and waits for the others, which compute equally long: "
        f"its computation is {coarse_percent(manager.part)} of theirs"
    )


def _in_turn(serial: SerialPart, nranks: int) -> str:
    """Say that ranks run one after another, how long, and where."""
    computing = coarse(max(serial.mean_ranks, 1.0))
    return (
        f"Ranks run one after another, which costs up to {coarse_percent(serial.saving)} of the run time: "
        f"about {computing:g} of {number(nranks)} ranks compute{'s' if computing == 1 else ''} at a time "
        f"{serial.place}{f'; for example ranks {serial.ranks} in turn' if serial.ranks else ''}"
    )


def result_sentence(
    summary: PageSummary,
    nranks: int,
    is_extrapolated: bool,
    parts: TimeParts | None = None,
    ideal_ns: float = 0.0,
) -> str:
    """Return the run time and its parts in a sentence; "" where no time was measured.

    An extrapolated trace has no times of each rank: in the simulated run, all of them compute equally long.
    """
    if not summary.run_time_ns:
        return ""
    if summary.run_time_interval_ns is not None:
        time = " to ".join(map(coarse_duration, summary.run_time_interval_ns))
    else:
        time = coarse_duration(summary.run_time_ns)
    text = (
        f"{time}{' (mean)' if summary.mean_note else ''} on {number(nranks)} rank{'s' if nranks > 1 else ''}"
    )
    whole_ns = (summary.comm_ns or 0.0) + (summary.compute_ns or 0.0)
    if summary.shared_cores:
        text += (
            ", extrapolated from runs whose ranks shared cores" if is_extrapolated else " that shared cores"
        )
    if whole_ns and summary.comm_ns is not None and (summary.shared_cores or parts is None):
        text += f": {coarse_percent(summary.comm_ns / whole_ns)} of the time in MPI"
        text += ", waiting for cores included" if summary.shared_cores else ""
    if parts is None:
        return f"{text}."
    if summary.shared_cores:
        equal = ", equally long computation" if is_extrapolated else ""
        text += f". Simulated with a core for each rank{equal} and messages that take no time"
    texts = [coarse_duration(ideal_ns)] if summary.shared_cores else []
    texts.append(f"{coarse_percent(parts.computing)} computing")
    if nranks > 1:
        share = coarse_percent(parts.waiting) if parts.waiting >= SHOWN_WAITING else "no"
        texts.append(f"{share} waiting for other ranks")
    if parts.transfer is not None:
        texts.append(f"{coarse_percent(parts.transfer)} in MPI{' otherwise' if nranks > 1 else ''}")
    return f"{text}: {', '.join(texts)}."


def _named(late: Sequence[LateRank]) -> tuple[LateRank, ...]:
    """Return the ranks that cause most of the waiting; (): more than MAX_NAMED do."""
    for count in range(1, MAX_NAMED + 1):
        if sum(each.share for each in late[:count]) >= MIN_NAMED_SHARE:
            return tuple(late[:count])
    return ()


def _who(late: Sequence[LateRank], starts: Sequence[LateStart]) -> str:
    """Name the ranks that cause most waiting, with the largest computation."""
    named = _named(late)
    share = sum(each.share for each in named)
    places = late[0].places
    where = places[0].place
    if len(places) > 1 and places[0].share < MIN_ONE_PLACE * late[0].share:
        where += f" and {places[1].place} (an estimate)"
    if starts and late[0].rank == starts[0].rank and late[0].places[0].node == starts[0].node:
        late_by, of_waiting = coarse_duration(starts[0].late_ns), coarse_percent(late[0].places[0].share)
        return (
            f"Rank {number(starts[0].rank)} makes its first communicating call {late_by} later than the "
            f"others, which wait for it ({of_waiting} of the waiting): its computation {where}"
        )
    first = f"rank {number(late[0].rank)}"
    if not named:
        of_waiting = coarse_percent(late[0].share)
        return f"The waiting is spread; {first} causes {of_waiting} of it, as it still computes {where}"
    wait = f"Ranks wait {'' if share >= ALMOST_ALL else 'mostly '}for"
    of_waiting = f"({coarse_percent(share)} of the waiting)"
    if len(named) == 1:
        return f"{wait} {first} {of_waiting}, which still computes {where}"
    ranks = ", ".join(number(each.rank) for each in named)
    return f"{wait} ranks {ranks} {of_waiting}; {first} still computes {where}"
