"""Fit arrays of requests of completions and starts that name all open requests.

A program lists the requests that it has: those to neighbours that exist, however many that are. Their number
follows from how often the calls run that made them, whose own rules the traces show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.alignment.align import Aligned
from scalatrace.extrap.fit.fit_types import Chains
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Const, Expr, Value, Var, choose, names_in
from scalatrace.formula.rewrite import Substitution
from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.symbolic.field import ELEMENTS, EVERYWHERE, LOOPED, Field, Part, levels_of
from scalatrace.trace.symbolic.special_values import evaluate

__all__ = ["Path", "fit_open_requests", "open_requests"]

Path = tuple[Aligned, ...]
"""An event that makes requests, after the loops around it that the call which completes them is not in."""


def open_requests(
    nodes: Sequence[Aligned], before: tuple[Path, ...] = ()
) -> Iterator[tuple[Aligned, tuple[Path, ...]]]:
    """Yield each event that completes requests, with those that made the requests which are open then.

    Args:
        nodes: a sequence of nodes.
        before: makers of persistent requests before it.
    """
    open_now: tuple[Path, ...] = ()
    for node in nodes:
        if node.key is None:
            yield from open_requests(node.children, before)
        elif _category(node) in (Category.COMPLETION, Category.START):
            yield node, open_now or before
        if any(_category(event) is Category.COMPLETION for (*_, event) in _events(node)):
            open_now = ()
        open_now += tuple(path for path in _events(node) if _makes_request(path[-1], False))
        before += tuple(path for path in _events(node) if _makes_request(path[-1], True))


def fit_open_requests(
    space: Space,
    arrays: Mapping[int, Sequence[IntArray]],
    makers: Sequence[Path],
    repeat: Callable[[Aligned], Field],
    inside: Chains,
    own_loop: bool,
) -> Field | None:
    """Return the field of arrays that name all requests which are open; None if they do not.

    Args:
        space: where the arrays are.
        arrays: of each point and execution, as ages of requests.
        makers: what made the requests.
        repeat: returns how often a node runs.
        inside: the loops of each execution.
        own_loop: whether the innermost one is the call itself, which may run several times or not at all.
    """
    total: Expr = Const(0)
    levels = 0
    for path in makers:
        made = _made(path, repeat)
        if made is None:
            return None
        levels = max(levels, made[0])
        total = made[1] if total == Const(0) else total + made[1]
    if levels and own_loop:
        shifted = {f"{letter}{k}": Var(f"{letter}{k + 1}") for letter in "il" for k in range(1, levels + 1)}
        total, levels = Substitution(shifted).number(total), levels + 1
    counters = _counters(inside, arrays) if levels else (list(map(len, arrays.values())), {})
    if counters is None:
        return None
    runs, loops = counters
    points = np.repeat(list(arrays), runs)
    columns = {**{name: column[points] for name, column in space.columns.items()}, **loops}
    try:
        counts = np.broadcast_to(np.asarray(evaluate(total, columns)), points.shape).tolist()
    except FormulaError:
        return None
    rows = (row if len(row) == n else [*row] * n for row, n in zip(arrays.values(), runs, strict=True))
    if not all(map(_are_all, chain.from_iterable(rows), counts)):
        return None
    formulas = Const(levels), total, total - 1 - Var("i")
    return Field((Part(EVERYWHERE, ELEMENTS, formulas),))


def _counters(inside: Chains, points: Iterable[int]) -> tuple[list[int], dict[str, Ints]] | None:
    """Return how often each point executes, and the counters of its loops; None if they are too many."""
    chains = [inside[point] for point in points]
    small = [loops for loops in chains if loops is not None and loops.small]
    if len(small) < len(chains):
        return None
    columns = [loops.columns(0) for loops in small]
    names = columns[0]
    if any(row.keys() != names.keys() for row in columns):
        return None
    return [loops.runs for loops in small], {
        name: np.concatenate([row[name] for row in columns]) for name in names
    }


def _are_all(array: IntArray, count: int) -> bool:
    """Return whether an array has the ages of this many requests, the oldest first."""
    return array.length == count and tuple(array.vec.first(count)) == tuple(range(count - 1, -1, -1))


def _made(path: Path, repeat: Callable[[Aligned], Field]) -> tuple[int, Expr] | None:
    """Return how many requests an event makes, after the loops that the number depends on, or None."""
    result: Expr = Const(1)
    levels = 0
    for node in path:
        own = _count(repeat(node))
        # The loops of what is within others, or far before, are not those of the call that waits.
        if own is None or (own[0] and (node is not path[0] or _makes_request(path[-1], persistent=True))):
            return None
        levels = max(levels, own[0])
        result = own[1] if result == Const(1) else result * own[1]
    return levels, result


def _count(field: Field) -> tuple[int, Expr] | None:
    """Return how often a node runs, after the loops that the number depends on; None without a formula."""
    result: Expr = Const(0)
    levels = 0
    for part in reversed(field.parts):
        value: Value = Const(0)
        if part.formulas is not None and part.shape == LOOPED:
            levels, value = max(levels, levels_of(part)), part.formulas[1]
        elif part.formulas is not None and part.shape is None:
            value = part.formulas[0]
        elif part.formulas is not None:
            return None
        if not isinstance(value, Expr) or "i" in names_in(value):
            return None
        result = value if part.condition == EVERYWHERE else choose(part.condition, value, result)
    return levels, result


def _events(node: Aligned) -> Iterator[Path]:
    """Yield the events of a node, each after the loops of the node that it is in."""
    if node.key is not None:
        yield (node,)
    for child in node.children:
        yield from ((node, *path) for path in _events(child))


def _category(node: Aligned) -> Category | None:
    return None if node.key is None else operation(node.key.op).category


def _makes_request(event: Aligned, persistent: bool) -> bool:
    if event.key is None:
        return False
    row = operation(event.key.op)
    return row.makes_request and row.flow_later == persistent
