"""Histograms of message sizes and of delta times, in logarithmic bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

from scalatrace.report.costs.rows import JOIN, key_of
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.exchange.rank_sets import Number
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.values.histogram import Histogram

__all__ = ["Deltas", "MessageSizeBins", "SizeBin", "TimeBin", "deltas_of", "sizes_of"]

BINS_PER_DECADE = 4
MAX_SITES = 40
"""Call sites that have histograms of their own, those with most time."""


@dataclass(frozen=True)
class SizeBin:
    """Messages of `above` to `below - 1` bytes; a power of two each. The first bin has those of 0 bytes."""

    above: int
    below: int
    messages: int
    nbytes: int


@dataclass(frozen=True)
class MessageSizeBins:
    """Sizes of point-to-point messages.

    Attributes:
        exact: False: estimated from a sample.
    """

    bins: tuple[SizeBin, ...]
    exact: bool


@dataclass(frozen=True)
class TimeBin:
    """Samples from 10^(index/BINS_PER_DECADE) to 10^((index+1)/BINS_PER_DECADE) ns; -1: below 1 ns."""

    index: int
    samples: int
    total_ns: float


@dataclass(frozen=True)
class Deltas:
    """Times before the calls (computation) and in them, of all calls or of one site."""

    operation: str
    site: str
    before: tuple[TimeBin, ...]
    inside: tuple[TimeBin, ...]


def sizes_of(messages: Sequence[Messages], exact: bool) -> MessageSizeBins:
    """Count messages by size."""
    sums: dict[int, list[Number]] = {}
    for flow in messages:
        row = sums.setdefault(flow.nbytes.bit_length(), [0, 0])
        row[0] += len(flow.senders) * flow.count
        row[1] += len(flow.senders) * flow.count * flow.nbytes
    bins = [
        SizeBin(1 << bits >> 1, 1 << bits, round(n), round(nbytes))
        for bits, (n, nbytes) in sorted(sums.items())
    ]
    return MessageSizeBins(tuple(bins), exact)


def deltas_of(trace: Trace, limit: int = MAX_SITES) -> tuple[Deltas, ...]:
    """Return the histograms of all calls, then of the call sites with most time."""
    key = key_of("site", 1)
    every = _Collected()
    sites: dict[tuple[str, ...], _Collected] = {}
    for leaf in trace.leaves():
        times_of_site = sites.setdefault(key(trace, leaf), _Collected())
        for name, histogram in _histograms(trace, leaf):
            for collected in (every, times_of_site):
                collected.add(name, histogram)
    ordered = sorted(sites.items(), key=lambda item: -item[1].total_ns)
    result = [every.made("", "")]
    result += [
        times.made(where[0], JOIN.join(where[1:])) for where, times in ordered[:limit] if times.total_ns
    ]
    return tuple(result) if every.total_ns else ()


def _histograms(trace: Trace, leaf: Event) -> Iterator[tuple[str, Histogram]]:
    for name in (COMPUTE, COMM):
        if (index := trace.stat_index.get(name)) is None:
            continue
        for _, histogram in leaf.histograms_by_pred(index):
            yield name, histogram.scaled(trace.stats[index].resolution)


class _Collected:
    """Bins in the making."""

    def __init__(self) -> None:
        self._bins: dict[str, dict[int, list[float]]] = {COMPUTE: {}, COMM: {}}
        self.total_ns = 0.0

    def add(self, name: str, histogram: Histogram) -> None:
        for drawn_bin in histogram.drawn_bins:
            row = self._bins[name].setdefault(_index(drawn_bin.mean), [0, 0.0])
            row[0] += drawn_bin.count
            row[1] += drawn_bin.count * drawn_bin.mean
            self.total_ns += drawn_bin.count * drawn_bin.mean

    def made(self, operation: str, site: str) -> Deltas:
        before, inside = (
            tuple(TimeBin(index, round(n), total) for index, (n, total) in sorted(self._bins[name].items()))
            for name in (COMPUTE, COMM)
        )
        return Deltas(operation, site, before, inside)


def _index(ns: float) -> int:
    return floor(BINS_PER_DECADE * log10(ns)) if ns >= 1 else -1
