"""Name the communication pattern of each loop from the pairs of ranks that exchange messages.

Rules look at distances modulo the number of ranks, places in the grid, and degrees. The first that holds
counts. Where collective calls send more bytes than messages have, the pattern is theirs. Communicators with
few bytes beside another one are ignored, such as that of a library's own collectives:

    star         all messages from or to one rank
    ring         one distance, round all ranks
    wavefront    neighbours; ranks receive before they send (in several directions: and not after)
    halo         neighbours of the grid
    transpose    places with swapped coordinates, or all pairs
    tree         one parent each; distances or xor of powers of two; rooted and reducing collectives
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction
from math import isqrt

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.operations import COLLECTIVES, Category, operation
from scalatrace.report.page.grid import hub_of, pairs
from scalatrace.report.scaling.runs import size_of_most_bytes
from scalatrace.report.style import number
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.model import nodes
from scalatrace.trace.model.nodes import Event, Param
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.from_arrays import distinct

__all__ = ["LoopPattern", "Receives", "loop_pattern", "recognise"]

MAX_PAIRS = 1 << 16
"""Pairs of ranks that are looked at; of more, these are a sample."""

MAX_NEIGHBOURS = 26
ALL_PAIRS_SHARE = 0.9
REGULAR_SHARE = 0.6
"""Pairs over ranks times distances: borders of a grid have fewer."""

MAX_BYTE_RATIO = 20
"""Bytes of the communicator with most messages over those of another, from which on this is ignored."""

MAX_TREE_DEPTH = 2
"""Depth of a tree over the logarithm of the number of its ranks."""


class Receives(Enum):
    """Where blocking receives stand in a loop: anywhere, some before the first send, or all of them.

    All of them only if the sends end in the same iteration: else messages of the one before may wait.
    """

    ANYWHERE = auto()
    SOME_FIRST = auto()
    ALL_FIRST = auto()


@dataclass(frozen=True)
class LoopPattern:
    """The pattern of a loop.

    Attributes:
        kind: "ring", "halo", "transpose", "tree", "wavefront", "star" or "irregular".
        detail: what distinguishes it, such as dimensions and distances.
        dims: dimensions of the grid in which the neighbours lie; 0 where there is no grid.
        messages, nbytes: per execution of the whole program.
        collectives: collective operations in the loop.
        collective_nbytes: bytes that they send, likewise.
        typical_nbytes: half of the bytes are in messages that are no smaller; 0: there are no messages.
        nested: the calls are those of the loops in it, since none directly in it moves anything.
        vectors: different distances from senders to receivers in the grid, the last one between ranks in a
            row; (): there are more than MAX_NEIGHBOURS, or no messages between ranks.
        sides: of this grid.
    """

    kind: str
    detail: str
    dims: int
    messages: int
    nbytes: int
    collectives: tuple[str, ...]
    collective_nbytes: int = 0
    typical_nbytes: float = 0.0
    nested: bool = False
    vectors: tuple[tuple[int, ...], ...] = ()
    sides: tuple[int, ...] = ()


def loop_pattern(
    trace: Trace,
    children: Sequence[nodes.Node],
    sent: Mapping[int, Sequence[Messages]],
    grid: Grid,
    bytes_sent: Mapping[int, int] | None = None,
) -> LoopPattern | None:
    """Return the pattern of the calls directly in a loop; of all calls below, where those move nothing.

    None: no call below moves anything.

    Args:
        sent: id of the event node -> its messages.
        bytes_sent: id of the event node -> bytes; None: those of collectives are not known.
    """
    bytes_sent = bytes_sent or {}
    direct = [node for node in children if isinstance(node, Event)]
    if (pattern := _pattern(trace, direct, sent, grid, bytes_sent)) is not None or len(direct) == len(
        children
    ):
        return pattern
    pattern = _pattern(trace, list(nodes.events(children)), sent, grid, bytes_sent)
    return None if pattern is None else replace(pattern, nested=True)


def _pattern(
    trace: Trace,
    events: Sequence[Event],
    sent: Mapping[int, Sequence[Messages]],
    grid: Grid,
    bytes_sent: Mapping[int, int],
) -> LoopPattern | None:
    ops = [trace.ops[event.op].name for event in events]
    by_collective: dict[str, int] = {}
    for event, op in zip(events, ops, strict=True):
        if operation(op).category in COLLECTIVES:
            by_collective[op] = by_collective.get(op, 0) + bytes_sent.get(id(event), 0)
    messages = [flow for event in events for flow in sent.get(id(event), ())]
    total = round(sum(len(flow.senders) * flow.count for flow in messages))
    nbytes = round(sum(len(flow.senders) * flow.count * flow.nbytes for flow in messages))
    amounts = total, nbytes, tuple(by_collective), sum(by_collective.values())
    if total and nbytes >= amounts[3]:
        events = _on_main_communicators(trace, events, sent)
        ops = [trace.ops[event.op].name for event in events]
        messages = [flow for event in events for flow in sent.get(id(event), ())]
        senders, receivers = pairs(messages, MAX_PAIRS)
        complete = sum(len(flow.senders) for flow in messages) <= MAX_PAIRS
        kind, detail, dims = recognise(senders, receivers, grid, _receives(events, ops, sent), complete)
        vectors = _drawn_vectors(senders, receivers, grid)
        if ignored := total - round(sum(flow.npairs * flow.count for flow in messages)):
            detail += f"; without {number(ignored)} messages on other communicators"
        return LoopPattern(
            kind, detail, dims, *amounts, _typical_nbytes(messages), vectors=vectors, sides=grid.dims
        )
    if not by_collective:
        return None
    most = max(by_collective, key=lambda op: ("lltoall" in op if not amounts[3] else 0, by_collective[op]))
    if "lltoall" in most:
        return LoopPattern("transpose", "every rank with every other of its communicator", 0, *amounts)
    detail = "mostly collectives" if total else "collectives only"
    return LoopPattern("tree", detail, 0, *amounts)


def _typical_nbytes(messages: Sequence[Messages]) -> float:
    sizes = defaultdict[float, Fraction](Fraction)
    for flow in messages:
        sizes[flow.nbytes] += flow.npairs * flow.count * flow.nbytes
    return size_of_most_bytes(sizes) or 0.0


def _on_main_communicators(
    trace: Trace, events: Sequence[Event], sent: Mapping[int, Sequence[Messages]]
) -> list[Event]:
    """Return the calls without a communicator, and those on communicators that are not ignored."""
    nbytes: dict[Param | None, float] = {}
    for event in events:
        if flows := sent.get(id(event)):
            comm = _communicator(trace, event)
            total = sum(flow.npairs * flow.count * flow.nbytes for flow in flows)
            nbytes[comm] = nbytes.get(comm, 0) + total
    most = max(nbytes.values())  # may exceed a float
    ignored = {comm for comm, total in nbytes.items() if MAX_BYTE_RATIO * total < most}
    return [
        event
        for event in events
        if (comm := _communicator(trace, event)) not in ignored or (comm is None and not sent.get(id(event)))
    ]


def _communicator(trace: Trace, event: Event) -> Param | None:
    """Return the parameter with the communicator of a call; None: it has none, or it starts a request."""
    at = trace.ops[event.op].position(Kind.COMM)
    return None if at is None else event.params[at]


def _receives(
    events: Sequence[Event], ops: Sequence[str], sent: Mapping[int, Sequence[Messages]]
) -> Receives:
    position, sends, pending = Receives.ANYWHERE, False, False
    for event, op in zip(events, ops, strict=True):
        row = operation(op)
        if row.category is Category.COMPLETION:
            pending = False
        if row.category is Category.RECV and not row.nonblocking:
            if sends:
                return Receives.ANYWHERE if position is Receives.ANYWHERE else Receives.SOME_FIRST
            position = Receives.ALL_FIRST
        if sent.get(id(event)):
            sends, pending = True, row.nonblocking
    return Receives.SOME_FIRST if pending and position is Receives.ALL_FIRST else position


def recognise(
    senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool = True
) -> tuple[str, str, int]:
    """Return kind, detail and dimensions of pairs of ranks.

    Args:
        complete: these are all pairs, not a sample.
    """
    keys = np.unique(senders * grid.nprocs + receivers)
    senders, receivers = np.divmod(keys, grid.nprocs)
    is_other = senders != receivers
    senders, receivers = senders[is_other], receivers[is_other]
    if not len(senders):
        return "irregular", "messages of each rank to itself", 0
    for rule in (_star, _ring, _butterfly, _neighbours, _all_pairs, _find_transpose, _powers, _tree):
        if result := rule(senders, receivers, grid, receives, complete):
            return result
    return _regular(senders, receivers, grid, complete)


Result = tuple[str, str, int] | None


def _star(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    if grid.nprocs < 4 or len(senders) < 3:
        return None
    hub = hub_of(senders, receivers)
    return None if hub is None else ("star", f"rank {hub} with all others", 0)


def _ring(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    if grid.nprocs < 3:
        return None
    distances = np.unique((receivers - senders) % grid.nprocs).tolist()
    is_two_way = len(distances) == 2 and sum(distances) == grid.nprocs
    wraps = bool((np.abs(receivers - senders) > grid.nprocs // 2).any())
    if (len(distances) == 1 or is_two_way) and wraps:
        step = min(distances[0], grid.nprocs - distances[0])
        way = "both ways" if is_two_way else "one way"
        return "ring", f"distance {step}, {way}", 1
    return None


def _vectors(senders: Ints, receivers: Ints, grid: Grid) -> Ints:
    """Return the different distances in the grid, one a row; short ways around a torus."""
    order = "F" if grid.column_major else "C"
    columns = []
    a = np.unravel_index(senders, grid.dims, order=order)  # type: ignore[call-overload]
    b = np.unravel_index(receivers, grid.dims, order=order)  # type: ignore[call-overload]
    for side, x, y in zip(grid.dims, a, b, strict=True):
        d = y - x
        far = 2 * np.abs(d) > side
        columns.append(np.where(far & (side > 2), d - np.sign(d) * side, d))
    first, _ = distinct(np.array(columns))
    return np.array(columns).T[first]


def _drawn_vectors(senders: Ints, receivers: Ints, grid: Grid) -> tuple[tuple[int, ...], ...]:
    is_other = senders != receivers
    if not is_other.any():
        return ()
    vectors = _vectors(senders[is_other], receivers[is_other], grid)
    return tuple(sorted(map(tuple, vectors.tolist()))) if len(vectors) <= MAX_NEIGHBOURS else ()


def _neighbours(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    vectors = _vectors(senders, receivers, grid)
    if len(vectors) > MAX_NEIGHBOURS or np.abs(vectors).max() > 1:
        return None
    used = int((vectors != 0).any(axis=0).sum())
    vector_set = set(map(tuple, vectors.tolist()))
    one_way = not any(tuple(-x for x in vector) in vector_set for vector in vector_set)
    way = ", ".join(f"({', '.join(map(str, vector))})" for vector in sorted(vector_set))
    if one_way and receives is not Receives.ANYWHERE:
        return "wavefront", f"{used}-D, towards {way}", used
    if one_way:
        return "halo", f"{used}-D, one direction: {way}", used
    if receives is Receives.ALL_FIRST:  # no halo: all ranks would wait
        return "wavefront", f"{used}-D, in turn towards {way}", used
    return "halo", f"{used}-D, {_neighbour_count(senders, len(vector_set), complete)}", used


def _neighbour_count(senders: Ints, distances: int, complete: bool) -> str:
    """Ranks of short grids have fewer neighbours than there are distances."""
    most = min(distances, int(np.bincount(senders).max())) if complete else distances
    return f"{most} neighbour" if most == 1 else f"{most} neighbours"


def _all_pairs(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    taking_part = len(np.union1d(senders, receivers))
    if complete and taking_part > 3 and len(senders) >= ALL_PAIRS_SHARE * taking_part * (taking_part - 1):
        return "transpose", "every rank with every other", 0
    return None


def _find_transpose(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    side = isqrt(grid.nprocs)
    if side * side == grid.nprocs and (senders % side * side + senders // side == receivers).all():
        return "transpose", f"{side} x {side} ranks: row with column", 2
    return None


def _butterfly(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    """Exclusive-or with powers of two. Neighbours in longer grids have others, too (1 and 2: 3)."""
    masks = np.unique(senders ^ receivers).tolist()
    if max(grid.dims) > 2 and all(d & (d - 1) == 0 for d in masks):
        return "tree", f"butterfly: xor {', '.join(map(str, masks))}", 0
    return None


def _powers(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    distances = np.unique(np.abs(receivers - senders)).tolist()
    if len(distances) > 1 and all(d & (d - 1) == 0 for d in distances):
        return "tree", f"distances {', '.join(map(str, distances))}", 0
    return None


def _tree(senders: Ints, receivers: Ints, grid: Grid, receives: Receives, complete: bool) -> Result:
    """A tree: each rank but the root has one partner with a lower rank, and few steps lead to the root."""
    child, parent = np.maximum(senders, receivers), np.minimum(senders, receivers)
    links = np.unique(child * grid.nprocs + parent)
    child, parent = np.divmod(links, grid.nprocs)
    if not complete or len(np.unique(child)) != len(child) or len(child) < 3:
        return None
    up = np.arange(grid.nprocs)
    up[child] = parent
    steps = MAX_TREE_DEPTH * grid.nprocs.bit_length()
    ancestors = child
    for _ in range(steps):
        ancestors = up[ancestors]
    is_tree = bool((up[ancestors] == ancestors).all()) and len(np.unique(ancestors)) == 1
    return ("tree", f"{len(child) + 1} ranks", 0) if is_tree else None


def _regular(senders: Ints, receivers: Ints, grid: Grid, complete: bool) -> tuple[str, str, int]:
    """Few distances in both directions, which most ranks have, are a wide halo; else it is irregular."""
    vectors = _vectors(senders, receivers, grid)
    vector_set = set(map(tuple, vectors.tolist()))
    expected = len(vector_set) * len(np.unique(senders))
    if len(vector_set) <= MAX_NEIGHBOURS and len(senders) >= REGULAR_SHARE * expected:
        reach = int(np.abs(vectors).max())
        if all(tuple(-x for x in vector) in vector_set for vector in vector_set):
            used = int((vectors != 0).any(axis=0).sum())
            return (
                "halo",
                f"{used}-D, {_neighbour_count(senders, len(vector_set), complete)}, up to {reach} apart",
                used,
            )
    degrees = np.bincount(senders)
    partners = degrees[degrees > 0]
    least, most = int(partners.min()), int(partners.max())
    partners_text = f"{most} partner" if most == 1 else f"{most} partners"
    return (
        "irregular",
        f"{partners_text} of each rank" if least == most else f"{least} to {partners_text} of each rank",
        0,
    )
