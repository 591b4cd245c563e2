"""Times of each call site in the traces of which a model was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from scalatrace.extrap.timing.phases import phase_rows
from scalatrace.trace.model.symbolic import SymbolicTrace, events
from scalatrace.trace.model.tables import TIMES

__all__ = ["Total", "chosen_inputs", "site_times"]


@dataclass
class Total:
    """Times of all ranks in ns, and the calls that were timed."""

    comm_ns: float = 0.0
    compute_ns: float = 0.0
    timed: int = 0


@dataclass
class SiteTimes:
    """A call site in the chosen traces.

    Attributes:
        stack: innermost frame first.
        totals: ranks of a trace -> its total.
    """

    op: str
    stack: tuple[str, ...]
    totals: dict[int, Total] = field(default_factory=dict)


def chosen_inputs(model: SymbolicTrace, inputs: Mapping[str, int]) -> dict[int, int]:
    """Return ranks -> number of a trace; of traces of as many ranks, one with these parameters or the last.

    Args:
        inputs: parameters of a result.
    """
    chosen: dict[int, int] = {}
    for number, (dims, known) in enumerate(model.seen):
        n = prod(dims)
        if n not in chosen or known == inputs or model.seen[chosen[n]][1] != inputs:
            chosen[n] = number
    return dict(sorted(chosen.items()))


def site_times(model: SymbolicTrace, chosen: Mapping[int, int]) -> list[SiteTimes]:
    """Return the call sites in the order of the program, without times of start-up and shut-down.

    Args:
        chosen: ranks -> number of the trace.
    """
    result: dict[tuple[str, tuple[str, ...]], SiteTimes] = {}
    phases = phase_rows(model)
    for rule in events(model.nodes):
        key = rule.op or "", tuple(rule.stack)
        site = result.setdefault(key, SiteTimes(*key))
        for stat in rule.stats:
            for n, number in chosen.items():
                row = stat.histograms[number]
                for at, (measured, histogram) in enumerate(zip(model.stats, row, strict=False)):
                    name, resolution = measured.name, measured.resolution
                    if histogram is None or name not in TIMES or (id(stat.histograms), at) in phases:
                        continue
                    total = site.totals.setdefault(n, Total())
                    if name == "comm_ns":
                        total.comm_ns += histogram.total * resolution
                        total.timed += histogram.count
                    else:
                        total.compute_ns += histogram.total * resolution
    return list(result.values())
