"""Errors of extrapolation."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalatrace.errors import FormulaError, UsageError
from scalatrace.extrap.refusal import Cause, NextStep, Recording, Refused
from scalatrace.formula import Expr, format_text
from scalatrace.trace.model.tables import Kind

if TYPE_CHECKING:
    from scalatrace.trace.symbolic.grid import Grid

__all__ = [
    "AmbiguousGridError",
    "CorruptModelError",
    "ExtrapolationError",
    "InputError",
    "NegativeError",
    "NoFormulaError",
    "PollingError",
    "SeenValues",
    "UnconfirmedError",
    "UndeterminedError",
    "UndeterminedPeerError",
    "UnseenParameterError",
    "UnseenSideError",
]


class ExtrapolationError(Refused, FormulaError):
    """Error: a quantity of the traces follows no formula; names event, parameter and values."""


class CorruptModelError(ExtrapolationError):
    """Error: a symbolic trace has values that no traces give, so its file is damaged."""


@dataclass(frozen=True, slots=True)
class SeenValues:
    """The observed values of a quantity without a formula.

    Attributes:
        op, name: of the call, "" for a loop, and of its parameter, "repeat" for how often it runs.
        kind: of the parameter; None for a repeat.
        ranks: for each trace the ranks that have values.
        totals, means, largest: for each trace the sum of all numbers, their mean, and the largest.
        agreed: whether all ranks of a trace have the same value.
        unlike: whether each rank of the largest trace has other values than the others.
    """

    op: str
    name: str
    kind: Kind | None
    ranks: tuple[frozenset[int], ...]
    totals: tuple[int, ...]
    means: tuple[int, ...]
    largest: tuple[int, ...]
    agreed: bool
    unlike: bool


class NoFormulaError(ExtrapolationError):
    """Error: no formula gives the values of a quantity.

    Attributes:
        sites: keys of the events whose repeat or peer has no formula; of a loop, of all events in it; empty
            for other quantities.
    """

    def __init__(self, fact: str, values: SeenValues | None = None) -> None:
        super().__init__(fact)
        self.values = values
        self.sites: frozenset[Hashable] = frozenset()


class UnconfirmedError(NoFormulaError):
    """Error: no formula was found, but one dimension has more sizes, and its formulas may hold."""


class PollingError(NoFormulaError):
    """Error: the number of unsuccessful polls follows no formula."""


class UndeterminedError(ExtrapolationError):
    """Error: two formulas hold for all traces and differ at the requested size.

    Attributes:
        formula, rival: the formulas.
        rank, grid: where they differ.
    """

    def __init__(self, formula: Expr, rival: Expr, rank: int, grid: Grid, what: str = "") -> None:
        self.formula, self.rival, self.rank, self.grid, self.what = formula, rival, rank, grid, what
        super().__init__(
            f"{what}{': ' if what else ''}the traces cannot tell {format_text(formula)} from "
            f"{format_text(rival)}, which differ on rank {rank} of {grid.nprocs} ({grid})",
            Cause.TWO_RULES,
        )

    def of(self, what: str) -> UndeterminedError:
        """Return the error of this quantity."""
        return UndeterminedError(self.formula, self.rival, self.rank, self.grid, what)


class UndeterminedPeerError(ExtrapolationError):
    """Error: two encodings have formulas that give the peers of all traces, but differ at this size."""

    def __init__(self, peer: int, other: int, rank: int, grid: Grid, what: str = "") -> None:
        self.peers, self.rank, self.grid = (peer, other), rank, grid
        super().__init__(
            f"{what}{': ' if what else ''}two formulas fit the traces; on rank {rank} of {grid.nprocs} "
            f"({grid}) one gives peer {peer}, the other {other}",
            Cause.TWO_RULES,
        )

    def of(self, what: str) -> UndeterminedPeerError:
        """Return the error of this quantity."""
        return UndeterminedPeerError(*self.peers, self.rank, self.grid, what)


class NegativeError(ExtrapolationError):
    """Error: the formula of a count or of a trip count is negative at the size of the result."""


class InputError(UsageError):
    """Error: the traces, sizes or parameters given do not match."""


class AmbiguousGridError(InputError):
    """Error: several rules, or none, give the sides of the result's grid."""


class UnseenParameterError(Refused, InputError):
    """Error: a parameter has one value in all traces, and another one in the result."""

    def __init__(self, name: str, seen: int, run: Recording) -> None:
        super().__init__(
            f"all traces have {name} = {seen}, the result is to have {name} = {run.inputs[name]}: none "
            f"shows what follows from {name}",
            Cause.FEW_SIZES,
            NextStep.record(run),
        )


class UnseenSideError(Refused, InputError):
    """Error: no trace shows the values at a requested side of the grid."""

    def __init__(self, fact: str) -> None:
        super().__init__(fact, Cause.FEW_SIZES)
