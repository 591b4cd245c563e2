"""What to look at next: parts of the time that may be waiting or overhead, with the numbers behind each.

An entry is an upper bound or a ratio of times. It names a place to look at, not a cause. Where ranks shared
cores, waiting is that of a simulated run, if there is one: measured times then contain waiting for cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scalatrace.report.costs.computation import FROM_START, UNKNOWN
from scalatrace.report.costs.efficiency import EQUALLY, MIN_EQUAL_SHARE, find_manager
from scalatrace.report.costs.late_starts import LateStart
from scalatrace.report.page.overview.causes import LateRank, SerialPart, WaitCauses
from scalatrace.report.page.overview.computing import Computing
from scalatrace.report.page.overview.partners import AwaitedPartner
from scalatrace.report.page.overview.small_messages import SmallMessages
from scalatrace.report.page.overview.summary import PageSummary
from scalatrace.report.page.overview.waits import TimeBasis, waiting
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.report.page.tree import PageTree, TreeNode, leaves
from scalatrace.report.style import (
    coarse,
    coarse_duration,
    coarse_percent,
    duration,
    duration_range,
    number,
    short_site,
)
from scalatrace.trace.query.requests import POLLING

__all__ = ["Advice", "advice_of", "longest_computation"]

MIN_SHARE = 0.02
"""Part of the run time from which on something is worth a look."""

MIN_COMPUTING = 0.1
"""Part of the run time from which on one computation is named."""

LASTING = 0.5
"""Part of the waiting from which on it does not come from single long computations."""

MIN_COST_PART = 0.5
"""Part of the time in calls from which on it is the cost of small messages, and no waiting for late ranks."""

GOOD_BALANCE = 0.9

MIN_EXPLAINED = 2 / 3
"""Part of a saving from which on another entry, which names the cause, explains it."""

MAX_NAMED = 3


@dataclass(frozen=True)
class Advice:
    """One entry.

    Attributes:
        kind: "late-senders", "imbalance", "slow-sends", "small-messages", "load", "polling",
            "computation", "serialisation", "late-start", "cores" or "nothing".
        share: of the run time, between 0 and 1.
        low_share: lower estimate of the share; None: there is one value.
        is_bound: the share is an upper bound: recorded waiting may have other reasons.
        numbers: name and value of each number behind it.
        node: number of the node in the tree that costs most of it; 0: none.
        where: place or ranks, for the summary; "": not one.
        explained_by: title of the entry that names the cause of most of the waiting; "": none does.
    """

    kind: str
    title: str
    text: str
    share: float
    numbers: tuple[tuple[str, str], ...]
    node: int = 0
    low_share: float | None = None
    is_bound: bool = False
    where: str = ""
    explained_by: str = ""


def advice_of(
    summary: PageSummary,
    tree: PageTree,
    basis: TimeBasis,
    computing: Sequence[Computing] = (),
    prediction: PagePrediction | None = None,
    causes: WaitCauses | None = None,
    small: SmallMessages | None = None,
) -> tuple[Advice, ...]:
    """Return the entries, those with the largest share of the time first; last, those that others explain.

    Args:
        computing: the longest computation first.
        causes: why ranks wait; None: not known.
        small: the small messages that cost most; None: there are none. The time in their calls is no other
            waiting.
    """
    entries: list[Advice] = []
    late_ranks = () if causes is None or not causes.who else causes.named or causes.late[:MAX_NAMED]
    if causes is not None and causes.serial is not None and basis.whole_ns:
        entries.append(_serialisation(causes.serial, summary))
    calls = list(leaves(tree.root))
    if small is not None and small.share >= MIN_SHARE:
        entries.append(_advise_on_small_messages(small, basis))
        if small.cost_ns >= MIN_COST_PART * small.inside_ns:
            calls = [call for call in calls if call.number not in small.nodes]
        computing = [row for row in computing if not _is_between(row, small)]
    if causes is not None and causes.starts and basis.whole_ns and not basis.simulated:
        entries.append(_late_start(causes.starts, summary.nprocs, basis))
    if basis.whole_ns:
        late = tuple(_late(summary, basis, computing, prediction, late_ranks))
        limits = None
        if basis.contains_core_waits and causes is not None and causes.parts is not None:
            limits = causes.by_call
            entries += _advise_on_cores(summary, basis, causes.ideal_ns)
        for name, kind in KINDS.items():
            more = (*_mean_waiting(calls, basis, kind, prediction), *late)
            entries += _advise_on_waiting(tree, calls, basis, name, kind, prediction, limits, more)
        entries += _advise_on_computation(computing, basis, late_ranks)
        entries += _advise_on_polling(calls, basis)
        entries += _load(summary, basis, prediction)
    entries = _explain_waiting(entries)
    entries.sort(key=lambda entry: (bool(entry.explained_by), -entry.share))
    if not entries and not summary.events:
        text = "None was made, or none was selected. See the header, and check with scalatrace doctor."
        entries = [Advice("nothing", "No calls were recorded", text, 0, ())]
    elif not entries and not basis.whole_ns:
        text = "Costs are not known. Counts and bytes of all calls are in the section Program."
        entries = [Advice("nothing", "The trace has no times", text, 0, ())]
    elif not entries:
        text = "No waiting, imbalance or small messages above the limits."
        entries = [Advice("nothing", "Nothing stands out", text, 0, ())]
    return tuple(entries)


def _explain_waiting(entries: Sequence[Advice]) -> list[Advice]:
    """Return the entries; waiting has the title of the entry that names the cause of most of it, if any."""
    causes = [entry for entry in entries if entry.kind in ("serialisation", "late-start", "load")]
    most = max(causes, key=lambda entry: entry.share, default=None)
    if most is None:
        return list(entries)
    return [
        replace(entry, explained_by=most.title)
        if entry.kind in KINDS and most.share >= MIN_EXPLAINED * entry.share
        else entry
        for entry in entries
    ]


KINDS = {
    "late-senders": AwaitedPartner.SENDER,
    "imbalance": AwaitedPartner.ALL,
    "slow-sends": AwaitedPartner.RECEIVER,
}

TITLES = {
    "late-senders": "Late senders",
    "imbalance": "Waiting before collectives",
    "slow-sends": "Sends that wait",
}

MEASURED = {
    "late-senders": "Receives and completions take longer than the shortest call at the same place. "
    "Their partners may send late.",
    "imbalance": "Collective calls take longer than the shortest call at the same place. "
    "Ranks may arrive late.",
    "slow-sends": "Sends take longer than the shortest call at the same place. "
    "Receivers may be late, or the network busy.",
}

WITHOUT_CORES = "The share is at most that of these calls in the simulated run with a core for each rank."

SIMULATED = {
    "late-senders": "In the simulated run, receives and completions wait for messages that are sent late.",
    "imbalance": "In the simulated run, ranks wait in collective calls for those that arrive late.",
    "slow-sends": "In the simulated run, sends wait for their receivers.",
}


def _advise_on_computation(
    computing: Sequence[Computing], basis: TimeBasis, late_ranks: Sequence[LateRank]
) -> Iterator[Advice]:
    """Yield the longest computation between two calls, if it is a good part of the time."""
    if not computing:
        return
    most = computing[0]
    time = most.compute_ns * basis.compute_factor
    if time < MIN_COMPUTING * basis.whole_ns:
        return
    numbers: tuple[tuple[str, str], ...] = (
        ("takes", _per_rank(time, basis)),
        ("possible saving, if twice as fast", f"{duration(time / 2 / basis.nranks)} per rank"),
    )
    if late := [row.rank for row in late_ranks if row.places and row.places[0].node in most.nodes]:
        numbers += (
            ("others wait for it on", f"rank{'s' if len(late) > 1 else ''} {', '.join(map(number, late))}"),
        )
    if most.after[0][0] == FROM_START[0]:
        text = f"The program computes longest before its first MPI calls: {most.place}."
    else:
        text = f"The longest computation between two MPI calls: {most.place}."
    where = longest_computation(computing, basis)
    yield Advice("computation", "Computation", text, time / basis.whole_ns, numbers, where=where)


def longest_computation(computing: Sequence[Computing], basis: TimeBasis) -> str:
    """Return where a program computes longest, and next if that is a good part of the time; "": not known."""
    if not computing or not basis.whole_ns:
        return ""
    where = _where_and_how_often(computing[0], basis)
    for second in computing[1:2]:
        share = second.compute_ns * basis.compute_factor / basis.whole_ns
        if share >= MIN_COMPUTING:
            where += f"; {coarse_percent(share)} {_where_and_how_often(second, basis)}"
    return where


def _where_and_how_often(row: Computing, basis: TimeBasis) -> str:
    """Return the place of a computation, how often a rank runs it, and how long it takes each time."""
    times = row.count / basis.nranks
    each = coarse_duration(row.compute_ns * basis.compute_factor / row.count)
    place = f"({UNKNOWN})" if row.place == UNKNOWN else row.place
    return f"{place} ({number(round(times)) if times >= 1 else coarse(times)} × {each})"


def _advise_on_cores(summary: PageSummary, basis: TimeBasis, ideal_ns: float) -> Iterator[Advice]:
    """Yield what a core for each rank may save, messages included, which take no time in that run."""
    run_ns = basis.whole_ns / basis.nranks
    if run_ns - ideal_ns < MIN_SHARE * run_ns:
        return
    text = (
        f"{summary.shared_cores[:1].upper()}{summary.shared_cores[1:]}. The recorded computation with a core "
        "for each rank, and messages that take no time, is the shortest run without changes to the program. "
        "Computation may contain waiting for cores, too: then that run is shorter."
    )
    numbers = (
        ("run time", coarse_duration(run_ns)),
        ("with a core for each rank", f"{coarse_duration(ideal_ns)}, and the time of messages"),
    )
    share = (run_ns - ideal_ns) / run_ns
    yield Advice("cores", "More ranks than cores", text, share, numbers, is_bound=True)


def _late_start(starts: Sequence[LateStart], nranks: int, basis: TimeBasis) -> Advice:
    latest = starts[0]
    waits_ns = nranks * latest.late_ns - sum(start.late_ns for start in starts)
    ranks = ", ".join(number(start.rank) for start in starts)
    late = coarse_duration(latest.late_ns)
    text = (
        f"Rank {number(latest.rank)} makes its first communicating call {late} later than the others, "
        "which wait for it. Start-up itself is left out of all times, but not this waiting."
    )
    numbers = (
        ("possible saving, at most", _per_rank(waits_ns, basis, is_sum=False)),
        ("late ranks", ranks),
        ("longer start-up", late),
    )
    share = waits_ns / basis.whole_ns
    return Advice("late-start", "Late start of a rank", text, share, numbers, latest.node)


def _serialisation(serial: SerialPart, summary: PageSummary) -> Advice:
    """Return the entry; where ranks shared cores, its times are of the simulated run, which is shorter."""
    whole = "the run time"
    if summary.shared_cores and not serial.is_between_barriers:
        whole = f"the {coarse_duration(serial.lost_ns / serial.saving)} of the simulated run"
    text = (
        "Even if messages took no time, most ranks would wait while a few compute, one after another. "
        "Work that does not need the result of the rank before could run at the same time."
    )
    numbers: tuple[tuple[str, str], ...] = (
        ("possible saving, at most", f"{coarse_duration(serial.lost_ns)} of {whole}"),
        ("one after another", f"{coarse_duration(serial.time_ns)} of it"),
        ("ranks that compute there", f"{coarse(serial.mean_ranks):g} of {number(summary.nprocs)} at once"),
        ("mostly", serial.place),
    )
    if not serial.is_between_barriers:
        numbers += (("in turn, for example", f"ranks {serial.ranks}"),)
    title = "Ranks run one after another"
    return Advice("serialisation", title, text, serial.saving, numbers, serial.node, is_bound=True)


def _mean_waiting(
    calls: list[TreeNode], basis: TimeBasis, kind: AwaitedPartner, prediction: PagePrediction | None
) -> Iterator[tuple[str, str]]:
    """Yield the waiting of the run with mean times, which lacks that for single long computations."""
    if basis.simulated and prediction is not None and prediction.seed is not None:
        mean = _with_means(waiting(calls, kind), prediction)
        yield "with mean computation times", f"{coarse_duration(mean / basis.nranks)} per rank"


def _with_means(calls: list[TreeNode], prediction: PagePrediction) -> float:
    return sum(prediction.mean_waiting.get(leaf.number, 0.0) for leaf in calls)


def _origin(waits: float, calls: list[TreeNode], prediction: PagePrediction) -> str:
    """Return whether ranks differ in every iteration, or single long computations make others wait."""
    if prediction.seed is None:
        return ""
    if _with_means(calls, prediction) >= LASTING * waits:
        return "Most of it stays with mean computation times: some ranks or calls always take longer."
    return (
        "Most of it is due to single long computations: each rank has random draws of them. "
        "Shared cores may have caused them: record with a core for each rank to know."
    )


def _late(
    summary: PageSummary,
    basis: TimeBasis,
    computing: Sequence[Computing],
    prediction: PagePrediction | None,
    late_ranks: Sequence[LateRank],
) -> Iterator[tuple[str, str]]:
    """Yield the code that others wait for: longer on the longest path than on the mean rank; else ranks."""
    if not basis.simulated or prediction is None:
        if late_ranks:
            named = ", ".join(number(late.rank) for late in late_ranks)
            yield "others wait most for", f"{'rank' if len(late_ranks) == 1 else 'ranks'} {named}"
        else:
            yield from _who(summary)
        return
    longer: list[tuple[float, float, str]] = []
    for row in computing:
        times = [prediction.nodes[number] for number in row.nodes if number in prediction.nodes]
        on_path = sum(node["path_compute_ns"] for node in times)
        longer.append((on_path, sum(node["compute_ns"] for node in times) / basis.nranks, row.place))
    if not longer:
        return
    on_path, mean, place = max(longer, key=lambda times: times[0] - times[1])
    if on_path - mean >= MIN_SHARE * prediction.time_ns:
        times_text = (
            f"{coarse_duration(on_path)} on the longest path, {coarse_duration(mean)} on the mean rank"
        )
        yield "computation that is late", f"{place}: {times_text}"


def _who(summary: PageSummary) -> Iterator[tuple[str, str]]:
    """Yield the ranks that wait most and those that compute most, if the times of each are known."""
    if summary.nprocs == 1:
        return
    if summary.longest_in_mpi not in ("", EQUALLY):
        yield "waits most", f"{summary.longest_in_mpi} by time in MPI"
    if summary.busiest not in ("", EQUALLY):
        yield "may be late", f"{summary.busiest} by computation"


def _per_rank(ns: float, basis: TimeBasis, *, is_sum: bool = True) -> str:
    """Return the mean time of a rank; `is_sum`: it is of an exact sum of recorded times."""
    time = duration if is_sum else coarse_duration
    return f"{time(ns / basis.nranks)} per rank"


def _advise_on_waiting(
    tree: PageTree,
    calls: list[TreeNode],
    basis: TimeBasis,
    name: str,
    kind: AwaitedPartner,
    prediction: PagePrediction | None,
    limits: Mapping[int, float] | None,
    more: tuple[tuple[str, str], ...],
) -> Iterator[Advice]:
    """Waiting of the calls of a kind.

    Args:
        limits: by number of a call, its waiting on a network that takes no time, where recorded times contain
            waiting for cores.
        more: further numbers.
    """
    waiting_calls = waiting(calls, kind)

    def waiting_ns(leaf: TreeNode) -> float:
        recorded_ns = basis.waiting_ns(leaf)
        return recorded_ns if limits is None else min(recorded_ns, limits.get(leaf.number, 0.0))

    waits = sum(map(waiting_ns, waiting_calls))
    if waits < MIN_SHARE * basis.whole_ns:
        return
    most = max(waiting_calls, key=waiting_ns)
    inside = sum(leaf.recorded_ns for leaf in waiting_calls)
    text = MEASURED[name] if limits is None else f"{MEASURED[name]} {WITHOUT_CORES}"
    if basis.simulated and prediction is not None:
        text = f"{SIMULATED[name]} {_origin(waits, waiting_calls, prediction)}".strip()
    shown = f"{most.op} {short_site(tree.sites[most.site].shown)}".rstrip()
    largest = f"{_per_rank(waiting_ns(most), basis, is_sum=False)} in {number(most.calls)} calls of {shown}"
    numbers = (
        ("possible saving, at most", _per_rank(waits, basis, is_sum=False)),
        ("its largest part", largest),
        ("calls", number(sum(leaf.calls for leaf in waiting_calls))),
        (
            "with shared cores" if basis.simulated else "time in them",
            f"{duration(inside / basis.nranks)} per rank",
        ),
        *more,
    )
    share = waits / basis.whole_ns
    yield Advice(name, TITLES[name], text, share, numbers, most.number, is_bound=not basis.simulated)


def _advise_on_polling(calls: list[TreeNode], basis: TimeBasis) -> Iterator[Advice]:
    polls = [leaf for leaf in calls if leaf.op in POLLING]
    times = [leaf.comm_ns for leaf in polls]
    time = sum(times)
    if polls and time >= MIN_SHARE * basis.whole_ns:
        most = polls[times.index(max(times))]
        numbers = (("possible saving, at most", _per_rank(time, basis)),)
        text = (
            "The program polls for messages with tests and probes. "
            "More computation between polls, or waiting calls, may cost less."
        )
        yield Advice("polling", "Polling", text, time / basis.whole_ns, numbers, most.number)


def _load(summary: PageSummary, basis: TimeBasis, prediction: PagePrediction | None) -> Iterator[Advice]:
    """Yield what the busiest rank computes more than the mean, of the run time."""
    if summary.nprocs == 1:
        return
    if basis.simulated:
        means = {} if prediction is None else prediction.means
        mean, most, run = (means.get(name, 0.0) for name in ("compute_ns", "most_compute_ns", "time_ns"))
        ranks = [] if prediction is None else prediction.ranks
        longest = [row for row in ranks if row.compute_ns[2] >= MIN_EQUAL_SHARE * most]
        names = ", ".join(number(row.first) for row in longest)
        is_named = len(longest) <= MAX_NAMED and all(row.first == row.last for row in longest)
        where = f", on rank{'s' if len(longest) > 1 else ''} {names}" if longest and is_named else ""
    elif summary.efficiency is not None:
        run, balance = summary.efficiency["run_time_ns"], summary.efficiency["load_balance"] or 1.0
        most = max(row.compute_ns[2] for row in summary.ranks)
        mean, where = balance * most, f", on {summary.busiest}"
    else:
        return
    lost = (most - mean) / run if run else 0.0
    manager = None if basis.simulated else find_manager(summary.ranks)
    if manager is not None and lost >= MIN_SHARE:
        numbers = (
            ("computation of the rank", coarse_duration(manager.compute_ns)),
            ("mean of the others", coarse_duration(manager.others_ns)),
            ("possible saving, at most", f"{coarse_duration(most - mean)} of the run time"),
        )
        text = (
            f"Rank {number(manager.rank)} computes {coarse_percent(manager.part)} of the mean of the others, "
            "which compute equally long. A rank that only hands out work or collects results could compute."
        )
        title = f"Rank {number(manager.rank)} hardly computes"
        yield Advice("load", title, text, lost, numbers, is_bound=True)
    elif most and mean / most < GOOD_BALANCE and lost >= MIN_SHARE:
        numbers = (
            ("mean computation", coarse_duration(mean)),
            ("largest computation", f"{coarse_duration(most)}{where}"),
            ("possible saving, at most", f"{coarse_duration(most - mean)} of the run time"),
        )
        text = "Some ranks compute longer than others, which wait for them."
        where = where.removeprefix(", ")
        yield Advice("load", "Load imbalance", text, lost, numbers, is_bound=True, where=where)


def _is_between(row: Computing, small: SmallMessages) -> bool:
    """Return whether a computation is mostly the time between small messages."""
    return set(small.nodes).issuperset(row.nodes) and small.between_ns >= MIN_COST_PART * row.compute_ns


def _advise_on_small_messages(small: SmallMessages, basis: TimeBasis) -> Advice:
    """Return the entry of many small messages, which could be fewer."""
    cost, low_cost = small.cost_ns / basis.nranks, small.low_cost_ns / basis.nranks
    numbers = (
        ("possible saving, at most", f"{coarse_duration(cost * (1 - 1 / small.repeats))} per rank"),
        ("they take", f"{duration_range(low_cost, cost)} per rank"),
        ("usual time of one", small.each),
        ("calls of all ranks" if small.is_collective else "messages of all ranks", number(small.total)),
        (
            "one after another" if small.is_collective else "to the same partner, one after another",
            number(round(small.repeats)),
        ),
    )
    fewer = (
        "Make one call with all values." if small.is_collective else "Send all values for a partner at once."
    )
    text = (
        f"{small.text[0].upper()}{small.text[1:]}. Each costs a latency and the time of the calls, while its "
        f"bytes cost almost nothing. No long computation comes between them. {fewer}"
    )
    title = "Many small messages"
    return Advice("small-messages", title, text, small.share, numbers, small.node, small.low_share)
