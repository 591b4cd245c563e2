"""Times of each call site in the traces that a model was made of: what grows with the number of ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from scalatrace.extrap.grid.model import Model, events
from scalatrace.extrap.timing.report import STATS
from scalatrace.extrap.timing.rules import by_ranks

__all__ = ["SiteTimes", "site_times"]


@dataclass
class SiteTimes:
    """A call site in all traces.

    Attributes:
        stack: innermost frame first.
        totals: statistic -> ranks of the trace -> total of all ranks in ns.
        samples: ranks of the trace -> timed calls of all ranks.
    """

    op: str
    stack: tuple[str, ...]
    totals: dict[str, dict[int, float]] = field(default_factory=dict)
    samples: dict[int, int] = field(default_factory=dict)


def site_times(model: Model) -> list[SiteTimes]:
    """Return the call sites in the order of the program. Of traces of as many ranks, the last counts."""
    ranks = [prod(dims) for dims, _ in model.seen]
    result: dict[tuple[str, tuple[str, ...]], SiteTimes] = {}
    for rule in events(model.nodes):
        stack = tuple(rule.stack)
        site = result.setdefault((rule.op or "", stack), SiteTimes(rule.op or "", stack))
        for stat in rule.stats:
            for at, (name, resolution) in enumerate(model.stats):
                if name not in STATS:
                    continue
                totals = site.totals.setdefault(name, {})
                for n, histogram in by_ranks(stat.histograms, ranks, at).items():
                    totals[n] = totals.get(n, 0.0) + histogram.total * resolution
                    if name == STATS[1]:
                        site.samples[n] = site.samples.get(n, 0) + histogram.count
    return list(result.values())
