"""Make a trace anonymous."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from scalatrace.trace.anonymize.header import anonymous_header
from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.options import AnonymizeOptions
from scalatrace.trace.anonymize.tables import (
    anonymous_datatype,
    communicator_kind,
    counted_name,
    is_time,
    text_name,
)
from scalatrace.trace.model.elastic import vecs
from scalatrace.trace.model.nodes import Node, Param, Peer, PredStats, Sequence
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import Vec

__all__ = ["anonymous_trace"]

MAX_STRINGS = 1 << 16
"""Values of a string parameter that are looked at; strings of further ones are no files, but names."""


def anonymous_trace(trace: Trace, names: AnonymousNames, options: AnonymizeOptions | None = None) -> Trace:
    """Return a trace of the same structure without names.

    Args:
        names: gets the new names; one for all traces of a program.
    """
    options = options or AnonymizeOptions()
    uses = _uses(trace)
    renamed = anonymous_header(trace, names, options)
    result = replace(
        renamed if "sites" in options.keep else renamed.rename_frames(names.frame),
        comms=[replace(family, kind=communicator_kind(family.kind, names)) for family in trace.comms],
        types=[anonymous_datatype(entry) for entry in trace.types],
        strings=[
            text_name(text, frozenset(uses[index]), names, trace.nprocs)
            for index, text in enumerate(trace.strings)
        ],
        counts={counted_name(name, names): count for name, count in trace.counts.items()},
    )
    return _drop_times(result) if options.drop_times else result


def _uses(trace: Trace) -> dict[int, set[str]]:
    """Return the names of the parameters that have each entry of `strings`."""
    names: dict[int, set[str]] = {index: set() for index in range(len(trace.strings))}
    strings = [
        [(i, name) for i, (name, kind) in enumerate(op.params) if kind is Kind.STRING] for op in trace.ops
    ]
    for event in trace.leaves():
        for i, name in strings[event.op]:
            for index in _sampled_values(event.params[i]):
                if index in names:
                    names[index].add(name)
    return names


def _sampled_values(param: Param) -> Iterator[int]:
    """Return the first values of a parameter, of each group of ranks."""
    for vec in vecs(param.value if isinstance(param, Peer) else param):
        yield from _first_values(vec)


def _first_values(vec: Vec) -> Iterable[int]:
    return (vec.constant,) if vec.constant is not None else islice(vec, MAX_STRINGS)


def _drop_times(trace: Trace) -> Trace:
    """Return a trace without times and measurements. Choices stay: matched senders, numbers of polls."""
    kept = [not is_time(stat.name) for stat in trace.stats]

    def node(original: Node) -> Node:
        if isinstance(original, Sequence):
            return replace(original, nodes=tuple(map(node, original.nodes)))
        return replace(original, stats=tuple(stats(rows) for rows in original.stats))

    def stats(rows: PredStats) -> PredStats:
        histograms = (h if stays else None for h, stays in zip(rows.histograms, kept, strict=True))
        return PredStats(rows.pred, tuple(histograms))

    load = [vec if stays else None for vec, stays in zip(trace.load, kept, strict=False)]
    return replace(trace, nodes=list(map(node, trace.nodes)), load=load)
