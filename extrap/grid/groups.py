"""Groups of consecutive ranks: those of a node, whose leaders make other calls, or parts of all ranks."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.extrap.grid.observed import Sites
from scalatrace.formula import evaluate, parse_number
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["borders", "group_size", "may_be_groups"]

MIN_GROUP, MAX_GROUP = 3, 128
"""Ranks of a group. Pairs are even and odd ranks, as in binomial trees; multiples of 2 repeat too."""

MIN_GROUPS = 2
"""Complete groups that two traces at least must have."""

MAX_AT_END = 8
"""Ranks at the beginning or at the end that do something else, such as servers."""

MAX_BORDERS = 3
"""Borders between parts of all ranks, such as the components of a coupled program."""

_BORDERS = (
    *(f"P//{k}" for k in (2, 3, 4)),
    *(f"(P+{k - 1})//{k}" for k in (2, 3, 4)),
    *(text for k in (3, 4) for text in (f"{k - 1}*P//{k}", f"P-P//{k}", f"{k - 1}*(P//{k})")),
    *map(str, range(2, MAX_AT_END + 1)),
    *(f"P-{k}" for k in range(2, MAX_AT_END + 1)),
)
"""Formulas of borders, the likeliest first."""


def group_size(sites: Sequence[Sequence[Sites]]) -> int:
    """Return the period, in ranks, of the call sites that ranks execute in all traces; 0: none.

    Rank 0 may differ from the other leaders, and so may all ranks of a last, incomplete group.

    Args:
        sites: of the ranks of each trace.
    """
    largest = min(MAX_GROUP, max(map(len, sites)) // MIN_GROUPS)
    period = next((k for k in range(2, largest + 1) if _repeats(sites, k)), 0)
    return period if period >= MIN_GROUP else 0


def borders(sites: Sequence[Sequence[Sites]]) -> tuple[tuple[str, ...], ...]:
    """Return formulas of the rank numbers at which the executed call sites change.

    Args:
        sites: of the ranks of each trace.

    Returns:
        For each border, in ascending order, the formulas that have its values: a part of all ranks, or a few
        ranks at the beginning or at the end. Of borders whose order differs, the first of _BORDERS is taken.
    """
    nprocs = list(map(len, sites))
    fitting: dict[tuple[int, ...], list[str]] = {}
    for formula in _BORDERS:
        expression = parse_number(formula)
        values = tuple(int(evaluate(expression, {"P": size})) for size in nprocs)
        if values in fitting:
            fitting[values].append(formula)
        elif all(map(_are_parts, sites, values)) and all(
            _is_apart(values, known_values) for known_values in fitting
        ):
            fitting[values] = [formula]
    return (
        tuple(tuple(fitting[values_of_border]) for values_of_border in sorted(fitting))
        if len(fitting) <= MAX_BORDERS
        else ()
    )


def _is_apart(values: Sequence[int], known_values: Sequence[int]) -> bool:
    """Return whether a border is beyond another one in all traces, or before it."""
    pairs = list(zip(values, known_values, strict=True))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


def _are_parts(ranks: Sequence[Sites], first: int) -> bool:
    """Return whether all the first ranks have a call site that no others have, or the other way round."""
    if not 0 < first < len(ranks):
        return False
    parts = ranks[:first], ranks[first:]
    return any(
        frozenset.intersection(*own) - frozenset.union(*others) for own, others in (parts, parts[::-1])
    )


def may_be_groups(grids: Sequence[Grid]) -> bool:
    """Return whether grids are lines of ranks, or may be groups whose members were taken for dimensions."""
    ndims = len(grids[0].dims)
    fixed = sum(len(set(sides)) == 1 for sides in zip(*(grid.dims for grid in grids), strict=True))
    return ndims == 1 or (ndims > 2 and fixed == ndims - 1)


def _repeats(traces: Sequence[Sequence[Sites]], k: int) -> bool:
    if sum(len(ranks) >= MIN_GROUPS * k for ranks in traces) < 2:
        return False
    for ranks in traces:
        whole = len(ranks) - len(ranks) % k
        group = ranks[k : 2 * k]  # of the first leader that is not rank 0
        if len(ranks) >= 2 * k and (
            len(set(group)) == 1 or any(ranks[r] != group[r % k] for r in range(1, whole))
        ):
            return False
    return True
