"""MPI calls of one rank, and event nodes compiled for one rank (`CompiledEvent`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormatError
from scalatrace.trace.model import elastic
from scalatrace.trace.model.callsite import Stack, call_site
from scalatrace.trace.model.nodes import Event, Param, Peer, PredStats
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Communicator, Kind, Op
from scalatrace.trace.model.trace_tables import TraceTables
from scalatrace.trace.values.from_arrays import first_values
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = ["Call", "CompiledEvent", "decode_peers", "ended", "vec_at"]

WORLD = 0


class CompiledEvent:
    """An event node compiled for one rank, in the stream of one of its threads."""

    __slots__ = (
        "comm_at",
        "names",
        "node",
        "op",
        "own_pred",
        "rank",
        "rows",
        "stats_by_pred",
        "thread",
        "trace",
    )

    def __init__(self, trace: TraceTables, node: Event, rank: int, thread: int = 0) -> None:
        self.trace, self.node, self.rank, self.thread = trace, node, rank, thread
        self.op: Op = trace.ops[node.op]
        self.names = {name: i for i, (name, _) in enumerate(self.op.params)}
        self.comm_at = self.op.position(Kind.COMM)
        self.own_pred = trace.pred_index.get((node.op, node.signature), -1)
        self.rows = _rows(self)
        self.stats_by_pred: dict[int, PredStats] | None = None

    def table(self, n: int) -> Ints:
        """Return the values of the first n calls: [parameters, n]; peers are ranks.

        Raises:
            FormatError: there are fewer.
        """
        columns = [_first_values(self, param, n) for param in self.node.params]
        families = None if self.comm_at is None else columns[self.comm_at]
        for at, param in enumerate(self.node.params):
            if isinstance(param, Peer) and param.encoding is not Encoding.ABSOLUTE:
                columns[at] = decode_peers(self.trace, self.rank, param.encoding, columns[at], families)
        return np.array(columns, dtype=np.int64).reshape(len(columns), n)

    @property
    def constant(self) -> bool:
        """Return whether all calls of the rank have the same values."""
        return isinstance(self.rows, repeat)

    def resolve(self, position: int, values: tuple[int, ...]) -> Any:
        """Return the value of one of a call's stored integers."""
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
        """Return the caller's rank in the communicator of a call with these values."""
        family = WORLD if self.comm_at is None else values[self.comm_at]
        return self.trace.communicator(family, self.rank).rank

    def decoded(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Return the values of one call as a walk yields them, from stored ones: peers become ranks."""
        params = list(values)
        for i, param in enumerate(self.node.params):
            if isinstance(param, Peer) and param.encoding is not Encoding.ABSOLUTE:
                family = WORLD if self.comm_at is None else values[self.comm_at]
                params[i] = param.encoding.decode(values[i], *_self_and_size(self.trace, self.rank, family))
        return tuple(params)

    def stat(self, pred: int, index: int) -> Histogram | None:
        """Return the histogram of a statistic after a predecessor, in units of the statistic."""
        if self.stats_by_pred is None:
            self.stats_by_pred = {row.pred: row for row in self.node.stats}
        row = self.stats_by_pred.get(pred)
        histogram = None if row is None else row.histogram(index)
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

    def __init__(self, place: CompiledEvent, values: tuple[int, ...], pred: int) -> None:
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

    @property
    def thread(self) -> int:
        """Number of the thread that made the call, in the order of first calls; 0 where there is one."""
        return self.place.thread

    def __contains__(self, name: object) -> bool:
        return name in self.place.names

    def __getitem__(self, name: str) -> Any:
        """Return a parameter: int, Communicator, Datatype, str or tuple of ints. Raises KeyError."""
        position = self.place.names[name]
        return self.place.resolve(position, self.values)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter, or the default if the operation has none of that name."""
        return self[name] if name in self.place.names else default

    def raw(self, name: str) -> int:
        """Return a parameter as stored: an index where it refers to a table. Raises KeyError."""
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
        """The innermost frame outside wrappers of MPI; "" when no stack was taken."""
        return call_site(self.stack)

    def stat(self, name: str) -> Histogram | None:
        """Return this node's samples of a statistic for calls after this predecessor.

        All executions after one predecessor share them: one call's own sample is not kept.
        """
        index = self.place.trace.stat_index.get(name)
        return None if index is None else self.place.stat(self.pred, index)

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={self[name]!r}" for name in self.place.names)
        return f"<{self.op}({params}) of rank {self.rank}>"


def _rows(place: CompiledEvent) -> Iterator[tuple[int, ...]]:
    """Yield the values of all parameters, call after call."""
    columns = [_column(place, param) for param in place.node.params]
    if all(isinstance(column, repeat) for column in columns):
        return repeat(tuple(next(column) for column in columns))
    return chain(zip(*columns, strict=False), _check_end(place))


def _check_end(place: CompiledEvent) -> Iterator[tuple[int, ...]]:
    """Raise an error after the last values: an end would silently shorten the walk."""
    yield from ()
    raise FormatError(ended(place))


def ended(place: CompiledEvent) -> str:
    """Return the message for a parameter with too few values."""
    return f"a parameter of {place.op.name} has too few values for the calls of rank {place.rank}"


def vec_at(place: CompiledEvent, param: Param) -> Vec:
    """Return the stored values of a parameter; those of a peer in its encoding."""
    return _vec(place, param.value if isinstance(param, Peer) else param)


def _column(place: CompiledEvent, param: Param) -> Iterator[int]:
    if not isinstance(param, Peer):
        return iter(_vec(place, param))
    vec = _vec(place, param.value)
    if param.encoding is Encoding.ABSOLUTE:
        return iter(vec)
    at = place.comm_at
    families = Vec(WORLD) if at is None else _vec(place, place.node.params[at])
    if families.constant is None:
        return _peers(place, param.encoding, zip(vec, families, strict=False))
    own_rank, size = _self_and_size(place.trace, place.rank, families.constant)
    if vec.constant is not None:
        return repeat(param.encoding.decode(vec.constant, own_rank, size))
    decode = param.encoding.decode
    return (decode(value, own_rank, size) for value in vec)


def _first_values(place: CompiledEvent, param: Param, n: int) -> Ints:
    """Return the stored values of a parameter in the first n calls."""
    try:
        return first_values(vec_at(place, param), n)
    except ValueError:
        raise FormatError(ended(place)) from None


def decode_peers(
    trace: TraceTables, rank: int, encoding: Encoding, values: Ints, families: Ints | None
) -> Ints:
    """Return the ranks of a rank's stored peers, in the communicators of the calls.

    Args:
        families: of these communicators; None: all are MPI_COMM_WORLD.
    """
    if families is None:
        return encoding.decode_all(values, *_self_and_size(trace, rank, WORLD))
    peers = np.empty_like(values)
    for family in np.unique(families).tolist():
        is_in = families == family
        peers[is_in] = encoding.decode_all(values[is_in], *_self_and_size(trace, rank, family))
    return peers


def _peers(place: CompiledEvent, encoding: Encoding, pairs: Iterator[tuple[int, int]]) -> Iterator[int]:
    for value, family in pairs:
        own_rank, size = _self_and_size(place.trace, place.rank, family)
        yield encoding.decode(value, own_rank, size)


def _vec(place: CompiledEvent, param: Param) -> Vec:
    vec = None if isinstance(param, Peer) else elastic.at(param, place.rank)
    if vec is None:
        raise FormatError(f"a parameter of {place.op.name} has no value for rank {place.rank}")
    return vec


def _self_and_size(trace: TraceTables, rank: int, family: int) -> tuple[int, int]:
    comm = trace.communicator(family, rank)
    return comm.rank, max(len(comm.peers), 1)
