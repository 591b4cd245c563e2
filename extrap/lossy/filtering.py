"""A rank's tree without the calls that were dropped: iterations in which nothing is left go too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from extrap.compressing import vec_of_array
from extrap.local import MOST, Local
from scalatrace.trace import elastic
from scalatrace.trace.compress import vec_of
from scalatrace.trace.nodes import Encoding, Event, Param, Peer
from scalatrace.trace.values import Vec

__all__ = ["Filter", "Leaf", "filtered"]

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Leaf:
    """What stays of an event node.

    Attributes:
        kept: per execution.
        values: position of a parameter -> its values, as stored, of all executions; only of those that
            differ from the trace's. Peers are ranks of the communicator.
    """

    kept: Mask
    values: Mapping[int, Sequence[int]]


@dataclass
class Filter:
    """What stays of the event nodes of one rank.

    Attributes:
        leaves: by id(Event); nodes that are not in it stay as they are.
        origin: id of an event node that is made -> the trace's node.
    """

    leaves: Mapping[int, Leaf]
    origin: dict[int, Event] = field(default_factory=dict)


def filtered(tree: Sequence[Local], rank: int, what: Filter) -> tuple[Local, ...]:
    """The tree with what stays of it."""
    once = np.ones(1, dtype=bool)
    return tuple(node for local in tree for node in _sifted(local, rank, what)[1](once))


Sifted = tuple[Ints, Callable[[Mask], tuple[Local, ...]]]
"""How often a node's content still runs, each time it is met; and the node for those times that remain."""


def _sifted(local: Local, rank: int, what: Filter) -> Sifted:
    return _leaf(local, rank, what) if local.event is not None else _loop(local, rank, what)


def _leaf(local: Local, rank: int, what: Filter) -> Sifted:
    event = local.event
    assert event is not None
    leaf = what.leaves.get(id(event))
    kept = np.ones(local.runs, dtype=bool) if leaf is None else leaf.kept
    counts = _sums(kept, _listed(local.repeat, local.met))

    def build(met: Mask) -> tuple[Local, ...]:
        if not counts.any():
            return ()
        if leaf is None and met.all():
            return (local,)
        changed = event
        if leaf is not None:
            params = tuple(_param(param, i, rank, leaf) for i, param in enumerate(event.params))
            changed = Event(event.repeat, event.op, event.signature, params, event.stats)
            what.origin[id(changed)] = event
        return (_local(local, counts[met], changed, ()),)

    return counts, build


def _loop(local: Local, rank: int, what: Filter) -> Sifted:
    children = [_sifted(child, rank, what) for child in local.children]
    kept = np.zeros(local.runs, dtype=bool)
    for counts, _ in children:
        kept |= counts > 0
    counts = _sums(kept, _listed(local.repeat, local.met))

    def build(met: Mask) -> tuple[Local, ...]:
        inner = tuple(node for _, make in children for node in make(kept))
        if not inner:
            return ()
        found = _local(local, counts[met], None, inner)
        return inner if found.repeat.constant == 1 else (found,)

    return counts, build


def _local(old: Local, counts: Ints, event: Event | None, children: tuple[Local, ...]) -> Local:
    return Local(old.key, _vec(counts), len(counts), int(counts.sum()), event, children)


def _listed(vec: Vec, n: int) -> Ints:
    if vec.constant is not None:
        return np.full(n, vec.constant, dtype=np.int64)
    return np.array(vec.first(n), dtype=np.int64)


def _sums(flags: Mask, lengths: Ints) -> Ints:
    """How many flags are set in each of the stretches of these lengths."""
    before = np.concatenate([[0], np.cumsum(flags)])
    ends = np.cumsum(lengths)
    found: Ints = before[ends] - before[ends - lengths]
    return found


def _param(param: Param, position: int, rank: int, leaf: Leaf) -> Param:
    n = len(leaf.kept)
    if position in leaf.values:
        values = np.array(leaf.values[position], dtype=np.int64)[leaf.kept]
        return Peer(Encoding.ABSOLUTE, _vec(values)) if isinstance(param, Peer) else _vec(values)
    value = elastic.at(param.value if isinstance(param, Peer) else param, rank)
    assert value is not None  # the rank runs the node
    if value.constant is None:
        value = _vec(_listed(value, n)[leaf.kept])
    return Peer(param.encoding, value) if isinstance(param, Peer) else value


def _vec(values: Ints) -> Vec:
    return vec_of(values.tolist()) if len(values) <= MOST else vec_of_array(values)
