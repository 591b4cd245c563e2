"""The walk: one rank's calls from the compressed form, without expanding anything.

The tree is compiled for the rank: repeats and parameters become iterators, sequences that the rank never
enters go away, and what is constant is worked out once. One generator with its own stack then runs the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from scalatrace.errors import FormatError
from scalatrace.trace.model import elastic
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.nodes import Encoding, Event, Node, Param, Peer
from scalatrace.trace.model.tables import Communicator, Kind, Op
from scalatrace.trace.query.counting import runs
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["Call", "Place", "calls", "distinct_calls", "ended", "vec_at", "walk"]

WORLD = 0


class Place:
    """An event node as one rank sees it."""

    __slots__ = ("comm_at", "histograms", "names", "node", "op", "own_pred", "rank", "rows", "trace")

    def __init__(self, trace: Trace, node: Event, rank: int) -> None:
        self.trace, self.node, self.rank = trace, node, rank
        self.op: Op = trace.ops[node.op]
        self.names = {name: i for i, (name, _) in enumerate(self.op.params)}
        self.comm_at = self.op.position(Kind.COMM)
        self.own_pred = trace.pred_index.get((node.op, node.signature), -1)
        self.rows = _rows(self)
        self.histograms: dict[int, tuple[Histogram | None, ...]] | None = None

    @property
    def constant(self) -> bool:
        """Whether all calls of the rank have the same values."""
        return isinstance(self.rows, repeat)

    def resolve(self, position: int, values: tuple[int, ...]) -> Any:
        """What one of a call's stored integers stands for."""
        value = values[position]
        kind, trace = self.op.params[position][1], self.trace
        if kind is Kind.INT or kind is Kind.PEER or value < SPECIAL_MAX:
            return value
        if kind is Kind.COMM:
            return trace.communicator(value, self.rank)
        if kind is Kind.TYPE:
            return trace.datatype(value)
        return trace.string(value) if kind is Kind.STRING else trace.array(value, self.own(values))

    def own(self, values: tuple[int, ...]) -> int:
        """The caller's rank in the communicator of a call with these values."""
        family = WORLD if self.comm_at is None else values[self.comm_at]
        return self.trace.communicator(family, self.rank).rank

    def decoded(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Parameters of one call as a walk has them, from those of the file: peers become ranks."""
        given = list(values)
        for i, param in enumerate(self.node.params):
            if isinstance(param, Peer) and param.encoding is not Encoding.ABSOLUTE:
                family = WORLD if self.comm_at is None else values[self.comm_at]
                given[i] = param.encoding.decode(values[i], *_self_and_size(self, family))
        return tuple(given)

    def stat(self, pred: int, index: int) -> Histogram | None:
        """The histogram of a statistic after a predecessor, in units of the statistic."""
        if self.histograms is None:
            self.histograms = {s.pred: s.histograms for s in self.node.stats}
        found = self.histograms.get(pred, ())
        histogram = found[index] if index < len(found) else None
        return None if histogram is None else histogram.scaled(self.trace.stats[index].resolution)


class Call:
    """One MPI call of one rank.

    Attributes:
        place: the event node as this rank sees it.
        values: the parameters as stored, in the op's order; peers are ranks of the call's communicator,
            tables are indexed. Costs nothing, unlike `params`.
        pred: index into Trace.preds of the call before; -1 when that has no entry.
    """

    __slots__ = ("place", "pred", "values")

    def __init__(self, place: Place, values: tuple[int, ...], pred: int) -> None:
        self.place = place
        self.values = values
        self.pred = pred

    @property
    def op(self) -> str:
        """Operation, without `MPI_`."""
        return self.place.op.name

    @property
    def node(self) -> Event:
        """The event node this call belongs to."""
        return self.place.node

    @property
    def rank(self) -> int:
        """World rank of the caller."""
        return self.place.rank

    def __contains__(self, name: object) -> bool:
        return name in self.place.names

    def __getitem__(self, name: str) -> Any:
        """A parameter: int, Communicator, Datatype, str or tuple of ints. Raises KeyError."""
        position = self.place.names[name]
        return self.place.resolve(position, self.values)

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter, or the default when the operation has none of that name."""
        return self[name] if name in self.place.names else default

    def raw(self, name: str) -> int:
        """A parameter as stored: an index where it refers to a table. Raises KeyError when there is none."""
        return self.values[self.place.names[name]]

    @property
    def params(self) -> dict[str, Any]:
        """All parameters, resolved."""
        return {name: self.place.resolve(i, self.values) for name, i in self.place.names.items()}

    @property
    def comm(self) -> Communicator:
        """The call's communicator; MPI_COMM_WORLD for operations that have none."""
        return self.place.trace.communicator(self.family, self.place.rank)

    @property
    def family(self) -> int:
        """Family of the call's communicator."""
        at = self.place.comm_at
        return WORLD if at is None else self.values[at]

    @property
    def stack(self) -> Stack:
        """Frames, innermost first."""
        return self.place.trace.stack(self.place.node.signature)

    @property
    def site(self) -> str:
        """The innermost frame; "" when no stack was taken."""
        stack = self.stack
        return stack[0] if stack else ""

    def stat(self, name: str) -> Histogram | None:
        """The samples of a statistic that this node has for calls after this predecessor.

        All executions after one predecessor share them: one call's own sample is not kept.
        """
        index = self.place.trace.stat_index.get(name)
        return None if index is None else self.place.stat(self.pred, index)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={self[name]!r}" for name in self.place.names)
        return f"<{self.op}({given}) of rank {self.rank}>"


class _Step:
    """A compiled node: an event's place, or the steps of a sequence; None and () for the other."""

    __slots__ = ("fixed", "place", "repeats", "steps")

    def __init__(self, repeats: Vec, place: Place | None, steps: tuple[_Step, ...]) -> None:
        self.fixed = repeats.constant
        self.repeats = iter(repeats)
        self.place, self.steps = place, steps


def _compile(trace: Trace, nodes: AnySequence[Node], rank: int, entry_count: int) -> tuple[_Step, ...]:
    """Compile the nodes that the rank executes when it enters their sequence `entry_count` times."""
    steps = []
    for node in nodes:
        times = runs(node.repeat, rank, entry_count)
        if times <= 0:
            continue
        repeats = elastic.at(node.repeat, rank)
        assert repeats is not None  # or it would run 0 times
        if isinstance(node, Event):
            steps.append(_Step(repeats, Place(trace, node, rank), ()))
        elif inner := _compile(trace, node.nodes, rank, times):
            steps.append(_Step(repeats, None, inner))
    return tuple(steps)


def walk(trace: Trace, rank: int) -> Iterator[Call]:
    """The calls of a rank; see Trace.walk."""
    steps, at, left, pred = _compile(trace, trace.nodes, rank, 1), 0, 1, 0
    stack: list[tuple[tuple[_Step, ...], int, int]] = []
    while True:
        if at == len(steps):
            left -= 1
            if left > 0:
                at = 0
            elif stack:
                steps, at, left = stack.pop()
            else:
                return
            continue
        step = steps[at]
        at += 1
        times = step.fixed
        if times is None:
            times = next(step.repeats)
        place = step.place
        if place is not None:
            for values in islice(place.rows, times):
                yield Call(place, values, pred)
                pred = place.own_pred
        elif times > 0:
            stack.append((steps, at, left))
            steps, at, left = step.steps, 0, times


def calls(trace: Trace, event: Event, rank: int) -> Iterator[Call]:
    """One node's calls by a rank, as if nothing stood around it: no predecessor, and no end of its own."""
    place = Place(trace, event, rank)
    return (Call(place, values, -1) for values in place.rows)


def distinct_calls(trace: Trace, event: Event, rank: int, times: int) -> Iterator[tuple[Call, int]]:
    """A node's calls by a rank that runs it `times` times, each with a count; constant ones once."""
    stream = calls(trace, event, rank)
    first = next(stream)
    if first.place.constant:
        yield first, times
        return
    yield first, 1
    yield from ((call, 1) for call in islice(stream, times - 1))


def _rows(place: Place) -> Iterator[tuple[int, ...]]:
    """The values of all parameters, call after call."""
    columns = [_column(place, param) for param in place.node.params]
    if all(isinstance(column, repeat) for column in columns):
        return repeat(tuple(next(column) for column in columns))
    return chain(zip(*columns, strict=False), _ended(place))


def _ended(place: Place) -> Iterator[tuple[int, ...]]:
    """What follows the last values: not an end, which would silently shorten the walk."""
    yield from ()
    raise FormatError(ended(place))


def ended(place: Place) -> str:
    """Return the message for a parameter with too few values."""
    return f"a parameter of {place.op.name} has too few values for the calls of rank {place.rank}"


def vec_at(place: Place, param: Param) -> Vec:
    """Return the stored values of a parameter; those of a peer in its encoding."""
    return _vec(place, param.value if isinstance(param, Peer) else param)


def _column(place: Place, param: Param) -> Iterator[int]:
    if not isinstance(param, Peer):
        return iter(_vec(place, param))
    vec = _vec(place, param.value)
    if param.encoding is Encoding.ABSOLUTE:
        return iter(vec)
    at = place.comm_at
    families = Vec(WORLD) if at is None else _vec(place, place.node.params[at])
    if families.constant is None:
        return _peers(place, param.encoding, zip(vec, families, strict=False))
    own, size = _self_and_size(place, families.constant)
    if vec.constant is not None:
        return repeat(param.encoding.decode(vec.constant, own, size))
    decode = param.encoding.decode
    return (decode(value, own, size) for value in vec)


def _peers(place: Place, encoding: Encoding, pairs: Iterator[tuple[int, int]]) -> Iterator[int]:
    for value, family in pairs:
        own, size = _self_and_size(place, family)
        yield encoding.decode(value, own, size)


def _vec(place: Place, param: Param) -> Vec:
    vec = None if isinstance(param, Peer) else elastic.at(param, place.rank)
    if vec is None:
        raise FormatError(f"a parameter of {place.op.name} has no value for rank {place.rank}")
    return vec


def _self_and_size(place: Place, family: int) -> tuple[int, int]:
    comm = place.trace.communicator(family, place.rank)
    return comm.rank, max(len(comm.peers), 1)
