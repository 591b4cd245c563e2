"""Decide between a formula and its rival by the other nodes of the same call site.

One line of a program may be several nodes: a sweep in four directions has the blocks of the first row in one
node, where `n//X` and `(x+1)*n//X-x*n//X` are equal, and those of all rows in another, where they are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from scalatrace.arrays import Ints
from scalatrace.extrap.alignment.align import Aligned
from scalatrace.extrap.fit.undetermined.rivals import is_refuted, points_of_parts
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Cond, Const, Expr, Value, children, names_in
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import ParamRule, Rule
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.field import CYCLE, INDEXED, LOOPED, Field, Part, Shape

__all__ = ["decided_by_siblings"]

SINGLE = (None, CYCLE, LOOPED)
"""Shapes of values of which all integers have one meaning."""

Key = tuple[str, tuple[str, ...], str, Encoding | None]
"""Operation, call site, parameter, and the encoding of peers."""


Slot = tuple[Shape, int] | None
"""An integer of a value with a structure, such as a datatype; None: the value is one integer."""


@dataclass
class _Evidence:
    """The formulas of a parameter at all nodes of a call site, each with its slot and its points."""

    formulas: list[tuple[Slot, Expr, Ints]] = field(default_factory=list)


def decided_by_siblings(space: Space, nodes: Sequence[Aligned], rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules with formulas that hold for all nodes of each call site.

    Args:
        space: the ranks of all traces.
        nodes, rules: aligned trees and their rules, in one order.
    """
    known: dict[Key, _Evidence] = {}
    for node, rule in _events(nodes, rules):
        for param in rule.params:
            evidence = known.setdefault(_key(rule, param), _Evidence())
            for part, points in points_of_parts(space, param.field, node.nodes):
                found = _whole(part) if len(points) else ()
                evidence.formulas += [(slot, formula, points) for slot, formula in found]
    return tuple(_decided(space, known, rule) for rule in rules)


def _events(nodes: Sequence[Aligned], rules: Sequence[Rule]) -> Iterator[tuple[Aligned, Rule]]:
    for node, rule in zip(nodes, rules, strict=True):
        if rule.op is not None:
            yield node, rule
        yield from _events(node.children, rule.children)


def _key(rule: Rule, param: ParamRule) -> Key:
    return rule.op or "", rule.stack, param.name, param.encoding


def _slots(part: Part) -> Iterator[tuple[Slot, Value]]:
    for k, formula in enumerate(part.formulas or ()):
        yield (None if part.shape in SINGLE else (part.shape, k)), formula


def _whole(part: Part) -> Iterator[tuple[Slot, Expr]]:
    """Yield the formulas of a part that do not change from call to call."""
    for slot, formula in _slots(part) if part.shape != INDEXED else ():
        if isinstance(formula, Expr) and not any(map(is_counter, names_in(formula))):
            yield slot, formula


def _contains(whole: Value | Cond, part: Expr) -> bool:
    return whole == part or any(_contains(child, part) for child in children(whole))


def _decided(space: Space, known: dict[Key, _Evidence], rule: Rule) -> Rule:
    if rule.op is None:
        return replace(rule, children=tuple(_decided(space, known, child) for child in rule.children))
    params = []
    for param in rule.params:
        if any(part.rivals for part in param.field.parts):
            evidence = known[_key(rule, param)]
            param = replace(param, field=_decided_field(space, evidence, param.field))
        params.append(param)
    return replace(rule, params=tuple(params))


def _decided_field(space: Space, evidence: _Evidence, given: Field) -> Field:
    return replace(given, parts=tuple(_decided_part(space, evidence, part) for part in given.parts))


def _decided_part(space: Space, evidence: _Evidence, part: Part) -> Part:
    """Return a part without the formulas and rivals that other nodes exclude."""
    verdicts = {pair: _verdict(space, evidence, part, *pair) for pair in dict.fromkeys(part.rivals)}
    left = tuple(pair for pair in part.rivals if verdicts[pair] != pair[0])
    winners: dict[Expr, set[Expr]] = {}
    for pair, winner in verdicts.items():
        if winner == pair[1]:
            winners.setdefault(pair[0], set()).add(winner)
    chosen = {old: new.pop() for old, new in winners.items() if len(new) == 1}
    if not chosen or part.formulas is None:
        return replace(part, rivals=left)
    change = Substitution({}, parts=chosen)
    formulas = tuple(change.number(one) if isinstance(one, Expr) else one for one in part.formulas)
    return replace(part, formulas=formulas, rivals=tuple(pair for pair in left if pair[0] not in chosen))


def _verdict(space: Space, evidence: _Evidence, part: Part, formula: Expr, rival: Expr) -> Expr | None:
    """Which of two formulas the nodes of a call site have where they differ; None: both, or neither."""
    if isinstance(formula, Const):
        return None  # a number stands in many places
    slots = {slot for slot, whole in _slots(part) if _contains(whole, formula)}
    holding = set()
    for slot, known, points in evidence.formulas:
        if slot in slots and is_refuted(space, points, formula, rival):
            holding |= {one for one in (formula, rival) if not is_refuted(space, points, known, one)}
    return holding.pop() if len(holding) == 1 else None
