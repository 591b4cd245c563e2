"""Errors of extrapolation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalatrace.errors import FormulaError, UsageError
from scalatrace.formula import Binary, Const, Expr, format_text

if TYPE_CHECKING:
    from scalatrace.trace.symbolic.grid import Grid

__all__ = [
    "ExtrapolationError",
    "InputError",
    "PollingError",
    "UnconfirmedError",
    "UndeterminedError",
    "UndeterminedPeerError",
]


class ExtrapolationError(FormulaError):
    """Something in the traces follows no formula that was found; says which event, parameter and values."""


class UnconfirmedError(ExtrapolationError):
    """No formula was found; some dimension has fewer sizes than another, whose formulas may serve it."""


class PollingError(ExtrapolationError):
    """How often a program asks whether something is complete, or has come, follows no formula."""


class UndeterminedError(ExtrapolationError):
    """Two formulas hold for all traces and differ at the size that was asked for.

    Attributes:
        formula, rival: the formulas.
        rank, grid: where they differ.
    """

    def __init__(
        self,
        formula: Expr,
        rival: Expr,
        rank: int,
        grid: Grid,
        what: str = "",
        trace: str = "a trace in which they differ",
    ) -> None:
        self.formula, self.rival, self.rank, self.grid, self.what = formula, rival, rank, grid, what
        if isinstance(formula, Binary) and isinstance(formula.left, Const):
            trace += (
                ", give the size of the problem that is divided (--inputs n=...), "
                f"or accept {format_text(formula)} (--accept-unconfirmed)"
            )
        super().__init__(
            f"{what}{': ' if what else ''}the traces cannot tell {format_text(formula)} from "
            f"{format_text(rival)}, which differ on rank {rank} of {grid.nprocs} ({grid}): add {trace}"
        )

    def of(self, what: str) -> UndeterminedError:
        """The error of this quantity."""
        return UndeterminedError(self.formula, self.rival, self.rank, self.grid, what)

    def decided_by(self, grid: Grid | None, other: tuple[Grid, str, int] | None = None) -> UndeterminedError:
        """The error that names sizes of which a trace would decide: of ranks, or with a parameter's value."""
        traces = [f"a trace of {grid.nprocs} ranks ({grid})"] if grid is not None else []
        if other is not None:
            few, name, value = other
            traces.append(f"a trace of {few.nprocs} ranks ({few}) with {name} = {value}")
        if not traces:
            return self
        trace = ", or ".join(traces)
        return UndeterminedError(self.formula, self.rival, self.rank, self.grid, self.what, trace)


class UndeterminedPeerError(ExtrapolationError):
    """Two formulas in different encodings give the peers of all traces, and another one each at this size."""

    def __init__(self, peer: int, other: int, rank: int, grid: Grid) -> None:
        super().__init__(
            f"two formulas fit the traces; on rank {rank} of {grid.nprocs} ({grid}) one gives peer {peer}, "
            f"the other {other}: add a trace of another size"
        )


class InputError(UsageError):
    """The traces, sizes or parameters given do not go together."""
