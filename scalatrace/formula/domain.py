"""Known limits of the variables of formulas: their least and largest values, constant or by formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scalatrace.formula.nodes import Expr, Var

__all__ = ["Domain"]


@dataclass(frozen=True)
class Domain:
    """Limits of variables.

    Attributes:
        lower, upper: the least and the largest value; a variable stands behind those that its limits mention.
            A variable without a lower limit has that of its node (`Var.least`).
    """

    lower: Mapping[Var, Expr] = field(default_factory=dict)
    upper: Mapping[Var, Expr] = field(default_factory=dict)

    def within(self, variable: Var, low: Expr, high: Expr) -> Domain:
        """Return the domain with one more variable from low to high, or closer limits of a known one."""
        return Domain({**self.lower, variable: low}, {**self.upper, variable: high})
