"""Make a symbolic trace (a model) anonymous."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any, cast

from scalatrace.errors import UsageError
from scalatrace.formula import Const, Value
from scalatrace.trace.anonymize.header import anonymous_header
from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.options import AnonymizeOptions
from scalatrace.trace.anonymize.tables import (
    communicator_kind,
    is_datatype,
    is_time,
    text_name,
)
from scalatrace.trace.exchange.type_sizes import BY_DESCRIPTION
from scalatrace.trace.model.symbolic import Field, ParamRule, Part, Rule, StatRule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.shapes import join, split

__all__ = ["anonymous_model"]


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
