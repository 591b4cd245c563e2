"""Tasks in trees and meshes: parents, children, coordinates, neighbours; -1 is a task that is not there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scalatrace.codegen.conceptual.values.operators import UndefinedError, fit

__all__ = [
    "knomial_child", "knomial_children", "knomial_parent",
    "mesh_coordinate", "mesh_distance", "mesh_neighbor", "tree_child", "tree_parent",
]  # fmt: skip


def tree_parent(task: int, fanout: int = 2) -> int:
    """Return a task's parent in a tree, -1 for the root's."""
    if fanout < 1:
        raise UndefinedError(f"a tree with {fanout} children per task")
    return (task - 1) // fanout if task > 0 else -1


def tree_child(task: int, child: int, fanout: int = 2) -> int:
    """Return a task's child by its number from 0, -1 when a task has not so many."""
    if fanout < 1:
        raise UndefinedError(f"a tree with {fanout} children per task")
    return fit(task * fanout + child + 1) if task >= 0 and 0 <= child < fanout else -1


def _arity(k: int) -> None:
    if k < 2:
        raise UndefinedError(f"a k-nomial tree with k = {k}")


def knomial_parent(task: int, k: int, tasks: int) -> int:
    """Return the task with the foremost digit (base k) taken away; -1 when there is none."""
    _arity(k)
    if not 0 < task < tasks:
        return -1
    scale = 1
    while scale * k <= task:
        scale *= k
    return task % scale


def _knomial(task: int, k: int, tasks: int) -> list[int]:
    """A task's children: it with one more digit (base k) in front of all that it has."""
    _arity(k)
    if not 0 <= task < tasks:
        return []
    scale, tasks_below = 1, []
    while scale <= task:
        scale *= k
    while scale < tasks:
        tasks_below += [task + digit * scale for digit in range(1, k) if task + digit * scale < tasks]
        scale *= k
    return tasks_below


def knomial_children(task: int, k: int, tasks: int) -> int:
    """Return how many children a task has in a k-nomial tree."""
    return len(_knomial(task, k, tasks))


def knomial_child(task: int, child: int, k: int, tasks: int) -> int:
    """Return a task's child by its number from 0, -1 when there are not so many."""
    result = _knomial(task, k, tasks)
    return result[child] if 0 <= child < len(result) else -1


def _coordinates(sizes: Sequence[int], task: int) -> list[int] | None:
    """A task's place, the fastest dimension first; None off the mesh."""
    if any(size < 1 for size in sizes):
        raise UndefinedError("a mesh with a dimension below 1")
    if not 0 <= task < math.prod(sizes):
        return None
    place = []
    for size in sizes:
        place.append(task % size)
        task //= size
    return place


def mesh_coordinate(sizes: Sequence[int], task: int, axis: int) -> int:
    """Return a task's coordinate along an axis, -1 off the mesh."""
    if not 0 <= axis < len(sizes):
        raise UndefinedError(f"axis {axis} of a mesh with {len(sizes)}")
    place = _coordinates(sizes, task)
    return -1 if place is None else place[axis]


def mesh_neighbor(sizes: Sequence[int], wraps: Sequence[bool], task: int, offsets: Sequence[int]) -> int:
    """Return the task at an offset, -1 off the mesh."""
    place = _coordinates(sizes, task)
    if place is None:
        return -1
    result = 0
    scale = 1
    for size, wrap, at, offset in zip(sizes, wraps, place, offsets, strict=True):
        neighbor = (at + offset) % size if wrap else at + offset
        if not 0 <= neighbor < size:
            return -1
        result += neighbor * scale
        scale *= size
    return result


def mesh_distance(sizes: Sequence[int], wraps: Sequence[bool], first: int, second: int) -> int:
    """Return the number of steps between two tasks, -1 when one is off the mesh."""
    ends = _coordinates(sizes, first), _coordinates(sizes, second)
    if ends[0] is None or ends[1] is None:
        return -1
    steps = [abs(a - b) for a, b in zip(ends[0], ends[1], strict=True)]
    return sum(min(n, size - n) if wrap else n for n, size, wrap in zip(steps, sizes, wraps, strict=True))
