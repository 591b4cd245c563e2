"""The calls of one rank by their position, gathered from the nodes that recorded them into other events."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scalatrace.errors import FormatError
from scalatrace.extrap.alignment.rank_tree import RankNode
from scalatrace.operations import Category, operation
from scalatrace.trace.model import elastic
from scalatrace.trace.model.call import decode_peers
from scalatrace.trace.model.nodes import Event, Param, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.requests import OF_ALL
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.from_arrays import distinct, first_values
from scalatrace.trace.values.vec import Vec, special_name

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["CallStage", "Mark", "Order", "Shared", "Sources"]

Order = Sequence[tuple[int, int]]
"""For each call of a rank the number of its leaf, and how many calls of that leaf came before."""


class Mark(NamedTuple):
    """Parameters of a call by which it may differ from other calls of its call site.

    Attributes:
        kinds: wildcards in place of peers, datatypes, communicators, reductions, and levels of Pcontrol:
            begin and end of a kernel share a line of Python.
        tags: of its messages.
    """

    kinds: tuple[Hashable, ...]
    tags: tuple[int, ...] = ()

    def without_tags(self) -> Mark:
        """Return the mark that calls with different tags share."""
        return Mark(self.kinds)


class CallStage(NamedTuple):
    """A call's stage in a tree or butterfly.

    Attributes:
        number: the exponent of the distance between the rank and its partner, a power of two; -1: it is none.
        stages: their number.
        comm: the communicator.
    """

    number: int = -1
    stages: int = 0
    comm: int = 0


TAGS = ("tag", "sendtag", "recvtag")


class Shared:
    """Orders of calls that ranks with equal values at equal positions share.

    Everything is found by identity, so what is known keeps the objects that it was found for.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[int, int], tuple[Vec, tuple[int, ...]]] = {}
        self._equal: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._marks: dict[tuple[int, ...], tuple[Any, list[Mark]]] = {}
        self._gathered: dict[tuple[int, ...], tuple[Any, Vec]] = {}
        self._calls: dict[tuple[int, int], tuple[Any, Order, list[int]]] = {}

    def first(self, vec: Vec, n: int) -> tuple[int, ...]:
        """Return the first n values of a vec."""
        key = id(vec), n
        if key not in self._values:
            try:
                values = tuple(first_values(vec, n).tolist())
            except ValueError as error:
                raise FormatError(f"corrupt trace: {error}") from None
            self._values[key] = vec, self._equal.setdefault(values, values)
        return self._values[key][1]

    def marks(self, trace: Trace, event: Event, stored: Sequence[Sequence[int]], runs: int) -> list[Mark]:
        """Return the mark of each call of an event, from the values of its parameters as `first` has them."""
        key = id(event), runs, *map(id, stored)
        if key not in self._marks:
            self._marks[key] = (event, stored), list(_marks(trace, event, stored, runs))
        return self._marks[key][1]

    def calls(self, order: Order, positions: Sequence[int]) -> tuple[Order, list[int]]:
        """Return the calls at some positions of an order, and their leaves."""
        key = id(order), id(positions)
        if key not in self._calls:
            calls = [order[position] for position in positions]
            self._calls[key] = (order, positions), calls, sorted({leaf for leaf, _ in calls})
        return self._calls[key][1:]

    def gathered(self, calls: Order, used: Sequence[int], values: Sequence[Sequence[int]]) -> Vec:
        """Return the values of the calls that `calls` returned, from those of their leaves."""
        key = id(calls), *map(id, values)
        if key not in self._gathered:
            by_leaf = dict(zip(used, values, strict=True))
            self._gathered[key] = (calls, values), vec_of(by_leaf[leaf][k] for leaf, k in calls)
        return self._gathered[key][1]


class Sources:
    """The leaves of one rank's tree, and the leaf of the call at each position."""

    def __init__(
        self, trace: Trace, rank: int, leaves: Sequence[RankNode], order: Order, shared: Shared
    ) -> None:
        self._trace, self._rank, self._leaves, self._order = trace, rank, leaves, order
        self._shared = shared
        self._known: dict[tuple[int, int], tuple[Encoding | None, Sequence[int]]] = {}

    def event(self, positions: Sequence[int]) -> Event:
        """Return the event with the calls at these positions; its values are those of this rank."""
        calls, used = self._shared.calls(self._order, positions)
        event, runs = self._event(used[0]), self._leaves[used[0]].runs
        if len(used) == 1 and len(calls) == runs and all(n == k for n, (_, k) in enumerate(calls)):
            return event
        params = tuple(self._param(at, used, positions, calls) for at in range(len(event.params)))
        stats = tuple(stats for leaf in used for stats in self._event(leaf).stats)
        return replace(event, params=params, stats=stats)

    def marks(self, leaf: int) -> list[Mark]:
        """Return the mark of each call of a leaf."""
        event, runs = self._event(leaf), self._leaves[leaf].runs
        stored = [self._stored(leaf, at)[1] for at in range(len(event.params))]
        return self._shared.marks(self._trace, event, stored, runs)

    def stages(self, leaf: int) -> list[CallStage]:
        """Return the stage of each call of a leaf in a tree or butterfly."""
        event = self._event(leaf)
        runs = self._leaves[leaf].runs
        places = [at for at, param in enumerate(event.params) if isinstance(param, Peer)]
        comm_at = self._trace.ops[event.op].position(Kind.COMM)
        if not places or comm_at is None:
            return [CallStage()] * runs
        rows = [self._stored(leaf, comm_at)[1], *(self._peers(leaf, at) for at in places)]
        table = np.array(rows, dtype=np.int64)
        kinds, kind_of = distinct(table)
        stages = [self._stage(family, peers) for family, *peers in table[:, kinds].T.tolist()]
        return [stages[kind] for kind in kind_of.tolist()]

    def _stage(self, family: int, peers: Sequence[int]) -> CallStage:
        """Return the stage of a call with these peers in a communicator."""
        comm = self._trace.communicator(family, self._rank)
        count = max(len(comm.peers) - 1, 0).bit_length()
        if min(peers) < 0:
            return CallStage(stages=count, comm=family)
        number = _exponent({abs(comm.rank - peer) for peer in peers})
        return CallStage(number if number < count else -1, count, family)

    def requests(self, leaf: int) -> list[Sequence[int]] | None:
        """Return the ages of the requests that calls of a leaf complete; None if it is none of OF_ALL."""
        event = self._event(leaf)
        op = self._trace.ops[event.op]
        if not self.completes_all(leaf):
            return None
        at = next(k for k, (name, _) in enumerate(op.params) if name in ("request", "requests"))
        stored = self._stored(leaf, at)[1]
        if op.params[at][1] is Kind.ARRAY:
            return [self._trace.arrays[index].values if index >= 0 else () for index in stored]
        return [(age,) for age in stored]

    def completes_all(self, leaf: int) -> bool:
        """Return whether the calls of a leaf complete all requests that they are given."""
        return self._trace.ops[self._event(leaf).op].name in OF_ALL

    def completes_some(self, leaf: int) -> bool:
        """Return whether the calls of a leaf complete, or free, requests in another way."""
        name = self._trace.ops[self._event(leaf).op].name
        return not self.completes_all(leaf) and operation(name).category is Category.COMPLETION

    def makes_request(self, leaf: int) -> bool:
        """Return whether the calls of a leaf make requests."""
        return operation(self._trace.ops[self._event(leaf).op].name).makes_request

    def _event(self, leaf: int) -> Event:
        event = self._leaves[leaf].event
        assert event is not None
        return event

    def _param(self, at: int, used: Sequence[int], positions: Sequence[int], calls: Order) -> Param:
        stored = [self._stored(leaf, at) for leaf in used]
        encoding = stored[0][0]
        if all(other is encoding for other, _ in stored):
            gathered = self._shared.gathered(calls, used, [values for _, values in stored])
        else:
            encoding = Encoding.ABSOLUTE
            peers = {leaf: self._peers(leaf, at) for leaf in used}
            gathered = vec_of(peers[leaf][k] for leaf, k in calls)
        return gathered if encoding is None else Peer(encoding, gathered)

    def _stored(self, leaf: int, at: int) -> tuple[Encoding | None, Sequence[int]]:
        """Return the values of a parameter as stored; the encoding of peers."""
        if (leaf, at) not in self._known:
            param = self._event(leaf).params[at]
            encoding, value = (param.encoding, param.value) if isinstance(param, Peer) else (None, param)
            vec = elastic.at(value, self._rank)
            assert vec is not None
            self._known[leaf, at] = encoding, self._shared.first(vec, self._leaves[leaf].runs)
        return self._known[leaf, at]

    def _peers(self, leaf: int, at: int) -> Sequence[int]:
        """Return the ranks of peers in their communicators."""
        encoding, values = self._stored(leaf, at)
        comm_at = self._trace.ops[self._event(leaf).op].position(Kind.COMM)
        families = None if comm_at is None else np.array(self._stored(leaf, comm_at)[1], dtype=np.int64)
        assert encoding is not None
        stored = np.array(values, dtype=np.int64)
        peers: list[int] = decode_peers(self._trace, self._rank, encoding, stored, families).tolist()
        return peers


def _marks(trace: Trace, event: Event, stored: Sequence[Sequence[int]], runs: int) -> Iterator[Mark]:
    """Yield the mark of each call of an event with these values of its parameters."""
    kinds: list[Sequence[Hashable]] = []
    tags: list[Sequence[int]] = []
    for (name, kind), values in zip(trace.ops[event.op].params, stored, strict=True):
        if kind is Kind.PEER:
            kinds.append([special_name(value) for value in values])
        elif kind is Kind.TYPE:
            kinds.append([value if value < 0 else trace.types[value].description for value in values])
        elif kind is Kind.COMM or name in ("op", "level"):
            kinds.append(values)
        elif name in TAGS:
            tags.append(values)
    known: dict[tuple[Hashable, ...], Mark] = {}  # equal calls share their mark
    for row in zip(*kinds, *tags, strict=True) if kinds or tags else repeat((), runs):
        yield known.get(row) or known.setdefault(row, Mark(row[: len(kinds)], row[len(kinds) :]))


def _exponent(numbers: set[int]) -> int:
    """Return the exponent of the only number, a power of two; -1: there are several, or it is none."""
    number = numbers.pop() if len(numbers) == 1 else 0
    return number.bit_length() - 1 if number.bit_count() == 1 else -1
