"""Execute a trace without time: whose message each receive from any source gets, or why ranks wait for ever.

What a call waits for (dissertation §4.4.4): a receive for its message, a synchronous send for its receive, a
collective for its communicator, a completion for its requests. Receives from any source are decided when no
rank can go on otherwise, by a policy (native/matching.cpp, native/choices.cpp).

A poll that succeeded in the recorded run waits for what it found, as long as other ranks can go on. So the
execution follows the order of the run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Ints
from scalatrace.errors import FormatError, LimitError
from scalatrace.executor import binding
from scalatrace.executor.fields import pointer
from scalatrace.executor.match_counts import MessageCounts, channel_of
from scalatrace.executor.match_program import MatchLowering
from scalatrace.executor.operations import EngineOp, Flags
from scalatrace.executor.parameters import row_of
from scalatrace.executor.program import LoweredTrace
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.from_arrays import ranks_in
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = [
    "MatchExecution",
    "MatchedNode",
    "Matching",
    "SenderPolicy",
    "SlotState",
    "Wait",
    "WaitKind",
]


class SenderPolicy(IntEnum):
    """enum st_sim_policy: which sender a receive from any source takes."""

    CAREFUL = 0
    """Follows the recorded run where that shows; else messages in the order of the program's text and
    iterations, and of those sent by one line in one iteration in turns: the same relative sources in every
    iteration."""
    IN_TURNS = 1
    FAIR = 2
    LOWEST = 3
    HIGHEST = 4
    ADVERSE = 5
    """Takes what other receives need, if it may: the way into a deadlock that MPI allows."""
    DRAWN = 6


class SlotState(IntEnum):
    """enum st_sim_slot_state."""

    UNFILLED = 0
    FILLED = 1
    DIFFERS = 2
    STARTED = 3
    NAMED = 4


class WaitKind(IntEnum):
    """enum st_sim_wait_kind."""

    FOR_RECEIVE = 0
    FOR_MESSAGE = 1
    FOR_MEMBERS = 2


class Wait(NamedTuple):
    """What a rank waits for: struct st_sim_wait, with nodes as events.

    Attributes:
        event: of its call.
        made_by: of the call that made the request.
    """

    rank: int
    event: Event
    kind: WaitKind
    peer: int
    tag: int
    family: int
    made_by: Event
    meeting: int


@dataclass(frozen=True)
class MatchedNode:
    """What the executions of a node by a rank matched.

    Attributes:
        slots: [n, 4] source, tag, family, `SlotState`.
        repeats: [m, 3] first, last + 1, times: slots that come again so many times.
    """

    slots: Ints
    repeats: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))


class Matching:
    """A trace that is lowered once and executed several times.

    Args:
        blocking: nonblocking collectives wait where they start.

    Raises:
        UsageError: parameters that decide matches were recorded as histograms.
        LimitError: too many values vary.
    """

    def __init__(self, trace: Trace, blocking: bool = False) -> None:
        self._lowering = MatchLowering(trace, blocking)
        self.program = self._lowering.program()
        self.trace = trace
        self._counts = MessageCounts(self._lowering)

    def certain(self, events: Collection[Event]) -> dict[int, dict[int, MatchedNode]]:
        """Return what ranks match, by id of the events whose matches are certain on every rank."""
        result: dict[int, dict[int, MatchedNode]] = {id(event): {} for event in events}
        for node in self.program.nodes:
            if id(node.event) in result:
                for rank, matched in self._certain_ranks(node):
                    if matched is None:
                        del result[id(node.event)]
                        break
                    result[id(node.event)][rank] = matched
        return result

    def ranks_of(self, node: LoweredTrace) -> Iterator[int]:
        """Yield the ranks that execute a node."""
        for ranks, _ in self._lowering.counts[id(node.event)]:
            yield from ranks

    def members(self, family: int, rank: int) -> tuple[int, ...]:
        """Return the ranks that the trace has of a rank's communicator."""
        table = self._lowering.families.tables[family]
        table = table.everyone or table
        number = 0 if table.instance is None else int(table.instance[rank])
        return tuple(table.members[table.offsets[number] : table.offsets[number + 1]].tolist())

    def _certain_ranks(self, node: LoweredTrace) -> Iterator[tuple[int, MatchedNode | None]]:
        assert node.event is not None
        names = ("peer2", "tag2") if node.op is EngineOp.SENDRECV else ("peer", "tag")
        quantities = [node.fields["family"], *(node.fields[name] for name in names)]
        nranks = self.trace.nprocs
        for ranks, count in self._lowering.counts[id(node.event)]:
            for rank in ranks:
                width = count if any(quantity.varies for quantity in quantities) else 1
                columns = [row_of(quantity, rank, width, nranks) for quantity in quantities]
                slots = np.zeros((width, 4), dtype=np.int64)
                for i, (family, source, tag) in enumerate(np.column_stack(columns).tolist()):
                    if source != ANY_SOURCE and not (0 <= source < nranks and source in self.trace.ranks):
                        slots[i] = 0, 0, family, SlotState.UNFILLED
                        continue
                    channel = int(channel_of(node, np.array(family)))
                    *_, source, tag = self._counts.certain_kind((channel, rank, source, tag))
                    if source == ANY_SOURCE or tag == ANY_TAG or node.flags & Flags.CANCELLABLE:
                        yield rank, None
                        return
                    slots[i] = source, tag, family, SlotState.FILLED
                repeats = [(0, 1, count - 1)] if width == 1 and count > 1 else []
                yield rank, MatchedNode(slots, np.array(repeats, dtype=np.int64).reshape(-1, 3))

    def execute(
        self,
        policy: SenderPolicy,
        synchronous: bool,
        recorded: Collection[Event] = (),
        polls_wait: bool = True,
        keeps_senders: bool = False,
        seed: int = 0,
    ) -> MatchExecution:
        """Execute the trace once.

        Args:
            synchronous: all sends wait for their receives, the worst that MPI allows, and each member of a
                collective call for all others; else only Ssend and its kin do.
            recorded: event nodes whose matches are wanted.
            polls_wait: a poll (Test, Iprobe) waits like a Wait or Probe where nothing else can go on.
            keeps_senders: all starts of a persistent receive get messages of one sender.
            seed: of `SenderPolicy.DRAWN`.

        Raises:
            FormatError: the trace contradicts itself.
            LimitError: out of memory.
        """
        wanted = {id(event) for event in recorded}
        counts = self._counts
        present = np.zeros(self.trace.nprocs, dtype=np.uint8)
        present[ranks_in(self.trace.ranks)] = 1
        matching = binding.EngineMatching(
            policy=policy,
            synchronous=synchronous,
            polls_wait=polls_wait,
            keeps_senders=keeps_senders,
            recording=bool(wanted),
            seed=seed,
            present=pointer(present, ctypes.c_uint8),
            ncertain=len(counts.certain),
            nsent=len(counts.sent),
            nwanted=len(counts.wanted),
            certain=pointer(counts.certain, ctypes.c_int64),
            sent=pointer(counts.sent, ctypes.c_int64),
            wanted=pointer(counts.wanted, ctypes.c_int64),
        )
        self.program.flag(Flags.RECORDED, wanted)
        struct = self.program.struct()
        status, executed, message = ctypes.c_int(), ctypes.c_int64(), ctypes.create_string_buffer(256)
        handle = binding.library().st_sim_match(
            ctypes.byref(struct),
            ctypes.byref(matching),
            ctypes.byref(status),
            ctypes.byref(executed),
            message,
        )
        execution = MatchExecution(self, handle, status.value, executed.value, (struct, matching, present))
        if handle is None or status.value == binding.E_MEMORY:
            raise LimitError("matching the calls needs more memory than there is; take fewer ranks")
        if status.value == binding.E_TRACE:
            raise FormatError(f"cannot match the calls: {message.value.decode(errors='replace')}")
        return execution


class MatchExecution:
    """How an execution went.

    Attributes:
        ended: all ranks came to their ends.
        steps: calls that were executed.
    """

    def __init__(self, matching: Matching, handle: Any, status: int, steps: int, kept: object) -> None:
        self._matching, self._handle, self._kept = matching, handle, kept
        self.trace = matching.trace
        self.ended, self.steps = status == 0, steps

    def __del__(self) -> None:
        if self._handle is not None:
            binding.library().st_sim_match_free(self._handle)

    def matches(self, events: Collection[Event]) -> dict[int, dict[int, MatchedNode]]:
        """Return what ranks matched, by id of the recorded events."""
        wanted = {id(event) for event in events}
        result: dict[int, dict[int, MatchedNode]] = {number: {} for number in wanted}
        for number, node in enumerate(self._matching.program.nodes):
            if id(node.event) not in wanted:
                continue
            for rank in self._matching.ranks_of(node):
                slots = self._rows("slots", np.int32, 4, number, rank)
                repeats = self._rows("repeats", np.int64, 3, number, rank)
                result[id(node.event)][rank] = MatchedNode(slots.astype(np.int64), repeats.astype(np.int64))
        return result

    def waits(self) -> list[Wait]:
        """Return what the ranks that did not end wait for, by rank."""
        return [
            Wait(rank, self._event(node), WaitKind(kind), peer, tag, family, self._event(creator), meeting)
            for rank, node, kind, peer, tag, family, creator, meeting in self._rows(
                "waits", np.int32, 8
            ).tolist()
        ]

    def missing(self, meeting: int) -> tuple[int, ...]:
        """Return the ranks that a member of a collective call waits for."""
        return tuple(self._rows("missing", np.int32, 1, meeting).ravel().tolist())

    def members(self, family: int, rank: int) -> tuple[int, ...]:
        """Return the ranks that the trace has of a rank's communicator."""
        return self._matching.members(family, rank)

    @property
    def decisions(self) -> list[tuple[int, int, Event]]:
        """Rank, source and receive of the last decisions that had a choice."""
        rows = self._rows("decisions", np.int32, 3).tolist()
        return [(rank, source, self._event(node)) for rank, source, node in rows]

    def left(self) -> list[tuple[int, int, int, Event, int]]:
        """Return source, receiver, tag, sending call and number of the messages that no rank received."""
        rows, counts = np.unique(self._rows("left", np.int32, 5), axis=0, return_counts=True)
        return [
            (source, dest, tag, self._event(node), n)
            for (source, dest, _, tag, node), n in zip(rows.tolist(), counts.tolist(), strict=True)
        ]

    @cached_property
    def mismatch(self) -> list[tuple[int, Event]]:
        """Ranks and collective calls that members of a communicator make where they have to make the same."""
        return [(rank, self._event(node)) for rank, node in self._rows("mismatch", np.int32, 2).tolist()]

    def _event(self, node: int) -> Event:
        event = self._matching.program.nodes[node].event
        assert event is not None
        return event

    def _rows(self, name: str, kind: type[np.generic], width: int, *place: int) -> NDArray[Any]:
        read_rows = getattr(binding.library(), f"st_sim_match_{name}")(self._handle, *place)
        if not read_rows.count:
            return np.zeros((0, width), dtype=kind)
        nbytes = read_rows.count * width * np.dtype(kind).itemsize
        return np.frombuffer(ctypes.string_at(read_rows.rows, nbytes), dtype=kind).reshape(-1, width)
