"""Calls at which ranks wait most, the partners that they wait for, and the times by which waiting is judged.

Waiting is the time beyond the shortest call, or that of a simulated run where ranks shared cores. A
histogram is of all ranks together, so the time is that of a call site, not of a pair of ranks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scalatrace.operations import operation
from scalatrace.report.costs.rows import distinct_sites
from scalatrace.report.page.overview.partners import (
    COMPLETING,
    AwaitedPartner,
    Partners,
    awaited_partners,
    collective_partner,
    kind_of,
)
from scalatrace.report.page.overview.summary import PageSummary
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.report.page.tree import PageTree, TreeNode, leaves
from scalatrace.trace.model.trace import Trace

__all__ = ["TimeBasis", "WaitRow", "basis_of", "waiting", "waiting_shares", "waits_of"]


MAX_WAITS, MAX_CALLS, MIN_SHARE = 8, 128, 0.002
"""Rows that are listed, calls that are examined, and the part of the run time from which on one is."""

SHOWN_FRAMES = 2
"""Frames of a call site that are shown."""


@dataclass(frozen=True)
class TimeBasis:
    """Times of all ranks by which waiting is judged.

    Attributes:
        simulated: times are those of a simulated run, in which each rank has a core. Measured times of calls
            contain waiting for cores where ranks shared them.
        whole_ns: the run time of each rank, summed: parts of it are parts of the run time. 0: no times.
        nranks: number of ranks.
        compute_factor: computation by this basis over the recorded one.
        contains_core_waits: these are measured times of ranks that shared cores.
    """

    simulated: bool
    whole_ns: float
    nranks: int
    compute_factor: float = 1.0
    contains_core_waits: bool = False

    def waiting_ns(self, leaf: TreeNode) -> float:
        """Return the time of a call's executions that is waiting: simulated, or at most so much."""
        return (leaf.waiting_ns or 0.0) if self.simulated else leaf.beyond_ns


def basis_of(summary: PageSummary, nranks: int, prediction: PagePrediction | None) -> TimeBasis:
    """Return the times to judge a trace of so many ranks by."""
    computed, shared = summary.compute_ns or 0.0, bool(summary.shared_cores)
    if shared and prediction is not None:
        simulated = sum(times["compute_ns"] for times in prediction.nodes.values())
        return TimeBasis(True, prediction.time_ns * nranks, nranks, simulated / computed if computed else 1.0)
    if summary.efficiency is not None and summary.run_time_ns:
        return TimeBasis(False, summary.run_time_ns * nranks, nranks, contains_core_waits=shared)
    return TimeBasis(False, (summary.comm_ns or 0.0) + computed, nranks, contains_core_waits=shared)


def waiting(calls: Iterable[TreeNode], kind: AwaitedPartner | None = None) -> list[TreeNode]:
    """Return the calls of a kind that wait for other ranks; None: of any kind."""
    kinds = set(AwaitedPartner) if kind is None else {kind}
    return [call for call in calls if not call.alone and _kind_of(call) in kinds]


def _kind_of(call: TreeNode) -> AwaitedPartner | None:
    return AwaitedPartner.RECEIVER if call.ends_sends else kind_of(call.op)


@dataclass
class WaitRow:
    """A call at which ranks wait, in the examined loops with equal ranks and partners.

    Attributes:
        node: number in the tree of the one with most waiting.
        site: call site and its caller.
        ranks, nranks: those that make the call.
        partners: ranks that they wait for.
        waiting_ns: of all ranks, by the basis.
        beyond_ns: measured time beyond the shortest call, of all ranks.
        share: of the run time, by the basis.
    """

    node: int
    op: str
    site: str
    ranks: str
    nranks: int
    partners: str
    calls: int = 0
    waiting_ns: float = 0.0
    beyond_ns: float = 0.0
    share: float = 0.0


def waiting_shares(tree: PageTree, basis: TimeBasis) -> dict[tuple[str, str], float]:
    """Return operation and innermost frame of all calls that wait -> part of the run time, by the basis."""
    shares = defaultdict[tuple[str, str], float](float)
    for call in waiting(leaves(tree.root)) if basis.whole_ns else ():
        shares[call.op, tree.sites[call.site].shown] += basis.waiting_ns(call) / basis.whole_ns
    return dict(shares)


def waits_of(trace: Trace, tree: PageTree, numbers: dict[int, int], basis: TimeBasis) -> tuple[WaitRow, ...]:
    """Return the calls at which ranks wait most.

    Completions with most time that end sends only are marked in the tree: they wait for receivers.

    Args:
        numbers: id of a node -> number in the tree.
    """
    whole_ns = basis.whole_ns
    completions = [
        leaf for leaf in leaves(tree.root) if operation(leaf.op).base in COMPLETING and leaf.beyond_ns
    ]
    completions = sorted(completions, key=lambda leaf: -leaf.beyond_ns)[:MAX_WAITS]
    waits = _longest_waits(tree, basis)
    partners = awaited_partners(trace, {leaf.number for leaf in (*waits, *completions)}, numbers)
    for leaf in completions:
        if partners[leaf.number].only_receive:
            leaf.ends_sends = True
    sites = distinct_sites([(leaf.op, tree.sites[leaf.site].frames) for leaf in waits], SHOWN_FRAMES)
    rows: dict[tuple[str, ...], WaitRow] = {}
    for leaf, site in zip(waits, sites, strict=True):
        awaited = _shown(leaf, partners[leaf.number])
        key = leaf.op, site, leaf.ranks, awaited
        row = rows.setdefault(key, WaitRow(leaf.number, leaf.op, site, leaf.ranks, leaf.nranks, awaited))
        row.calls += leaf.calls
        row.waiting_ns += basis.waiting_ns(leaf)
        row.beyond_ns += leaf.beyond_ns
        row.share += basis.waiting_ns(leaf) / whole_ns
    return tuple(sorted(rows.values(), key=lambda row: -row.waiting_ns)[:MAX_WAITS])


def _longest_waits(tree: PageTree, basis: TimeBasis) -> list[TreeNode]:
    """Return the calls of the call sites at which ranks wait most, those with most waiting first."""
    by_site = defaultdict[tuple[str, int, str], list[TreeNode]](list)
    for leaf in waiting(leaves(tree.root)):
        by_site[leaf.op, leaf.site, leaf.ranks].append(leaf)
    sites = [(sum(map(basis.waiting_ns, calls)), calls) for calls in by_site.values()]
    sites = sorted(
        (site for site in sites if site[0] > MIN_SHARE * basis.whole_ns), key=lambda site: -site[0]
    )
    calls = [leaf for _, calls in sites for leaf in sorted(calls, key=basis.waiting_ns, reverse=True)]
    return sorted(calls[:MAX_CALLS], key=basis.waiting_ns, reverse=True)


def _shown(leaf: TreeNode, partners: Partners) -> str:
    if kind_of(leaf.op) is AwaitedPartner.ALL:
        return collective_partner(operation(leaf.op).base)
    return partners.text(leaf.nranks)
