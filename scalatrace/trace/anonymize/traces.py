"""Make traces anonymous: recorded ones, and symbolic ones (models)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Any, cast

from scalatrace.errors import UsageError
from scalatrace.formula import Const, Value
from scalatrace.trace.anonymize.header import anonymous_header
from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.options import AnonymizeOptions
from scalatrace.trace.anonymize.tables import (
    anonymous_datatype,
    communicator_kind,
    counted_name,
    is_datatype,
    is_time,
    text_name,
)
from scalatrace.trace.exchange.type_sizes import BY_DESCRIPTION
from scalatrace.trace.model.elastic import vecs
from scalatrace.trace.model.nodes import Node, Param, Peer, PredStats, Sequence
from scalatrace.trace.model.symbolic import Field, ParamRule, Part, Rule, StatRule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.shapes import join, split
from scalatrace.trace.values.vec import Vec

__all__ = ["anonymous_model", "anonymous_trace"]

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


def anonymous_model(
    model: SymbolicTrace, names: AnonymousNames, options: AnonymizeOptions | None = None
) -> SymbolicTrace:
    """Return a model with the same formulas without names; see `anonymous_trace`.

    Raises:
        UsageError: the parameters are to go, which the formulas need.
    """
    options = options or AnonymizeOptions()
    if options.drop_parameters and model.inputs:
        raise UsageError("--drop-parameters: the formulas of a model (.stx) need them; give traces (.st)")
    return _Anonymizer(model, names, options).result()


class _Anonymizer:
    """Rewriter of the parts of one model."""

    def __init__(self, model: SymbolicTrace, names: AnonymousNames, options: AnonymizeOptions) -> None:
        self.model, self.names, self.options = model, names, options
        self.limit = max((prod(dims) for dims, _ in model.seen), default=1)

    def result(self) -> SymbolicTrace:
        """Return the anonymous model."""
        keeps_sites = "sites" in self.options.keep
        model = self.model if keeps_sites else self.model.rename_frames(self.names.frame)
        result = replace(
            model,
            nodes=tuple(map(self.rule, model.nodes)),
            families=tuple(
                replace(family, kind=communicator_kind(family.kind, self.names)) for family in model.families
            ),
        )
        return anonymous_header(result, self.names, self.options)

    def rule(self, rule: Rule) -> Rule:
        return replace(
            rule,
            params=tuple(map(self.param, rule.params)),
            stats=tuple(map(self.stats, rule.stats)),
            children=tuple(map(self.rule, rule.children)),
        )

    def stats(self, stats: StatRule) -> StatRule:
        rows = stats.histograms  # of each trace one per statistic, or none
        if self.options.drop_times:
            times = [is_time(stat.name) for stat in self.model.stats]
            rows = tuple(
                tuple(None if time else h for h, time in zip(row, times, strict=False)) for row in rows
            )
        return StatRule(stats.pred, rows)

    def param(self, param: ParamRule) -> ParamRule:
        if param.kind not in (Kind.STRING, Kind.TYPE):
            return param
        parts = tuple(self.part(part, param) for part in param.field.parts)
        return replace(param, field=Field(parts, param.field.cost, param.field.weight, param.field.step))

    def part(self, part: Part, param: ParamRule) -> Part:
        """Rewrite the table entries `(text, number, text, ..., "")` of a parameter's shape."""
        if part.formulas is None or type(part.shape) is not tuple:
            return part
        pattern, entries = join(part.shape, cast("Iterator[int]", iter(part.formulas)))
        rewrite = self.text if param.kind is Kind.STRING else self.datatype
        entries = tuple(rewrite(entry, param.name) if type(entry) is tuple else entry for entry in entries)
        parts = split((pattern, entries))
        return replace(part, shape=parts.shape, formulas=cast("tuple[Value, ...]", parts.slots))

    def text(self, entry: tuple[Any, ...], parameter: str) -> tuple[Any, ...]:
        text, numbers = _fill_formulas(entry), list(_numbers(entry))
        if not text or parameter != "filename":
            renamed = text_name(text, frozenset({parameter}), self.names, self.limit)
            return entry if renamed == text else (renamed, "")
        name = self.names.pattern(entry[: 2 * len(numbers) + 1 : 2])
        kind = name.rstrip("0123456789")
        pieces: list[Any] = [kind, Const(int(name.removeprefix(kind)))]
        for position, number in enumerate(numbers):
            form, value = number if type(number) is tuple else ("%d", number)
            if isinstance(value, Const) and value.value > self.limit:
                pieces += ["_", Const(self.names.number_in(name, position, form % value.value))]
            else:
                pieces += [".", number]
        return (*pieces, "", "")

    def datatype(self, entry: tuple[Any, ...], parameter: str) -> tuple[Any, ...]:
        *sizes, description = entry
        if is_datatype(_fill_formulas(description)):
            return entry
        size, extent = (0, 0) if sizes == [BY_DESCRIPTION] else sizes
        return size, extent, ("opaque(", size, ",", extent, ")", "")


def _numbers(entry: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the numbers of a name: formulas, or pairs of a format and a formula."""
    yield from (part for part in entry if type(part) is not str)


def _fill_formulas(entry: tuple[Any, ...]) -> str:
    """Return the text of an entry with 1 in place of formulas."""
    return "".join(part if type(part) is str else "1" for part in entry)
