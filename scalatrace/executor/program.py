"""Lower a trace to the executor's nodes: the same tree, with the quantities that times depend on."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Ints
from scalatrace.errors import LimitError, ScalatraceError
from scalatrace.executor import binding
from scalatrace.executor.binding import PS
from scalatrace.executor.call_times import PrecedingCallTimes, picoseconds
from scalatrace.executor.families import Families
from scalatrace.executor.fields import EngineQuantity, classes_of, constant, constants_of, pointer
from scalatrace.executor.message_sizes import MessageSizes
from scalatrace.executor.operations import COLLECTIVES, EngineOp, Flags, Treatment, treatment
from scalatrace.executor.parameters import Parameters
from scalatrace.operations import is_collective
from scalatrace.trace.model.elastic import Elastic, at
from scalatrace.trace.model.nodes import Event, Node, named_ranks, thread_of
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import entries, executions
from scalatrace.trace.query.requests import POLLING
from scalatrace.trace.values.vec import ANY_SOURCE, UNDEFINED, Vec

__all__ = [
    "OBJECTS", "KernelFields", "LoweredProgram", "LoweredTrace", "ProgramLowering", "completion_fields",
    "lower",
]  # fmt: skip

ANNOTATION = "Pcontrol"
"""The operation that marks the begin and end of a kernel."""

MIN_STEADY_ITERATIONS = 4
"""Iterations of a loop from which on it is worthwhile to look for a steady state."""
MIN_NOTED_POLLING = 0.01
"""Share of the computation from which on the time of polls that found nothing is noted."""

K = TypeVar("K")

_FIELDS = ("repeat", "peer", "nbytes", "tag", "family", "peer2", "tag2", "list", "turn", "object")


class KernelFields(Protocol):
    """Durations of the kernels that a trace marks."""

    def fields(self, parameters: Parameters) -> dict[str, EngineQuantity]:
        """Return the fields of an annotation's node."""

    def notes(self) -> dict[str, str]:
        """Return notes about kernels, by their names."""


@dataclass
class LoweredTrace:
    """One node of the program.

    Attributes:
        event: of the trace; None for a sequence.
        fields: quantities by the name of the C structure's field.
    """

    op: EngineOp
    event: Event | None
    end: int = 0
    flags: int = 0
    own_pred: int = -1
    collective: int = 0
    fields: dict[str, EngineQuantity] = field(default_factory=dict)
    times: ctypes.Array[binding.EngineTimes] | None = None
    duration_ps: int = 0

    def has_source(self, rank: int) -> bool:
        """Whether any call receives from a rank."""
        return any(name in self.fields and self.fields[name].contains(rank) for name in ("peer", "peer2"))


class LoweredProgram:
    """The nodes, and the arrays that they point to.

    Attributes:
        nodes: in preorder.
        notes: assumptions about operations and other subjects, by their names.
    """

    def __init__(
        self,
        trace: Trace,
        nodes: list[LoweredTrace],
        families: Families,
        arrays: EngineArrays,
        times: PrecedingCallTimes,
        threads: EngineThreads,
    ) -> None:
        self.trace, self.nodes = trace, nodes
        self.families, self.arrays, self.threads = families, arrays, threads
        self._times = times  # holds the bins that the nodes point to
        self.notes: dict[str, str] = {}
        self._c_nodes = (binding.EngineNode * max(len(nodes), 1))(*map(_c_node, nodes))

    def flag(self, flag: Flags, events: Collection[int]) -> None:
        """Set a flag of the nodes of these events, given by their ids, and of no others."""
        for node, lowered in zip(self._c_nodes, self.nodes, strict=False):
            node.flags = lowered.flags | (flag if id(lowered.event) in events else 0)

    def struct(
        self,
        link_loads: Sequence[NDArray[np.float32] | None] | None = None,
        drawn: bool = False,
        spread: float = 0.0,
        uneven: bool = False,
    ) -> binding.EngineProgram:
        """Return the C structure without loads. It is valid while this object and the link loads live.

        Args:
            link_loads: of each node, [executions, nranks] least time per byte of its messages (ps), or None.
            drawn: computation times are drawn from their histograms.
            spread: of the ranks' loads, the same in all calls.
            uneven: computation times have what one rank can have more and less than the mean.
        """
        if uneven:
            self._times.add_excess()
        if drawn:
            self._times.add_bins(spread)
        for node, table in zip(self._c_nodes, link_loads or [None] * len(self.nodes), strict=False):
            node.link_per_byte = None if table is None else pointer(table, ctypes.c_float)
            node.nlinked = 0 if table is None else len(table)
        return binding.EngineProgram(
            nranks=self.trace.nprocs,
            nnodes=len(self.nodes),
            nfamilies=len(self.families.tables),
            narrays=len(self.arrays.offsets) - 1,
            nodes=self._c_nodes,
            families=self.families.c_array,
            array_offsets=pointer(self.arrays.offsets, ctypes.c_int64),
            array_values=pointer(self.arrays.values, ctypes.c_int64),
            drawn=drawn,
            nstreams=len(self.threads.streams),
            nturns=len(self.threads.turns),
            nuses=len(self.threads.uses),
            streams=self.threads.streams,
            turns=self.threads.turns,
            uses=self.threads.uses,
        )


def _c_node(node: LoweredTrace) -> binding.EngineNode:
    c_node = binding.EngineNode(
        op=node.op, end=node.end, flags=node.flags, own_pred=node.own_pred, collective=node.collective
    )
    for name in _FIELDS:
        setattr(c_node, name, node.fields.get(name, _NOTHING).field())
    if node.times is not None:
        c_node.ntimes, c_node.times = len(node.times), node.times
    c_node.duration_ps = node.duration_ps
    return c_node


_NOTHING = constant(0)


@dataclass
class EngineArrays:
    """Arrays of request ages; others are empty."""

    offsets: Ints
    values: Ints

    @classmethod
    def of(cls, trace: Trace, used: set[int]) -> EngineArrays:
        """Return those of a trace's arrays that are used."""
        parts = [trace.array(i) if i in used else () for i in range(len(trace.arrays))]
        offsets = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
        values = np.fromiter((v for part in parts for v in part), dtype=np.int64, count=int(offsets[-1]))
        return cls(offsets.astype(np.int64), values)


OBJECTS = {"win": Flags.OF_WINDOW, "fh": Flags.OF_FILE}
"""Flags of calls that name an object by its number on a communicator."""

MAX_TURNS = 1 << 24
"""Collective calls on communicators and uses of objects that threads share, of all ranks."""


class EngineThreads:
    """The further threads of ranks, their turns on communicators, and the order of their uses of objects.

    Args:
        ranges: thread and its nodes, first and end.
    """

    def __init__(self, trace: Trace, ranges: Sequence[tuple[int, int, int]]) -> None:
        streams = []
        for thread, first, end in ranges:
            (node,) = trace.stream(thread)
            streams += [(rank, thread, first, end) for rank in trace.participants(node)]
        self.streams = (binding.EngineStream * len(streams))(
            *(binding.EngineStream(*stream) for stream in streams)
        )
        orders = []
        doing = f"take more than {MAX_TURNS} turns in collective calls"
        turns, remaining = _orders_of_ranks(trace, trace.turns, MAX_TURNS, doing)
        for family, rank, vec in turns:
            runs = [(thread, sum(1 for _ in calls)) for thread, calls in groupby(vec)]
            orders.append((family, rank, np.array(runs, dtype=np.int64).ravel()))
        self._runs = [runs for _, _, runs in orders]  # the structures point to them
        self.turns = (binding.EngineTurns * len(orders))(
            *(
                binding.EngineTurns(family, rank, len(runs) // 2, pointer(runs, ctypes.c_int64))
                for family, rank, runs in orders
            )
        )
        doing = f"use persistent requests, windows and files more than {MAX_TURNS} times"
        of_ranks, _ = _orders_of_ranks(trace, trace.uses, remaining, doing)
        uses = [
            (kind, name, rank, np.fromiter(vec, dtype=np.int64, count=vec.length or 0))
            for (kind, name), rank, vec in of_ranks
        ]
        self._values = [values for *_, values in uses]
        self.uses = (binding.EngineUses * len(uses))(
            *(
                binding.EngineUses(kind, name, rank, len(values), pointer(values, ctypes.c_int64))
                for kind, name, rank, values in uses
            )
        )


def _orders_of_ranks(
    trace: Trace, orders: Mapping[K, Elastic], most: int, doing: str
) -> tuple[list[tuple[K, int, Vec]], int]:
    """Return the order of threads of each key and rank, and how many entries of `most` are left.

    Raises:
        LimitError: they have more.
    """
    result = []
    for key, order in orders.items():
        for rank in named_ranks(order) or trace.ranks:
            vec = at(order, rank)
            if vec is None:
                continue
            assert vec.length is not None  # readers check it
            most -= vec.length
            if most < 0:
                raise LimitError(f"threads {doing}; record fewer steps")
            result.append((key, rank, vec))
    return result, most


def lower(trace: Trace, kernels: KernelFields | None = None, polls_work: bool = False) -> LoweredProgram:
    """Return the program of a trace.

    Args:
        kernels: durations of marked kernels, in place of recorded times.
        polls_work: polls that find nothing take their recorded time, else they wait.

    Raises:
        ScalatraceError: the trace does not have all ranks.
        UsageError: a parameter that times depend on was recorded as a histogram, or not at all; or no kernel
            of the trace has a model.
        LimitError: too many values vary.
        FormatError: the trace contradicts itself.
    """
    if len(trace.ranks) != trace.nprocs:
        raise ScalatraceError(
            f"the trace has {len(trace.ranks)} of {trace.nprocs} ranks: a simulation needs all, since the "
            "others wait for the missing ones"
        )
    return ProgramLowering(trace, kernels, polls_work).program()


class ProgramLowering:
    """Adds the nodes of a trace, in preorder."""

    def __init__(self, trace: Trace, kernels: KernelFields | None, polls_work: bool) -> None:
        self.trace, self.kernels, self.polls_work = trace, kernels, polls_work
        self.families = Families(trace)
        self.sizes = MessageSizes(trace)
        self.times = PrecedingCallTimes(trace)
        self.counts = {id(event): counts for event, counts in executions(trace)}
        self.entries = {id(node): counts for node, counts in entries(trace)}
        self.nodes: list[LoweredTrace] = []
        self.used: set[int] = set()
        self.notes: dict[str, str] = {}
        self.polled_ps = 0
        self.streams = trace.has_streams

    def program(self) -> LoweredProgram:
        ranges = []
        for node in self.trace.nodes:
            first = len(self.nodes)
            self.add(node)
            if thread := thread_of(node):
                ranges.append((thread, first, len(self.nodes)))
        program = LoweredProgram(
            self.trace,
            self.nodes,
            self.families,
            EngineArrays.of(self.trace, self.used),
            self.times,
            EngineThreads(self.trace, ranges),
        )
        program.notes = self.notes | self.polling_note() | (self.kernels.notes() if self.kernels else {})
        return program

    def polling_note(self) -> dict[str, str]:
        """Return a note if polls that wait are a notable part of the recorded times."""
        if self.polls_work or self.polled_ps <= MIN_NOTED_POLLING * self.times.compute_ps:
            return {}
        seconds = f"{self.polled_ps / PS / 1e9:.3g} s (all ranks)"
        return {"polls": f"those that found nothing took {seconds}, which count as waiting; see --polls"}

    def add(self, node: Node) -> None:
        if isinstance(node, Event):
            self.add_event(node)
            return
        lowered = LoweredTrace(EngineOp.SEQUENCE, None, fields={"repeat": self.repeat(node)})
        self.nodes.append(lowered)
        start = len(self.nodes)
        for child in node.nodes:
            self.add(child)
        lowered.end = len(self.nodes)
        lowered.flags = self.steady(lowered, start)

    def repeat(self, node: Node) -> EngineQuantity:
        """Return how often a node runs in each entry; 0 on ranks that do not enter it."""
        entered, nprocs = self.entries[id(node)], self.trace.nprocs
        fixed = constants_of(node.repeat, nprocs)  # most
        if fixed is not None:
            inside = np.zeros(nprocs, dtype=bool)
            for ranks, _ in entered:
                for start, stop in ranks.runs:
                    inside[start:stop] = True
            fixed *= inside
            return constant(int(fixed[0])) if (fixed == fixed[0]).all() else EngineQuantity(values=fixed)
        classes = classes_of({"repeat": node.repeat}, entered, self.trace.nprocs)
        trip_counts = classes.derive(["repeat"], lambda repeat: repeat)
        if trip_counts.varies or trip_counts.values is not None or (classes.class_of >= 0).all():
            return trip_counts
        return EngineQuantity(values=np.where(classes.class_of >= 0, trip_counts.value, 0).astype(np.int64))

    def add_event(self, event: Event) -> None:
        op = self.trace.ops[event.op]
        how = treatment(op.name)
        lowered = LoweredTrace(how.op, event, flags=how.flags)
        lowered.fields["repeat"] = self.repeat(event)
        lowered.own_pred = self.trace.pred_index.get((event.op, event.signature), -1)
        lowered.times = self.times.before(event)
        if self.counts.get(id(event)):
            self.fill(lowered, event, how)
        repeats = lowered.fields["repeat"]
        if not repeats.varies and repeats.values is None and repeats.value >= MIN_STEADY_ITERATIONS:
            loop = LoweredTrace(EngineOp.SEQUENCE, None, fields={"repeat": repeats}, end=len(self.nodes) + 2)
            lowered.fields["repeat"] = constant(1)
            self.nodes.append(loop)
            lowered.end = loop.end
            self.nodes.append(lowered)
            loop.flags = self.steady(loop, len(self.nodes) - 1)
            return
        lowered.end = len(self.nodes) + 1
        self.nodes.append(lowered)

    def steady(self, loop: LoweredTrace, start: int) -> int:
        """Return the flag of loops whose iterations are equal on all ranks that run it."""
        repeat = loop.fields["repeat"]
        if repeat.varies or self.streams:
            return 0
        trips = repeat.distinct() - {0}
        if len(trips) != 1 or min(trips) < MIN_STEADY_ITERATIONS:
            return 0
        inside = self.nodes[start:]
        wild = any(
            node.op is EngineOp.PROBE
            or (node.op in (EngineOp.RECV, EngineOp.SENDRECV) and node.has_source(ANY_SOURCE))
            for node in inside
        )
        return 0 if wild or not self.iterations_are_equal(start) else int(Flags.STEADY)

    def iterations_are_equal(self, start: int) -> bool:
        """Whether what varies inside a loop, from a node on, repeats in each iteration."""
        around: list[tuple[int, int]] = []
        for number, node in enumerate(self.nodes[start:], start):
            while around and around[-1][0] <= number:
                around.pop()
            repeat = node.fields["repeat"]
            trips = repeat.distinct() - {0}
            if repeat.varies or len(trips) > 1:
                return False
            executions = max(trips, default=0) * (around[-1][1] if around else 1)
            if node.op is EngineOp.SEQUENCE:
                around.append((node.end, executions))
            varying = [quantity for quantity in node.fields.values() if quantity.varies]
            if any(not quantity.period or executions % quantity.period for quantity in varying):
                return False
        return True

    def fill(self, lowered: LoweredTrace, event: Event, how: Treatment) -> None:
        """Set the quantities that an event's time depends on."""
        name = self.trace.ops[event.op].name
        if how.note:
            self.notes[name] = how.note
        parameters = Parameters(self.trace, self.families, event, self.counts[id(event)])
        if self.kernels is not None and name == ANNOTATION:
            lowered.op = EngineOp.KERNEL
            lowered.fields |= self.kernels.fields(parameters)
        elif how.op is EngineOp.LOCAL:
            lowered.duration_ps = self.times.inside(event) if how.recorded else 0
        elif how.op in (
            EngineOp.SEND,
            EngineOp.RECV,
            EngineOp.SENDRECV,
            EngineOp.PROBE,
            EngineOp.PUT,
            EngineOp.GET,
        ):
            _message_fields(lowered, parameters, self.sizes, how)
        elif how.op is EngineOp.COLLECTIVE:
            self.fill_collective(lowered, parameters, how)
        elif how.op is not EngineOp.FLUSH and how.op is not EngineOp.MRECV:
            self.used |= completion_fields(lowered, parameters)
        if self.streams:
            self.fill_of_threads(lowered, parameters)
        if name in POLLING:
            mean_ps, sum_ps = self.times.polled(event)
            self.polled_ps += sum_ps
            own_ps = lowered.duration_ps + mean_ps if self.polls_work else lowered.duration_ps
            lowered.duration_ps = picoseconds(own_ps, f"a mean time in {name}")

    def fill_of_threads(self, lowered: LoweredTrace, parameters: Parameters) -> None:
        """Set what ties a call to those of other threads: names of requests, turns, windows and files."""
        names = parameters.names
        if lowered.op is EngineOp.LOCAL and ("request" in names or "requests" in names):
            lowered.op, lowered.flags = (
                EngineOp.NAME,
                lowered.flags | (Flags.LISTS if "requests" in names else 0),
            )
            lowered.fields["list"] = parameters.values("requests" if "requests" in names else "request")
            self.used |= lowered.fields["list"].distinct() if "requests" in names else set()
        if is_collective(parameters.name) and "comm" in names and self.trace.turns:
            lowered.flags |= Flags.IN_TURN
            lowered.fields["turn"] = parameters.values("comm")
        for name, flag in OBJECTS.items():
            if name in names and "comm" in names and self.trace.uses:
                lowered.flags |= flag
                lowered.fields["turn"] = parameters.values("comm")
                lowered.fields["object"] = parameters.values(name)

    def fill_collective(self, lowered: LoweredTrace, parameters: Parameters, how: Treatment) -> None:
        name = parameters.name
        if parameters.between_groups():
            lowered.op, lowered.duration_ps = EngineOp.LOCAL, self.times.inside(parameters.event)
            self.notes[name] = "between two groups: takes its recorded time, without waiting for others"
            return
        lowered.collective = COLLECTIVES[how.collective]
        lowered.fields["family"] = parameters.values("comm")
        lowered.fields["nbytes"] = self.sizes.collective(parameters)
        if "root" in parameters.names:
            lowered.fields["peer"] = parameters.values("root")


def _message_fields(
    lowered: LoweredTrace, parameters: Parameters, sizes: MessageSizes, how: Treatment
) -> None:
    names, fields = parameters.names, lowered.fields
    fields["family"] = parameters.values("comm")
    if how.op is EngineOp.SENDRECV:
        fields["peer"], fields["peer2"] = parameters.peer("dest"), parameters.peer("source")
        fields["tag"], fields["tag2"] = parameters.values("sendtag"), parameters.values("recvtag")
        fields["nbytes"] = sizes.sent(parameters)
        return
    peer = next((name for name in ("dest", "source", "target_rank") if name in names), None)
    if peer is not None:
        fields["peer"] = parameters.peer(peer)
    fields["tag"] = parameters.values("tag")
    if how.op in (EngineOp.SEND, EngineOp.PUT, EngineOp.GET):
        fields["nbytes"] = sizes.sent(parameters)


def completion_fields(lowered: LoweredTrace, parameters: Parameters) -> set[int]:
    """Set the requests that a call completes or starts; return the arrays that they are in."""
    names, used = parameters.names, set[int]()
    names_of_requests = [name for name in ("request", "requests") if name in names]
    if not names_of_requests:
        lowered.fields["list"] = constant(UNDEFINED)
        return used
    if "flag" in names:  # of a test without success nothing is complete
        lowered.fields["list"] = parameters.derived(
            [names_of_requests[0], "flag"],
            lambda requests, flag: np.where(np.asarray(flag) > 0, requests, UNDEFINED),
        )
    else:
        lowered.fields["list"] = parameters.values(names_of_requests[0])
    if names_of_requests[0] == "requests":
        used |= lowered.fields["list"].distinct()
    if "index" in names:
        lowered.fields["peer"] = parameters.values("index")
    return used
