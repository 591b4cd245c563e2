"""Check that the calls of a symbolic trace's ranks match: messages, sizes, members, roots.

The traces that a model was made of fit together, so a conflict at another size shows a wrong formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalatrace.errors import FormatError, FormulaError, LimitError, UsageError
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.grid.target import grids_like
from scalatrace.extrap.instantiate.instantiate import instantiate
from scalatrace.extrap.timing.rules import no_times
from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.consistency.partial import part_note
from scalatrace.trace.model.elastic import Formulas
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.symbolic import SymbolicTrace, fields_of
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

MAX_VISITS = 1 << 15
"""Nodes times ranks of a result that is checked rank by rank: about a second."""

FORMULA_VISITS = 10
"""What a value by a formula costs, in nodes."""

MAX_SIZES = 2
"""Smaller sizes that are checked in place of a larger one."""

__all__ = ["SizeCheck", "check_consistent", "check_matching", "check_model", "check_sizes", "is_small"]


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """Result of matching the calls of one size.

    Attributes:
        conflict: the first calls that do not, in words; "" when all do.
        undetermined: why there is no trace of this size; "" when there is one.
    """

    grid: Grid
    conflict: str = ""
    undetermined: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the check as plain data."""
        names = {"ranks": self.grid.nprocs, "grid": str(self.grid)}
        return {**names, "conflict": self.conflict, "undetermined": self.undetermined}


def check_consistent(traces: Sequence[Trace]) -> str:
    """Return a message about the first conflict in the traces themselves, "" if there is none."""
    for trace in traces:
        if conflict := _conflict(trace):
            note = part_note(trace)
            return f"in the trace of {trace.nprocs} ranks {conflict}" + (f" ({note})" if note else "")
    return ""


def check_matching(model: SymbolicTrace, trace: Trace, grid: Grid, inputs: Mapping[str, int]) -> str:
    """Check a result, or traces of smaller sizes where it is too large.

    Args:
        model: which the result was made of.
        trace, grid, inputs: the result.

    Returns:
        One line on what was checked.

    Raises:
        ExtrapolationError: something does not fit together; says on which ranks and calls.
    """
    if is_small(trace):
        if conflict := _conflict(trace):
            raise _conflict_error(grid, conflict)
        return f"all messages and collective calls match on {grid.nprocs:,} ranks ({grid})"
    checked = check_several(model, inputs, max(MAX_VISITS // MAX_SIZES // _visits(trace), 1))
    return (
        _line(checked)
        or f"{grid.nprocs:,} ranks are too many to match all calls, and no smaller size has such a grid"
    )


def is_small(trace: Trace) -> bool:
    """Return whether the calls of all ranks are compared, not those of smaller sizes."""
    return _visits(trace) * trace.nprocs <= MAX_VISITS


def _visits(trace: Trace) -> int:
    """Return the cost of one rank's calls, in nodes."""
    values = (
        param.value if isinstance(param, Peer) else param for leaf in trace.leaves() for param in leaf.params
    )
    return trace.nnodes + FORMULA_VISITS * sum(isinstance(value, Formulas) for value in values)


def check_model(model: SymbolicTrace) -> str:
    """Check sizes larger than those of the traces, with the parameters of the largest trace.

    Returns:
        One line on what was checked; "" when there is no such size, or it is too large.

    Raises:
        ExtrapolationError: something does not fit together; says at which size, and on which ranks and calls.
    """
    nnodes = sum(1 for _ in fields_of(model.nodes))
    return _line(check_several(model, model.seen[-1][1], max(MAX_VISITS // max(nnodes, 1), 1)))


def _line(checked: Sequence[int]) -> str:
    ranks = " and ".join(f"{nprocs:,}" for nprocs in checked)
    return f"all messages and collective calls match on {ranks} ranks" if checked else ""


def check_several(model: SymbolicTrace, inputs: Mapping[str, int], nprocs: int) -> list[int]:
    """Check the largest sizes of up to so many ranks; return them. Raises ExtrapolationError."""
    checked: list[int] = []
    seen = [Grid(dims, model.column_major) for dims, _ in model.seen]
    least = max(grid.nprocs for grid in seen)
    grids = [grid for grid in grids_like(seen, nprocs) if grid.nprocs > least]
    for result in check_sizes(model, inputs, grids[::-1]):
        if result.conflict:
            raise _conflict_error(result.grid, result.conflict)
        if not result.undetermined:
            checked.append(result.grid.nprocs)
        if len(checked) == MAX_SIZES:
            break
    return sorted(checked)


def check_sizes(
    model: SymbolicTrace, inputs: Mapping[str, int], grids: Sequence[Grid]
) -> Iterator[SizeCheck]:
    """Check the traces of several sizes, without times."""
    for grid in grids:
        try:
            trace = instantiate(model, grid, inputs, no_times)
        except (FormulaError, UsageError) as error:
            yield SizeCheck(grid, undetermined=str(error).splitlines()[0])
            continue
        yield SizeCheck(grid, conflict=_conflict(trace))


def _conflict(trace: Trace) -> str:
    try:
        return first_conflict(trace) or ""
    except FormatError as error:
        return str(error)  # a parameter has fewer values than there are calls
    except LimitError:
        return ""  # too many different calls to look at each


def _conflict_error(grid: Grid, conflict: str) -> ExtrapolationError:
    """Return the error for calls of a size that do not fit together."""
    return ExtrapolationError(
        f"the formulas that fit the traces do not fit together on {grid.nprocs} ranks ({grid}): {conflict}\n"
        "Add traces of further sizes; --no-check writes the result nevertheless"
    )
