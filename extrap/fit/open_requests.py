"""Fit the requests that a call completes where these are all that the calls before it began.

A program lists the requests that it has: those to neighbours that exist, however many that are. Their number
follows from how often the calls run that began them, which the traces show with each of these calls' own partners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from scalatrace.extrap.alignment.align import Aligned
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Const, Expr, Var, choose
from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.symbolic.field import ELEMENTS, EVERYWHERE, Field, Part
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
    arrays: Mapping[int, IntArray],
    makers: Sequence[Path],
    repeat: Callable[[Aligned], Field],
) -> Field | None:
    """Return the field of arrays that name all requests which are open; None if they do not.

    Args:
        space: where the arrays are.
        arrays: of each point, as ages of requests.
        makers: what made the requests.
        repeat: returns how often a node runs.
    """
    total: Expr = Const(0)
    for path in makers:
        made: Expr = Const(1)
        for node in path:
            count = _count(repeat(node))
            if count is None:
                return None
            made = count if made == Const(1) else made * count
        total = made if total == Const(0) else total + made
    points = np.array(sorted(arrays), dtype=np.int64)
    columns = {name: column[points] for name, column in space.columns.items()}
    counts = np.broadcast_to(np.asarray(evaluate(total, columns)), points.shape)
    if not all(_are_all(arrays[int(p)], int(n)) for p, n in zip(points, counts, strict=True)):
        return None
    return Field((Part(EVERYWHERE, ELEMENTS, (total, total - 1 - Var("i"))),))


def _are_all(array: IntArray, count: int) -> bool:
    """Return whether an array has the ages of this many requests, the oldest first."""
    return array.length == count and tuple(array.vec.first(count)) == tuple(range(count - 1, -1, -1))


def _count(field: Field) -> Expr | None:
    """Return how often a node runs, as one formula; None if that changes from execution to execution."""
    result: Expr = Const(0)
    for part in reversed(field.parts):
        value = Const(0) if part.formulas is None else part.formulas[0]
        if part.shape is not None or not isinstance(value, Expr):
            return None
        result = value if part.condition == EVERYWHERE else choose(part.condition, value, result)
    return result


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
