"""Several sizes of a problem that explain the traces equally well, as rivals of the formulas of one of them.

    blocks of 85, 64, 51, 42 elements on 3, 4, 5, 6 columns     n//X with n = 256 or n = 257

A result is believed where the formulas of all sizes give it the same values.
"""

from __future__ import annotations

from dataclasses import replace

from scalatrace.formula import Const, Expr, Var, add, names_in
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model.symbolic import ParamRule, Rule, SymbolicTrace
from scalatrace.trace.symbolic.field import Field, Part

__all__ = ["with_rival_size"]


def with_rival_size(model: SymbolicTrace, rival: SymbolicTrace, name: str) -> SymbolicTrace | None:
    """Return a model whose formulas have those of another one as rivals.

    Args:
        model, rival: of the same traces, with different values of a parameter that all traces share.
        name: of the parameter.

    Returns:
        None if the other model has other nodes or parts.
    """
    difference = rival.seen[0][1][name] - model.seen[0][1][name]
    try:
        nodes = _Pairing(name, difference).rules(model.nodes, rival.nodes)
    except ValueError:
        return None
    return replace(model, nodes=nodes)


class _Pairing:
    """Pairs the formulas of two models; `ValueError` where these do not correspond."""

    def __init__(self, name: str, difference: int) -> None:
        self._name = name
        self._shifted = Substitution({name: add(Var(name), Const(difference))})

    def rules(self, own: tuple[Rule, ...], rival: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(self._rule(*pair) for pair in zip(own, rival, strict=True))

    def _rule(self, own: Rule, rival: Rule) -> Rule:
        if (own.op, own.stack) != (rival.op, rival.stack):
            raise ValueError(own.op, rival.op)
        params = tuple(self._param(*pair) for pair in zip(own.params, rival.params, strict=True))
        children = self.rules(own.children, rival.children)
        return replace(own, repeat=self._field(own.repeat, rival.repeat), params=params, children=children)

    def _param(self, own: ParamRule, rival: ParamRule) -> ParamRule:
        if (own.name, own.encoding) != (rival.name, rival.encoding):
            raise ValueError(own.name, rival.name)
        return replace(own, field=self._field(own.field, rival.field))

    def _field(self, own: Field, rival: Field) -> Field:
        parts = tuple(self._part(*pair) for pair in zip(own.parts, rival.parts, strict=True))
        return replace(own, parts=parts)

    def _part(self, own: Part, rival: Part) -> Part:
        same_places = own.condition == rival.condition and self._name not in names_in(own.condition)
        if not same_places or own.shape != rival.shape:
            raise ValueError(own.condition, rival.condition)
        pairs = tuple(
            (formula, self._shifted.number(other))
            for formula, other in zip(own.formulas or (), rival.formulas or (), strict=True)
            if isinstance(formula, Expr)
            and isinstance(other, Expr)
            and self._name in names_in(formula, other)
        )
        return replace(own, rivals=(*own.rivals, *pairs))
