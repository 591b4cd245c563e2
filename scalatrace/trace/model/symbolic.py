"""The symbolic trace: a trace whose sizes are not bound, with formulas in place of numbers (§4.4.5).

`extrap` makes it of traces and binds its sizes; `codegen` writes its formulas into programs.

    SymbolicTrace = header + sizes + families of communicators + nodes
    Rule (a node)  : repeat, parameters and statistics of an event; or repeat and children
    Field (a value): parts; the first whose condition on a rank's place holds counts
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

from scalatrace.formula import Expr, Value
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace_tables import TraceHeader
from scalatrace.trace.symbolic.field import CYCLE, EVERYWHERE, INDEXED, LOOPED, Field, Part, Shape

__all__ = [
    "BLOCKS",
    "CYCLE",
    "CYCLIC",
    "EVERYWHERE",
    "INDEXED",
    "LOOPED",
    "FamilyRule",
    "Field",
    "ParamRule",
    "Part",
    "Rule",
    "Shape",
    "StatRule",
    "SymbolicTrace",
    "events",
    "fields_of",
    "histograms",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParamRule:
    """A parameter. Its shape's integers are encoded peers, or the contents of what the tables hold.

    Attributes:
        rivals: of peers other encodings, each with a field that gives the same peers in all traces.
    """

    name: str
    kind: Kind
    field: Field
    encoding: Encoding | None = None
    rivals: tuple[tuple[Encoding, Field], ...] = ()


@dataclass(frozen=True, slots=True)
class StatRule:
    """Histograms after one predecessor (operation and stack; None: the start), per trace and statistic."""

    pred: tuple[str, tuple[str, ...]] | None
    histograms: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A node: an event (op given) or a sequence."""

    repeat: Field
    op: str | None = None
    stack: tuple[str, ...] = ()
    params: tuple[ParamRule, ...] = ()
    stats: tuple[StatRule, ...] = ()
    children: tuple[Rule, ...] = ()


BLOCKS, CYCLIC = "blocks", "cyclic"
"""Shapes of the sizes and members of communicators that divide all ranks."""


@dataclass(frozen=True, slots=True)
class FamilyRule:
    """A family of communicators.

    Attributes:
        kind, parent: as in the trace.
        slices: dimensions that vary within an instance, the slowest first, when it is a slice of the grid.
        vecs: otherwise per vec of the family a shape and its formulas, None where there is none. Of sizes and
            members, the shape may be BLOCKS or CYCLIC. The formula is the number of ranks of a block, or the
            number of instances to which all ranks are assigned round robin.
        count: of a chain, how many families it stands for, of which each is made from the one before; `i` in
            the formulas of the vecs is the number of a family in the chain. None: it is one family.
        rivals: formulas of it, each with another one that gives the same values in all traces.
    """

    kind: str
    parent: int
    slices: tuple[int, ...] | None
    vecs: tuple[tuple[Any, tuple[Value, ...]] | None, ...] = ()
    count: Value | None = None
    rivals: tuple[tuple[Expr, Expr], ...] = ()


@dataclass
class SymbolicTrace(TraceHeader):
    """A trace whose sizes are not bound: formulas for any number of ranks.

    Attributes:
        sizes: names of the grid's dimensions.
        column_major: whether ranks run along the first dimension first.
        inputs: names of the parameters that formulas use or could have used.
        seen: per input trace its grid and parameters.
        alignment: how the nodes of the input traces were aligned, of `extrap.fit.fit_trace.TreeAlignment`; ""
            when read from a file.
    """

    sizes: tuple[str, ...]
    column_major: bool
    inputs: tuple[str, ...]
    seen: tuple[tuple[tuple[int, ...], dict[str, int]], ...]
    nodes: tuple[Rule, ...]
    families: tuple[FamilyRule, ...]
    alignment: str = field(default="", compare=False)

    @property
    def frames(self) -> list[str]:
        """The frames of all call sites, and of what comes before them."""
        return list(dict.fromkeys(chain.from_iterable(map(_frames, events(self.nodes)))))

    def rename_frames(self, name: Callable[[str], str]) -> Self:
        """Return the trace with other texts of its frames."""
        return replace(self, nodes=_with_frames(self.nodes, name))


def events(rules: Sequence[Rule]) -> Iterator[Rule]:
    """Yield the events among rules and below them, in order."""
    for rule in rules:
        if rule.op is not None:
            yield rule
        yield from events(rule.children)


def fields_of(rules: Sequence[Rule]) -> Iterator[Field]:
    """Yield the fields of rules and of their descendants."""
    for rule in rules:
        yield rule.repeat
        yield from (param.field for param in rule.params)
        yield from fields_of(rule.children)


def histograms(model: SymbolicTrace) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Yield the histograms of all events after all predecessors."""
    for rule in events(model.nodes):
        yield from (stat.histograms for stat in rule.stats)


def _frames(rule: Rule) -> Iterator[str]:
    yield from rule.stack
    for stats in rule.stats:
        yield from stats.pred[1] if stats.pred is not None else ()


def _with_frames(rules: Sequence[Rule], name: Callable[[str], str]) -> tuple[Rule, ...]:
    """Return the rules with other texts of their call stacks' frames."""

    def stack(frames: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(name, frames))

    def stats(rule: StatRule) -> StatRule:
        return rule if rule.pred is None else StatRule((rule.pred[0], stack(rule.pred[1])), rule.histograms)

    return tuple(
        replace(
            rule,
            stack=stack(rule.stack),
            stats=tuple(map(stats, rule.stats)),
            children=_with_frames(rule.children, name),
        )
        for rule in rules
    )
