"""Ranks that make their first communicating call later than the others, which wait for them.

    rank 0   |start-up|call.............|===
    rank 1   |start-up|call.............|===
    rank 2   |        start-up          |===

Start-up is left out of all times, but not the waiting for a rank with a longer one. A trace has a histogram
of the start-up of all ranks, which does not tell whose is the longest. The totals of the ranks do: where all
end together, the total of the late rank is shorter, by as much as its start-up is longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalatrace.executor.ideal_run import IdealRun, RootCause
from scalatrace.report.costs.efficiency import Efficiency
from scalatrace.trace.model.nodes import node_numbers
from scalatrace.trace.model.phases import Taken
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMPUTE

__all__ = ["LateStart", "late_starts", "with_late_starts"]

MIN_SHARE = 0.02
"""Part of the run time from which on a later first call counts."""

MAX_DIFFERENCE = 0.25
"""Difference between the longer start-up and the shorter total of a rank, over the first."""

MAX_STARTS = 8
"""Ranks that are named."""


@dataclass(frozen=True)
class LateStart:
    """A rank that makes its first communicating call late.

    Attributes:
        node: number of this call in the tree.
        late_ns: after most of the others.
    """

    rank: int
    node: int
    late_ns: float


def late_starts(trace: Trace, times: Efficiency | None) -> tuple[LateStart, ...]:
    """Return the ranks of a trace that start late, the latest first.

    Args:
        times: of each rank without start-up and shut-down; None: not known.
    """
    if times is None or len(times.ranks) < 2:
        return ()
    numbers = node_numbers(trace.nodes)
    node_of = {(leaf.op, leaf.signature): numbers[id(leaf)] for leaf in reversed(list(trace.leaves()))}
    longer: list[tuple[float, int]] = []
    for entry in trace.phases.taken[0]:
        if trace.stats[entry.stat].name == COMPUTE and len(entry.ranks) == entry.histogram.count:
            node = node_of.get((entry.event.op, entry.event.signature), 0)
            unit = trace.stats[entry.stat].resolution
            longer += [(excess * unit, node) for excess in _longer_starts(entry)]
    totals = times.compute_ns + times.comm_ns
    shorter = float(totals.max()) - totals
    by_total = np.argsort(-shorter, kind="stable").tolist()
    result: list[LateStart] = []
    for (late_ns, node), at in zip(sorted(longer, reverse=True)[:MAX_STARTS], by_total, strict=False):
        if late_ns < MIN_SHARE * times.run_time_ns:
            break
        if abs(float(shorter[at]) - late_ns) > MAX_DIFFERENCE * late_ns:
            break
        result.append(LateStart(times.ranks[at], node, late_ns))
    return tuple(result)


def _longer_starts(entry: Taken) -> list[float]:
    """Return what the samples of a histogram above the median are longer, the longest first."""
    samples: list[float] = []
    for each in sorted(entry.histogram.all_bins, key=lambda each: -each.mean):
        samples += [each.mean] * min(int(each.count), MAX_STARTS)
        if len(samples) >= MAX_STARTS:
            break
    median, left = 0.0, entry.histogram.count / 2
    for each in sorted(entry.histogram.all_bins, key=lambda each: each.mean):
        median, left = each.mean, left - each.count
        if left <= 0:
            break
    return [sample - median for sample in samples if sample > median]


def with_late_starts(ideal: IdealRun, starts: Sequence[LateStart]) -> IdealRun:
    """Return a run in which ranks wait for those that start late, too: all for the latest one."""
    if not starts:
        return ideal
    latest = starts[0]
    late_of = {start.rank: start.late_ns for start in starts}
    waits = {rank: latest.late_ns - late_of.get(rank, 0.0) for rank in range(len(ideal.waiting_ns))}
    waiting = tuple(ns + waits[rank] for rank, ns in enumerate(ideal.waiting_ns))
    of_starts = sum(waits.values())
    causes, pairs, waiters = ideal.causes, ideal.pairs, ideal.waiters
    if causes or not any(ideal.waiting_ns):
        waiting_ranks = sum(ns > 0 for ns in waits.values())
        cause = RootCause(latest.rank, 0, latest.node, of_starts, waiting_ranks)
        causes = tuple(sorted((*causes, cause), key=lambda row: -row.waiting_ns))
        sums = Counter({(a, b): ns for a, b, ns in pairs})
        sums.update({(rank, latest.rank): ns for rank, ns in waits.items() if ns > 0})
        pairs = tuple((a, b, float(ns)) for (a, b), ns in sums.most_common(max(len(pairs), 64)))
        waiters = {**waiters, latest.rank: max(waiters.get(latest.rank, 0), waiting_ranks)}
    total = sum(waiting)
    followed = (ideal.followed * sum(ideal.waiting_ns) + (of_starts if causes else 0)) / total
    return replace(
        ideal,
        time_ns=ideal.time_ns + latest.late_ns,
        waiting_ns=waiting,
        causes=causes,
        waiters=waiters,
        pairs=pairs,
        followed=min(followed, 1.0),
    )
