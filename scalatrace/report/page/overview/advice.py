"""What to look at next: parts of the time that may be waiting or overhead, with the numbers behind each.

An entry is an upper bound or a ratio of measured times. It names a place to look at, not a cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scalatrace.operations import Category, operation
from scalatrace.report.page.histograms import Sizes
from scalatrace.report.page.overview.summary import Summary
from scalatrace.report.page.predictions.simulated import Prediction
from scalatrace.report.page.tree import Tree, TreeNode, leaves
from scalatrace.report.page.waiting import Waiting, kind_of, waiting
from scalatrace.report.style import duration, nbytes, number, percent
from scalatrace.trace.query.requests import POLLING

__all__ = ["Advice", "advice_of"]

MIN_SHARE = 0.02
"""Share of all time from which on something is worth a look."""

SMALL_BYTES = 1024
SMALL_PART = 2
"""One in so many messages below SMALL_BYTES is enough to name them."""

GOOD_BALANCE = 0.9


@dataclass(frozen=True)
class Advice:
    """One entry.

    Attributes:
        kind: "late-senders", "imbalance", "slow-sends", "small-messages", "load", "polling", or "nothing".
        share: of all time, between 0 and 1.
        numbers: name and value of each number behind it.
        node: number of the node in the tree that costs most of it; 0: none.
    """

    kind: str
    title: str
    text: str
    share: float
    numbers: tuple[tuple[str, str], ...]
    node: int = 0


def advice_of(
    summary: Summary, tree: Tree, sizes: Sizes, prediction: Prediction | None = None
) -> tuple[Advice, ...]:
    """Return the entries, those with the largest share of the time first."""
    whole = (summary.comm_ns or 0.0) + (summary.compute_ns or 0.0)
    found: list[Advice] = []
    if whole:
        calls = list(leaves(tree.root))
        who = tuple(_who(summary))
        for name, kind in KINDS.items():
            more = (*_simulated(prediction, kind), *who)
            found += _waiting(calls, whole, name, kind, more, summary.shared_cores)
        found += _polling(calls, whole)
        found += _load(summary)
    found += _small(sizes, tree, whole)
    found.sort(key=lambda one: -one.share)
    return tuple(found) or (
        Advice(
            "nothing",
            "Nothing stands out",
            "No waiting, imbalance or small messages above the limits.",
            0,
            (),
        ),
    )


KINDS = {"late-senders": Waiting.SENDER, "imbalance": Waiting.ALL, "slow-sends": Waiting.RECEIVER}

TEXTS = {
    "late-senders": (
        "Late senders",
        "Receives and completions take longer than the shortest one at the same place. "
        "Their partners may send late.",
    ),
    "imbalance": (
        "Imbalance before collectives",
        "Collective calls take longer than the shortest one at the same place. Ranks may arrive late.",
    ),
    "slow-sends": (
        "Sends that wait",
        "Sends take longer than the shortest one at the same place. "
        "Receivers may be late, or the network busy.",
    ),
}


def _who(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the ranks that wait most and those that compute most, if the times of each are known."""
    if summary.longest_in_mpi and summary.nprocs > 1:
        yield "waits most", f"{summary.longest_in_mpi} by time in MPI"
        yield "may be late", f"{summary.busiest} by computation"


def _simulated(prediction: Prediction | None, kind: Waiting) -> Iterator[tuple[str, str]]:
    """Yield the waiting of a simulated run, in which each rank has a core."""
    if prediction is not None:
        rows = [row for row in prediction.operations if kind_of(row["operation"]) is kind]
        yield "waiting when simulated", duration(sum(row["waiting_ns"] for row in rows))


def _waiting(
    calls: list[TreeNode],
    whole: float,
    name: str,
    kind: Waiting,
    more: tuple[tuple[str, str], ...],
    shared_cores: bool,
) -> Iterator[Advice]:
    """Time beyond the shortest call of each node; `more`: further numbers."""
    here = waiting(calls, kind)
    beyond = sum(leaf.beyond_ns for leaf in here)
    if beyond < MIN_SHARE * whole:
        return
    most = max(here, key=lambda leaf: leaf.beyond_ns)
    title, text = TEXTS[name]
    inside = sum(leaf.comm_ns for leaf in here)
    numbers = (
        ("possible saving, at most", f"{duration(beyond)}, {percent(beyond, whole)} of all time"),
        ("its largest part", f"{duration(most.beyond_ns)} in {most.op}, {percent(most.beyond_ns, beyond)}"),
        ("time in these calls", f"{duration(inside)} in {number(sum(leaf.calls for leaf in here))} calls"),
        *more,
    )
    if shared_cores:
        text += " Ranks shared cores, so much of it may be waiting for a core."
    yield Advice(name, title, text, beyond / whole, numbers, most.number)


def _polling(calls: list[TreeNode], whole: float) -> Iterator[Advice]:
    polls = [leaf for leaf in calls if leaf.op in POLLING]
    time = sum(leaf.comm_ns for leaf in polls)
    if polls and time >= MIN_SHARE * whole:
        most = max(polls, key=lambda leaf: leaf.comm_ns)
        numbers = (("possible saving, at most", f"{duration(time)}, {percent(time, whole)} of all time"),)
        text = (
            "The program polls for messages with tests and probes. "
            "More computation between polls, or waiting calls, may cost less."
        )
        yield Advice("polling", "Polling", text, time / whole, numbers, most.number)


def _load(summary: Summary) -> Iterator[Advice]:
    found = summary.efficiency
    if found is None or not found["load_balance"] or summary.nprocs == 1:
        return
    balance, run = found["load_balance"], found["run_time_ns"]
    busiest = max(one.compute_ns[2] for one in summary.ranks)
    lost = (1 - balance) * busiest / run if run else 0.0
    if balance < GOOD_BALANCE and lost >= MIN_SHARE:
        numbers = (
            ("load balance", f"{100 * balance:.1f} % (mean / largest computation)"),
            ("largest computation", f"{duration(busiest)}, on {summary.busiest}"),
            ("run time", duration(run)),
            ("possible saving, at most", f"{duration(lost * run)} of the run time"),
        )
        text = "Some ranks compute longer than others, which wait for them."
        yield Advice("load", "Load imbalance", text, lost, numbers)


def _small(sizes: Sizes, tree: Tree, whole: float) -> Iterator[Advice]:
    """Many small messages: latency counts more than bandwidth."""
    messages = sum(one.messages for one in sizes.bins)
    small = sum(one.messages for one in sizes.bins if one.below <= SMALL_BYTES)
    if not messages or small < messages // SMALL_PART:
        return
    sending = (Category.SEND, Category.SENDRECV, Category.START)
    p2p = (*sending, Category.RECV, Category.PROBE, Category.COMPLETION)
    calls = [leaf for leaf in leaves(tree.root) if operation(leaf.op).category in p2p]
    time = sum(leaf.comm_ns - leaf.beyond_ns for leaf in calls)
    if whole and time < MIN_SHARE * whole:
        return
    saving = time * (small / messages)
    mean = sum(one.nbytes for one in sizes.bins) / messages
    senders = [leaf for leaf in calls if operation(leaf.op).category in sending]
    numbers: tuple[tuple[str, str], ...] = (
        (f"messages below {nbytes(SMALL_BYTES)}", f"{number(small)}, {percent(small, messages)} of all"),
        ("mean size", nbytes(mean)),
    )
    if whole:
        numbers += (("possible saving, about", f"{duration(saving)}, {percent(saving, whole)} of all time"),)
    text = "Most messages are small: their cost is latency. Fewer, larger messages may cost less."
    node = max(senders, key=lambda leaf: leaf.calls).number if senders else 0
    yield Advice("small-messages", "Small messages", text, saving / whole if whole else 0.0, numbers, node)
