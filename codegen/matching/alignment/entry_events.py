"""Gather the calls of all ranks at one node of the new tree; pool and share their histograms."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from scalatrace.codegen.matching.alignment.order import Entry
from scalatrace.codegen.matching.alignment.packing import PackedRow, gather_rows, pack_peers
from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.model.nodes import Param, PredStats
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import MAX_BINS, Bin, Histogram
from scalatrace.trace.values.ranklist import RankList

__all__ = ["EntryComputeTimes", "EntryEvent"]

RankTuple = tuple[int, ...]
Context = tuple[int, int]
"""id of an old event node, and the predecessor."""


class EntryEvent:
    """Participants and values of each execution of a node. `signature`: its call site."""

    def __init__(self) -> None:
        self._profiles: dict[tuple[RankTuple, ...], int] = {}
        self._entry_counts: list[int] = []
        self._values: dict[int, list[tuple[int, ...]]] = {}
        self._op = -1
        self.signature = 0

    def add_execution(self, entries: Sequence[Entry]) -> None:
        """Record an execution of the node, with one run per entry."""
        profile = tuple(entry.ranks for entry in entries)
        self._entry_counts.append(self._profiles.setdefault(profile, len(self._profiles)))
        for entry in entries:
            for call in entry.calls:
                self._values.setdefault(call.rank, []).append(call.values)
                self._op = call.node.op

    @property
    def ranks(self) -> RankList:
        """All ranks that take part in any execution."""
        return RankList(self._values)

    def content(self, trace: Trace) -> tuple[Elastic, int, tuple[Param, ...]]:
        """Repeat, operation and parameters of the event."""
        kinds = [kind for _, kind in trace.ops[self._op].params]
        comm_at = trace.ops[self._op].position(Kind.COMM)
        columns = {rank: list(zip(*rows, strict=True)) for rank, rows in self._values.items()}
        params: list[Param] = []
        for i, kind in enumerate(kinds):
            rows: dict[int, PackedRow] = {rank: column[i] for rank, column in columns.items()}
            if kind is Kind.PEER:
                families = {rank: {0} if comm_at is None else set(c[comm_at]) for rank, c in columns.items()}
                params.append(
                    pack_peers(rows, {rank: _place(trace, rank, f) for rank, f in families.items()})
                )
            else:
                params.append(gather_rows(rows))
        return self._repeat(), self._op, tuple(params)

    def _repeat(self) -> Elastic:
        """Ranks that take part equally often in each kind of execution share their values."""
        counts = [Counter(rank for ranks in profile for rank in ranks) for profile in self._profiles]
        rows: dict[tuple[int, ...], PackedRow] = {}
        result: dict[int, PackedRow] = {}
        for rank in self._values:
            times = tuple(count[rank] for count in counts)
            if times not in rows:
                rows[times] = tuple(times[profile] for profile in self._entry_counts)
            result[rank] = rows[times]
        return gather_rows(result)


def _place(trace: Trace, rank: int, families: set[int]) -> tuple[int, int] | None:
    if len(families) != 1:
        return None
    comm = trace.communicator(next(iter(families)), rank)
    return comm.rank, max(len(comm.peers), 1)


class EntryComputeTimes:
    """Where the statistics of the old nodes belong in the new ones."""

    def __init__(self, trace: Trace) -> None:
        self._old = {(id(e), s.pred): s.histograms for e in trace.leaves() for s in e.stats}
        self._nstats = len(trace.stats)
        self._last: dict[int, tuple[int, int]] = {}
        self._total: Counter[Context] = Counter()
        self._calls: defaultdict[int, defaultdict[tuple[int, int], Counter[Context]]] = defaultdict(
            lambda: defaultdict(Counter)
        )
        self._index: dict[tuple[int, int], int] = {START: 0}

    def note(self, leaf: EntryEvent, entry: Entry, signature: int) -> None:
        """Calls of an old node are made at a new one."""
        calls = self._calls[id(leaf)]
        for call in entry.calls:
            context = (id(call.node), call.pred)
            if context in self._old:
                self._total[context] += 1
                calls[self._last.get(call.rank, START)][context] += 1
            self._last[call.rank] = call.node.op, signature

    def preds(self) -> list[tuple[int, int]]:
        """The table of predecessors."""
        for calls in self._calls.values():
            for pred in calls:
                self._index.setdefault(pred, len(self._index))
        return list(self._index)

    def stats(self, leaf: EntryEvent) -> tuple[PredStats, ...]:
        """The statistics of a new node; after `preds`."""
        calls = self._calls[id(leaf)]
        pred_stats = [
            PredStats(self._index[pred], self._pooled(contexts)) for pred, contexts in calls.items()
        ]
        return tuple(sorted(pred_stats, key=lambda stats: stats.pred))

    def _pooled(self, contexts: Counter[Context]) -> tuple[Histogram | None, ...]:
        result = []
        for i in range(self._nstats):
            parts = [
                _share(histogram, n, self._total[context])
                for context, n in contexts.items()
                if (histogram := self._old[context][i]) is not None
            ]
            result.append(pooled(parts) if parts else None)
        return tuple(result)


def _share(histogram: Histogram, part: int, total: int) -> Histogram:
    """The histogram of `part` of `total` executions, distributed as all are; itself when those are all."""
    if part == total:
        return histogram
    count = max(1, round(histogram.count * part / total))
    return replace(histogram, count=count, bins=_spread(histogram.bins, count))


def _spread(bins: Sequence[Bin], count: int) -> tuple[Bin, ...]:
    """The bins with so many samples in all, as evenly thinned as whole numbers allow; empty ones go away."""
    total, seen, result, assigned = sum(b.count for b in bins), 0, [], 0
    for b in bins:
        seen += b.count
        upto = round(count * seen / total)
        if upto > assigned:
            result.append(b._replace(count=upto - assigned))
        assigned = upto
    return tuple(result) if len(result) > 1 else ()


def pooled(histograms: Sequence[Histogram]) -> Histogram:
    """The histogram of all samples: exact but for bins, of which neighbours are joined if they are many."""
    if len(histograms) == 1:
        return histograms[0]
    count = sum(h.count for h in histograms)
    mean = sum(h.total for h in histograms) / count
    square = sum(h.count * (h.std**2 + (h.mean - mean) ** 2) for h in histograms) / count
    bins = sorted((b for h in histograms for b in h.all_bins), key=lambda b: b.mean)
    limit = min(MAX_BINS, max(len(h.all_bins) for h in histograms) + 1)
    while len(bins) > limit:
        at = min(range(len(bins) - 1), key=lambda i: bins[i + 1].mean - bins[i].mean)
        bins[at : at + 2] = [_join_bins(bins[at], bins[at + 1])]
    low, high = min(h.min for h in histograms), max(h.max for h in histograms)
    return Histogram(count, low, high, mean, math.sqrt(square), tuple(bins) if len(bins) > 1 else ())


def _join_bins(a: Bin, b: Bin) -> Bin:
    count = a.count + b.count
    mean = (a.mean * a.count + b.mean * b.count) / count
    return Bin(count, min(a.min, b.min), max(a.max, b.max), mean)
