"""Lower a trace to what decides which calls meet: peers, tags, communicators, roots and requests.

Calls that nobody waits for are left out. Sizes are no part of it, so a loop in which they change has equal
iterations all the same.
"""

from __future__ import annotations

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import UsageError
from scalatrace.executor.fields import EngineQuantity, constant
from scalatrace.executor.operations import EngineOp, Flags, treatment
from scalatrace.executor.parameters import Parameters
from scalatrace.executor.program import OBJECTS, LoweredTrace, ProgramLowering, completion_fields
from scalatrace.operations import Category, Mode, Operation, is_collective, operation
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import POLLING
from scalatrace.trace.values.from_arrays import ranks_in
from scalatrace.trace.values.vec import ANY_TAG, UNDEFINED

__all__ = ["MatchLowering", "cancels", "stream_parameter"]

MIN_EDGED_ITERATIONS = 4
"""Loops of fewer iterations are executed like anything else."""

_STREAMS = ("", "win", "fh")
_POINT_TO_POINT = (Category.SEND, Category.RECV, Category.SENDRECV, Category.PROBE, Category.PERSISTENT)
_ABOUT_REQUESTS = (
    EngineOp.WAIT, EngineOp.WAITALL, EngineOp.WAITANY, EngineOp.WAITSOME, EngineOp.START, EngineOp.STARTALL,
    EngineOp.FREE, EngineOp.CANCEL,
)  # fmt: skip


def cancels(trace: Trace) -> bool:
    """Return whether a trace has calls that may end a receive without a message."""
    return any(op.name == "Cancel" for op in trace.ops)


def stream_parameter(op: Op) -> str:
    """Return the parameter that tells orders of collective calls apart: a window, a file, or "" for none."""
    return next((name for name in _STREAMS[1:] if op.index(name) is not None), "")


class MatchLowering(ProgramLowering):
    """Adds the nodes that other ranks may wait for.

    Args:
        blocking: nonblocking collectives wait where they start.
    """

    def __init__(self, trace: Trace, blocking: bool = False) -> None:
        super().__init__(trace, None, False)
        self._blocking, self._cancels, self._depth = blocking, cancels(trace), 0
        self._op_names = list(dict.fromkeys(op.name for op in trace.ops))
        self._streams = [stream_parameter(op) for op in trace.ops]

    def add(self, node: Node) -> None:
        self._depth += 1
        super().add(node)
        self._depth -= 1
        if self.nodes and self.nodes[-1].op is EngineOp.SEQUENCE:
            self.nodes.pop()  # a loop without nodes

    def steady(self, loop: LoweredTrace, start: int) -> int:
        is_outermost = self._depth == 1 and not self.streams
        is_steady = is_outermost and self._is_edged(loop.fields["repeat"]) and self._repeats_itself(start)
        return int(Flags.STEADY) if is_steady else 0

    def add_event(self, event: Event) -> None:
        counts = self.counts.get(id(event))
        name = self.trace.ops[event.op].name
        if not counts or (_is_inert(name) and not self._names_shared(event)):
            return
        row, op = operation(name), treatment(name).op
        makes = Flags.PERSISTENT if row.flow_later else Flags.NONBLOCKING if row.makes_request else 0
        lowered = LoweredTrace(op, event, flags=makes, fields={"repeat": self.repeat(event)})
        parameters = Parameters(self.trace, self.families, event, counts, "match calls")
        if op in _ABOUT_REQUESTS:
            try:
                self.used |= completion_fields(lowered, parameters)
            except UsageError:  # requests were recorded as a histogram: the call completes none
                lowered.fields["list"] = constant(UNDEFINED)
        elif is_collective(name):
            self._fill_meeting(lowered, parameters, row)
        elif row.category in _POINT_TO_POINT and not (row.matched and not row.is_matched_probe):
            self._fill_message(lowered, parameters, row)
        elif row.makes_request:  # complete at once, for other ranks
            lowered.op, lowered.fields["peer"] = EngineOp.MRECV, constant(UNDEFINED)
            lowered.flags |= Flags.NONBLOCKING
        elif not self._names_shared(event):
            return
        else:
            lowered.op = EngineOp.LOCAL
        if self.streams:
            self.fill_of_threads(lowered, parameters)
        if name in POLLING:
            lowered.flags |= Flags.POLLS
        self.nodes.append(lowered)
        lowered.end = len(self.nodes)

    def _names_shared(self, event: Event) -> bool:
        """Return whether an event names requests, windows or files, which threads of its rank may share."""
        shared = ("request", "requests", *(OBJECTS if self.trace.uses else ()))
        return self.streams and any(name in shared for name, _ in self.trace.ops[event.op].params)

    def _fill_message(self, lowered: LoweredTrace, parameters: Parameters, row: Operation) -> None:
        fields, names = lowered.fields, parameters.names
        fields["family"] = parameters.values("comm")
        sends = row.sends is not None
        receives = row.recvs is not None and row.recvs.peer in names
        if sends and receives:
            lowered.op = EngineOp.SENDRECV
        elif row.category is Category.PROBE and not row.matched:
            lowered.op = EngineOp.PROBE
        else:
            lowered.op = EngineOp.SEND if sends else EngineOp.RECV
        if row.sends is not None:
            parameters.elastic(row.sends.peer)  # or it is an error
            fields["peer"] = parameters.peer(row.sends.peer)
            fields["tag"] = _tag(parameters, "sendtag")
        if row.recvs is not None:
            of_receive = ("peer2", "tag2") if sends else ("peer", "tag")
            fields[of_receive[0]] = _peer(parameters, row.recvs.peer)
            fields[of_receive[1]] = _tag(parameters, "recvtag")
            if self._cancels and row.makes_request:
                lowered.flags |= Flags.CANCELLABLE
        lowered.flags |= {Mode.SYNCHRONOUS: Flags.SYNCHRONOUS, Mode.BUFFERED: Flags.BUFFERED}.get(row.mode, 0)
        if row.is_partitioned:
            lowered.flags |= Flags.PARTITIONED

    def _fill_meeting(self, lowered: LoweredTrace, parameters: Parameters, row: Operation) -> None:
        fields = lowered.fields
        stream = self._streams[parameters.event.op]
        lowered.op, lowered.collective = EngineOp.COLLECTIVE, self._op_names.index(parameters.name)
        fields["family"] = parameters.values("comm")
        fields["tag"] = parameters.values(stream) if stream else constant(-1)
        fields["tag2"] = constant(_STREAMS.index(stream))
        fields["peer"] = constant(UNDEFINED)
        if self._blocking and row.makes_request and not row.flow_later:
            lowered.flags |= Flags.AWAITED
        rooted = _root_flag(row)
        if rooted and "root" in parameters.names and not parameters.between_groups():
            lowered.flags |= rooted
            fields["peer"] = parameters.world_peers(
                parameters.values("root"), Encoding.ABSOLUTE, parameters.values("comm")
            )

    def _is_edged(self, repeat: EngineQuantity) -> bool:
        """Return whether all ranks run a loop equally often, and often enough."""
        if repeat.varies:
            return False
        everyone = ranks_in(self.trace.ranks)
        trips = np.unique(_repeats_by_rank(repeat, self.trace.nprocs)[everyone])
        return len(trips) == 1 and int(trips[0]) >= MIN_EDGED_ITERATIONS

    def _repeats_itself(self, start: int) -> bool:
        """Return whether what varies inside a loop, from a node on, is the same in each iteration."""
        once = np.ones(self.trace.nprocs, dtype=np.int64)
        around: list[tuple[int, Ints]] = []
        for number, node in enumerate(self.nodes[start:], start):
            while around and around[-1][0] <= number:
                around.pop()
            entered = around[-1][1] if around else once
            times = _total_repeats(node.fields["repeat"], entered)
            if times is None:
                return False
            if node.op is EngineOp.SEQUENCE:
                around.append((node.end, times))
            elif any(
                quantity.varies and not _repeats_evenly(quantity, times)
                for name, quantity in node.fields.items()
                if name != "repeat"
            ):
                return False
        return True


def _repeats_by_rank(quantity: EngineQuantity, nranks: int) -> Ints:
    return np.full(nranks, quantity.value) if quantity.values is None else quantity.values


def _repeats_evenly(quantity: EngineQuantity, times: Ints) -> bool:
    """Return whether a quantity that varies takes the same values whenever it is taken so many times."""
    assert quantity.class_of is not None
    assert quantity.offsets is not None
    taking_part = quantity.class_of >= 0
    lengths = np.diff(quantity.offsets)[quantity.class_of[taking_part]]
    return bool(quantity.period) and not (times[taking_part] % lengths).any()


def _total_repeats(repeat: EngineQuantity, entered: Ints) -> Ints | None:
    """Return how often each rank runs a node in as many entries; None: that is not always the same."""
    if not repeat.varies:
        return _repeats_by_rank(repeat, len(entered)) * entered
    if not _repeats_evenly(repeat, entered):
        return None
    assert repeat.class_of is not None
    assert repeat.offsets is not None
    assert repeat.pool is not None
    sums = np.add.reduceat(repeat.pool, repeat.offsets[:-1])
    lengths = np.diff(repeat.offsets)
    total: Ints = np.where(
        repeat.class_of >= 0, sums[repeat.class_of] * (entered // lengths[repeat.class_of]), 0
    )
    return total


def _is_inert(name: str) -> bool:
    """Return whether no call waits for calls of an operation, whatever their parameters are."""
    row = operation(name)
    if treatment(name).op in _ABOUT_REQUESTS or row.makes_request or is_collective(name):
        return False
    return row.category not in _POINT_TO_POINT and (row.recvs is None or row.recvs.peer != "source")


def _peer(parameters: Parameters, name: str) -> EngineQuantity:
    return parameters.peer(name) if name in parameters.names else constant(UNDEFINED)


def _tag(parameters: Parameters, name: str) -> EngineQuantity:
    tag_name = next((candidate for candidate in (name, "tag") if candidate in parameters.names), None)
    return constant(ANY_TAG) if tag_name is None else parameters.values(tag_name)


def _root_flag(row: Operation) -> int:
    """Return the flag of collective calls in which ranks wait for the root alone, or only the root waits."""
    sends, recvs = row.sends, row.recvs
    if row.category is not Category.COLLECTIVE or sends is None or recvs is None:
        return 0
    if sends.where == "root":
        return Flags.FROM_ROOT
    return Flags.AT_ROOT if recvs.where == "root" else 0
