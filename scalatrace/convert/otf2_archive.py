"""A trace of an OTF2 archive, such as Score-P writes.

An archive has messages and collectives, not the parameters of calls: sizes become bytes, and collectives with
several sizes have their mean. Calls that neither send, receive, wait nor are collectives are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from scalatrace.convert.collectives import BYTE, collective_params, split_families
from scalatrace.convert.ranks import CallError, RankCalls, write_trace
from scalatrace.errors import FormatError, UsageError
from scalatrace.operations import operation
from scalatrace.trace.model.tables import Kind

__all__ = ["convert_otf2"]

NO_ROOT = (1 << 32) - 1

_SENDING = {"count": "sendcount", "datatype": "sendtype", "dest": "dest", "tag": "sendtag"}
_RECEIVING = {"count": "recvcount", "datatype": "recvtype", "source": "source", "tag": "recvtag"}

Params = list[tuple[str, Kind, Any]]


@dataclass
class ImportedCall:
    """A call.

    Attributes:
        comm: its communicator in the archive; None without one.
        given: parameters without the communicator.
        compute_ns, comm_ns: before and in the call.
        frames: of the call site, innermost first.
    """

    op: str
    comm: Any = None
    given: Params = field(default_factory=list)
    compute_ns: float = 0.0
    comm_ns: float = 0.0
    frames: tuple[str, ...] = ()

    def params(self, key: Callable[[Any], object]) -> Params:
        """Return all parameters; `key` gives the name of a communicator."""
        return self.given if self.comm is None else [*self.given, ("comm", Kind.COMM, key(self.comm))]


class LocationCalls:
    """Makes the calls of one location of its events, in the order of their times.

    Args:
        scale: ns in a tick.
        left_out: counts the MPI calls that become none.
    """

    def __init__(self, scale: float, left_out: Counter[str]) -> None:
        self._scale, self._left_out = scale, left_out
        self._calls: list[ImportedCall] = []
        self._stack: list[Any] = []
        self._live: list[int] = []
        self._receives: dict[int, ImportedCall] = {}
        self._entered = self._left = 0
        self._inside: list[ImportedCall] = []
        self._completed: list[int] = []

    def add(self, event: Any) -> None:
        """Take the next event of the location."""
        handler = _HANDLERS.get(type(event).__name__)
        if handler is not None:
            handler(self, event)

    def finished(self) -> list[ImportedCall]:
        """Return the calls. Receives that were never completed have no source, and are left out."""
        unknown = {id(call) for call in self._receives.values()}
        return [call for call in self._calls if id(call) not in unknown]

    def _enter(self, event: Any) -> None:
        self._stack.append(event.region)
        if _is_mpi(event.region):
            self._entered, self._inside, self._completed = event.time, [], []

    def _leave(self, event: Any) -> None:
        region = self._stack.pop() if self._stack else event.region
        if not _is_mpi(region):
            return
        self._complete(region.name.removeprefix("MPI_"))
        if {call.op for call in self._inside} == {"Send", "Recv"} and len(self._inside) == 2:
            self._inside = [_exchange(*self._inside)]
        if not self._inside:
            self._left_out[region.name] += 1
            return
        frames = tuple(_frame(entered) for entered in reversed(self._stack))
        for call in self._inside:
            call.frames = frames
        first = self._inside[0]
        first.compute_ns = (self._entered - self._left) * self._scale
        first.comm_ns = (event.time - self._entered) * self._scale
        self._calls += self._inside
        self._left = event.time

    def _complete(self, name: str) -> None:
        """Add the wait for the requests that were completed in an MPI call."""
        if not self._completed:
            return
        ages = [len(self._live) - 1 - self._live.index(request) for request in self._completed]
        for request in self._completed:
            self._live.remove(request)
        if name.startswith("Sendrecv") and len(self._inside) == len(ages) == 2:
            self._inside = [_exchange(*self._inside)]
        elif len(ages) == 1:
            self._inside.append(ImportedCall("Wait", None, [("request", Kind.INT, ages[0])]))
        else:
            self._inside.append(ImportedCall("Waitall", None, [("requests", Kind.ARRAY, tuple(ages))]))

    def _send(self, event: Any) -> None:
        params = _message(event.msg_length, "dest", event.receiver, event.msg_tag)
        self._inside.append(ImportedCall("Send", event.communicator, params))

    def _recv(self, event: Any) -> None:
        params = _message(event.msg_length, "source", event.sender, event.msg_tag)
        self._inside.append(ImportedCall("Recv", event.communicator, params))

    def _isend(self, event: Any) -> None:
        params = _message(event.msg_length, "dest", event.receiver, event.msg_tag)
        self._inside.append(ImportedCall("Isend", event.communicator, params))
        self._live.append(event.request_id)

    def _irecv_request(self, event: Any) -> None:
        call = ImportedCall("Irecv")
        self._inside.append(call)
        self._receives[event.request_id] = call
        self._live.append(event.request_id)

    def _irecv(self, event: Any) -> None:
        call = self._receives.pop(event.request_id, None)
        if call is not None:
            call.comm = event.communicator
            call.given = _message(event.msg_length, "source", event.sender, event.msg_tag)
            self._completed.append(event.request_id)

    def _isend_complete(self, event: Any) -> None:
        if event.request_id in self._live:
            self._completed.append(event.request_id)

    def _collective(self, event: Any) -> None:
        name = str(event.collective_op).rpartition(".")[2].capitalize()
        op = _with_one_size(name)
        size = max(len(getattr(event.communicator.group, "members", ())), 1)
        root = None if event.root == NO_ROOT else event.root
        params = collective_params(op, event.size_sent, event.size_received, size, root)
        self._inside.append(ImportedCall(op, event.communicator, params))


def _with_one_size(op: str) -> str:
    """Return the collective with one size in place of one with several, which the archive does not have."""
    row = operation(op)
    if not row.has_unequal_blocks:
        return op
    return row.collective.capitalize() if row.is_pairwise else f"{op}_block"


def _message(nbytes: int, side: str, peer: int, tag: int) -> Params:
    sizes: Params = [("count", Kind.INT, nbytes), ("datatype", Kind.TYPE, BYTE)]
    return [*sizes, (side, Kind.PEER, peer), ("tag", Kind.INT, tag)]


def _exchange(message: ImportedCall, receive: ImportedCall) -> ImportedCall:
    """Return the MPI_Sendrecv of a message and a receive in one region."""
    send, recv = sorted((message, receive), key=lambda call: "source" in {name for name, _, _ in call.given})
    renamed = [
        *((_SENDING[name], kind, value) for name, kind, value in send.given),
        *((_RECEIVING[name], kind, value) for name, kind, value in recv.given),
    ]
    return ImportedCall("Sendrecv", send.comm, renamed)


def _is_mpi(region: Any) -> bool:
    return str(region.name).startswith("MPI_")


def _frame(region: Any) -> str:
    """Return a frame as a trace has it: file, line and function where they are known."""
    file, line = getattr(region, "source_file", ""), getattr(region, "begin_line_number", 0)
    return f"{file}:{line}:{region.name}" if file else str(region.name)


_HANDLERS: dict[str, Callable[[LocationCalls, Any], None]] = {
    "Enter": LocationCalls._enter,
    "Leave": LocationCalls._leave,
    "MpiSend": LocationCalls._send,
    "MpiRecv": LocationCalls._recv,
    "MpiIsend": LocationCalls._isend,
    "MpiIsendComplete": LocationCalls._isend_complete,
    "MpiIrecvRequest": LocationCalls._irecv_request,
    "MpiIrecv": LocationCalls._irecv,
    "MpiCollectiveEnd": LocationCalls._collective,
}


def convert_otf2(path: str | PathLike[str], output: str | PathLike[str]) -> Counter[str]:
    """Write the trace of an archive (its `.otf2` file); return how often each MPI call was left out.

    Raises:
        UsageError: the package otf2 is not installed.
        FormatError: the archive cannot be read, or has no MPI ranks.
    """
    try:
        import otf2
        from _otf2.ErrorCodes import Error as LibraryError
    except ImportError:
        raise UsageError("this needs the package otf2; install it: pip install 'scalatrace[otf2]'") from None
    left_out: Counter[str] = Counter()
    try:
        with otf2.reader.open(str(path)) as archive:
            locations = _locations(otf2, archive.definitions, path)
            numbers = {location: rank for rank, location in enumerate(locations)}
            scale = 1e9 / archive.timer_resolution
            comms = _Comms(archive.definitions.comms, numbers)
            calls = _by_rank(archive.events(locations), numbers, scale, left_out)

            def record(rank: int) -> RankCalls:
                return _record(rank, len(locations), calls[rank].finished(), comms, path)

            meta = {"program": f"OTF2 archive {Path(path).parent.name}"}
            write_trace(range(len(locations)), record, output, meta)
    except (otf2.error.Error, LibraryError) as error:
        raise FormatError(f"cannot read the archive: {error}", path) from None
    return left_out


def _locations(otf2: Any, definitions: Any, path: str | PathLike[str]) -> list[Any]:
    """Return the location of each rank, in order."""
    for group in definitions.groups:
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI:
            return list(group.members)
    raise FormatError("the archive has no MPI ranks", path)


def _by_rank(
    events: Iterator[tuple[Any, Any]], numbers: dict[Any, int], scale: float, left_out: Counter[str]
) -> list[LocationCalls]:
    """Read the events of all ranks, which the reader gives in the order of their times."""
    calls = [LocationCalls(scale, left_out) for _ in numbers]
    for location, event in events:
        calls[numbers[location]].add(event)
    return calls


def _record(
    rank: int, nprocs: int, calls: list[ImportedCall], comms: _Comms, path: str | PathLike[str]
) -> RankCalls:
    result = RankCalls(rank, nprocs, ("compute_ns", "comm_ns"))
    for call in calls:
        comms.define(result, call)
        try:
            result.append(call.op, call.params(comms.key), call.frames, (call.compute_ns, call.comm_ns))
        except CallError as error:
            raise FormatError(f"rank {rank}: MPI_{call.op}: {error}", path) from None
    return result


class _Comms:
    """Communicators of an archive: families of those with equal size, without a rank in common."""

    def __init__(self, definitions: Any, numbers: dict[Any, int]) -> None:
        self._members: dict[Any, list[int]] = {}
        for comm in definitions:
            listed = getattr(comm.group, "members", ())
            self._members[comm] = [numbers[location] for location in listed if location in numbers]
        parts = [comm for comm, members in self._members.items() if len(members) < len(numbers)]
        families = split_families(self._members[comm] for comm in parts)
        self._ordinals = dict(zip(parts, families, strict=True))

    def key(self, comm: Any) -> object:
        """Return how calls name a communicator."""
        return ("otf2", self._ordinals[comm]) if comm in self._ordinals else "world"

    def define(self, calls: RankCalls, call: ImportedCall) -> None:
        """Define the communicator of a call."""
        comm = call.comm
        if comm is not None and comm in self._ordinals:
            calls.comm(self.key(comm), "split", self._members[comm], ordinal=self._ordinals[comm])
