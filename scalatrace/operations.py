"""Table of MPI operations: category, peers, bytes sent and received, and of which kind a collective is.

Names are without `MPI_`, parameters are called as in the standard. One row serves all variants of an
operation: nonblocking (`Ibcast`, `File_iwrite`, `Rput`), persistent (`Bcast_init`), large-count (`Bcast_c`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from functools import cache
from typing import Any, Protocol

__all__ = [
    "BLOCKING_COLLECTIVES", "COLLECTIVE_NAMES", "CallLike", "Category", "Flow", "Meeting", "Mode",
    "Operation", "blocking_name", "communicates", "is_collective", "may_wait", "operation", "received_bytes",
    "sent_bytes",
]  # fmt: skip

ROOT = -1000000003  # MPI_ROOT in a trace: this rank of an intercommunicator is the root


class Category(StrEnum):
    """What an operation is for."""

    SEND = "send"
    RECV = "recv"
    SENDRECV = "sendrecv"
    PROBE = "probe"
    PERSISTENT = "persistent"  # makes a request that Start starts
    START = "start"
    COMPLETION = "completion"
    COLLECTIVE = "collective"
    NEIGHBOUR = "neighbour collective"
    COMMUNICATOR = "communicator"
    DATATYPE = "datatype"
    WINDOW = "window"  # making, freeing, synchronising
    ONE_SIDED = "one-sided"
    FILE = "file"  # opening, closing, views, pointers
    IO = "io"
    ENVIRONMENT = "environment"
    OTHER = "other"


class Meeting(Enum):
    """How the members of a communicator, a window or a file make a call together."""

    NONE = auto()  # each for itself
    ALL = auto()  # each needs something from every other: no blocking call returns before all have come
    SOME = auto()  # some need not wait, such as the root of a broadcast
    SETUP = auto()  # all exchange a few bytes: they make a communicator, or synchronise a window
    LOOSE = auto()  # an MPI may let a member return before others come: files, Comm_free, Intercomm_create


class Mode(Enum):
    """When a send ends."""

    STANDARD = auto()
    BUFFERED = auto()
    SYNCHRONOUS = auto()
    READY = auto()


class CallLike(Protocol):
    """What is needed of a call: parameters by name, and its communicator."""

    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...
    @property
    def comm(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes that a call hands over or takes.

    Attributes:
        count: parameter with the number of elements, or with an array of them; "" is one element.
        datatype: parameter with their datatype.
        peer: parameter with the other rank; "" when there is not just one.
        where: "all", or "root" or "others" when only they have a buffer.
        times: "once", "each" (one such piece for every rank of the communicator), "self" (only the own
            element of the array) or the name of a parameter to multiply with.
    """

    count: str
    datatype: str
    peer: str = ""
    where: str = "all"
    times: str = "once"

    @property
    def is_listed(self) -> bool:
        """Whether the count is an array with a number for each rank."""
        return self.count.endswith("counts")

    def nbytes(self, call: CallLike) -> int:
        """Bytes of one call; a negative count (a wildcard, nothing known) is 0."""
        if self.datatype not in call or (self.count and self.count not in call):
            return 0
        if self.where != "all" and self.where != _role(call):
            return 0
        return max(self._elements(call), 0) * _size(call[self.datatype])

    def _elements(self, call: CallLike) -> int:
        count = call[self.count] if self.count else 1
        if isinstance(count, tuple):
            return int(count[call.comm.rank] if self.times == "self" else sum(count))
        if self.times == "each":
            return int(count) * len(call.comm.peers)
        return int(count) * int(call[self.times]) if self.times in call else int(count)


def _size(datatype: Any) -> int:
    return getattr(datatype, "size", 0)  # a special value instead of a datatype carries nothing


def _role(call: CallLike) -> str:
    if "root" not in call:
        return "unknown"  # not recorded
    root, comm = call["root"], call.comm
    if comm.remote is not None:
        return "root" if root == ROOT else "others" if root >= 0 else "neither"
    return "root" if root == comm.rank else "others"


@dataclass(frozen=True, slots=True)
class Operation:
    """One row: category, what a call sends and receives, and whether it returns before it is done.

    Attributes:
        collective: of a collective, the operation whose algorithms it uses, as platform files name it:
            "gather" of Gather and Gatherv; "" of neighbourhood collectives and of other operations.
        flow_later: the call makes a persistent request; the flows belong to its Start.
        base: the name without the ending of the large-count variant.
        meeting: that of the blocking form, for its variants, too.
        matched: it takes a message out of the queue, or receives such a message.
    """

    name: str
    category: Category
    sends: Flow | None = None
    recvs: Flow | None = None
    collective: str = ""
    nonblocking: bool = False
    flow_later: bool = False
    base: str = ""
    meeting: Meeting = Meeting.NONE
    mode: Mode = Mode.STANDARD
    matched: bool = False

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What a call sends, then what it receives."""
        return tuple(flow for flow in (self.sends, self.recvs) if flow)

    @property
    def peers(self) -> tuple[str, ...]:
        """The parameters that name another rank."""
        return tuple(flow.peer for flow in self.flows if flow.peer)

    @property
    def is_rooted(self) -> bool:
        """Whether only the root, or only the others, have one of the buffers."""
        return any(flow.where != "all" for flow in self.flows)

    @property
    def is_pairwise(self) -> bool:
        """Whether the parameters of a collective give the bytes between each pair of ranks."""
        pairwise = ("gather", "scatter", "allgather", "alltoall")
        return self.category is Category.NEIGHBOUR or self.collective in pairwise

    @property
    def has_unequal_blocks(self) -> bool:
        """Whether a collective has a count for each rank; Alltoallw has a datatype for each, too."""
        moves = self.collective not in ("", "barrier")
        return moves and (not self.flows or any(flow.is_listed for flow in self.flows))

    @property
    def block(self) -> Flow | None:
        """Where each member of a collective gives the size of its block: of Gather what it sends."""
        if not self.collective:
            return None
        return self.sends if self.collective == "gather" else self.recvs

    @property
    def equal_block(self) -> Flow | None:
        """The block of which all members give the same number of bytes; None: they need not.

        Members of Gather and Scatter may leave it out (MPI_IN_PLACE).
        """
        if self.block is None or self.block.is_listed or self.collective in ("gather", "scatter"):
            return None
        return replace(self.block, where="all", times="once")

    @property
    def makes_request(self) -> bool:
        """Whether a call makes a request; the first half of a split collective is nonblocking without one."""
        return self.nonblocking and not self.base.endswith("_begin")

    @property
    def is_partitioned(self) -> bool:
        """Whether a call makes a request of partitioned communication, which matches its like only."""
        return any(flow.times == "partitions" for flow in self.flows)

    @property
    def is_matched_probe(self) -> bool:
        """Whether a call takes a message out of the queue, for a later call to receive."""
        return self.matched and self.category is Category.PROBE

    @property
    def synchronises(self) -> bool:
        """Whether no call returns before all members have made it."""
        return self.meeting in (Meeting.ALL, Meeting.SETUP) and not self.nonblocking

    @property
    def needs_all(self) -> bool:
        """Whether no call returns before it has something from each member."""
        return self.meeting is Meeting.ALL and not self.nonblocking


def sent_bytes(name: str, call: CallLike, started: bool = False) -> int:
    """Bytes a call hands over to MPI: what it sends, contributes, puts or writes.

    `started`: what a Start of the request that the call makes hands over instead.
    """
    row = operation(name)
    return row.sends.nbytes(call) if row.sends and row.flow_later == started else 0


def received_bytes(name: str, call: CallLike, started: bool = False) -> int:
    """Bytes a call makes room for: what it receives at most, gets or reads; `started` as in `sent_bytes`."""
    row = operation(name)
    return row.recvs.nbytes(call) if row.recvs and row.flow_later == started else 0


def _p2p() -> Iterator[Operation]:
    out, into = Flow("count", "datatype", "dest"), Flow("count", "datatype", "source")
    for name in ("Send", "Bsend", "Ssend", "Rsend"):
        yield Operation(name, Category.SEND, out)
    for name in ("Recv", "Mrecv"):
        yield Operation(name, Category.RECV, None, into)
    yield Operation("Psend", Category.SEND, replace(out, times="partitions"))
    yield Operation("Precv", Category.RECV, None, replace(into, times="partitions"))
    sending, receiving = Flow("sendcount", "sendtype", "dest"), Flow("recvcount", "recvtype", "source")
    yield Operation("Sendrecv", Category.SENDRECV, sending, receiving)
    yield Operation("Sendrecv_replace", Category.SENDRECV, out, into)


def _collectives() -> Iterator[Operation]:
    both, out, into = Flow("count", "datatype"), Flow("sendcount", "sendtype"), Flow("recvcount", "recvtype")
    outs, intos = Flow("sendcounts", "sendtype"), Flow("recvcounts", "recvtype")
    reduced, block = Flow("recvcounts", "datatype"), Flow("recvcount", "datatype")
    rows: dict[str, tuple[str, Flow | None, Flow | None]] = {
        "Barrier": ("barrier", None, None),
        "Bcast": ("bcast", replace(both, where="root"), replace(both, where="others")),
        "Reduce": ("reduce", both, replace(both, where="root")),
        "Allreduce": ("allreduce", both, both),
        "Gather": ("gather", out, replace(into, where="root", times="each")),
        "Gatherv": ("gather", out, replace(intos, where="root")),
        "Scatter": ("scatter", replace(out, where="root", times="each"), into),
        "Scatterv": ("scatter", replace(outs, where="root"), into),
        "Allgather": ("allgather", out, replace(into, times="each")),
        "Allgatherv": ("allgather", out, intos),
        "Alltoall": ("alltoall", replace(out, times="each"), replace(into, times="each")),
        "Alltoallv": ("alltoall", outs, intos),
        "Alltoallw": ("alltoall", None, None),  # a type for each peer: no one flow
        "Reduce_scatter": ("reduce_scatter", reduced, replace(reduced, times="self")),
        "Reduce_scatter_block": ("reduce_scatter", replace(block, times="each"), block),
        "Scan": ("scan", both, both),
        "Exscan": ("scan", both, both),
    }
    for name, (collective, sends, recvs) in rows.items():
        yield Operation(name, Category.COLLECTIVE, sends, recvs, collective)
    # The number of neighbours is the topology's, not the call's: the flows are those to one neighbour.
    neighbours = {"allgather": (out, into), "allgatherv": (out, intos), "alltoall": (out, into)}
    for name, flows in {**neighbours, "alltoallv": (outs, intos), "alltoallw": (None, None)}.items():
        yield Operation(f"Neighbor_{name}", Category.NEIGHBOUR, *flows)


def _one_sided() -> Iterator[Operation]:
    origin = Flow("origin_count", "origin_datatype", "target_rank")
    result, single = (
        replace(origin, count="result_count", datatype="result_datatype"),
        replace(origin, count=""),
    )
    single = replace(single, datatype="datatype")
    yield Operation("Put", Category.ONE_SIDED, origin)
    yield Operation("Get", Category.ONE_SIDED, None, origin)
    yield Operation("Accumulate", Category.ONE_SIDED, origin)
    yield Operation("Get_accumulate", Category.ONE_SIDED, origin, result)
    yield Operation("Fetch_and_op", Category.ONE_SIDED, single, single)
    yield Operation("Compare_and_swap", Category.ONE_SIDED, single, single)


def _io() -> Iterator[Operation]:
    data = Flow("count", "datatype")
    for where in ("", "_at", "_shared", "_ordered", "_all", "_at_all"):
        yield Operation(f"File_write{where}", Category.IO, data)
        yield Operation(f"File_read{where}", Category.IO, None, data)


_TABLE = {row.name: row for rows in (_p2p, _collectives, _one_sided, _io) for row in rows()}

BLOCKING_COLLECTIVES = tuple(row.name for row in _TABLE.values() if row.collective)
"""Collectives but those of neighbourhoods."""

COLLECTIVE_NAMES = tuple(dict.fromkeys(row.collective for row in _TABLE.values() if row.collective))
"""The operations that have algorithms, as platform files name them: in the order of `st_sim_collective`."""

_PLAIN = {
    Category.PROBE: "Probe Iprobe Mprobe Improbe",
    Category.START: "Start Startall Pready Pready_range Pready_list",
    Category.COMPLETION: "Wait Waitall Waitany Waitsome Test Testall Testany Testsome Request_free Cancel"
    " Parrived Request_get_status",
    Category.ENVIRONMENT: "Init Init_thread Finalize Abort Pcontrol",
}
_PREFIXES = {
    "Comm_": Category.COMMUNICATOR,
    "Cart_": Category.COMMUNICATOR,
    "Graph_": Category.COMMUNICATOR,
    "Dist_graph_": Category.COMMUNICATOR,
    "Intercomm_": Category.COMMUNICATOR,
    "Topo_": Category.COMMUNICATOR,
    "Group_": Category.COMMUNICATOR,
    "Type_": Category.DATATYPE,
    "Win_": Category.WINDOW,
    "File_": Category.FILE,
    "Session_": Category.ENVIRONMENT,
}
_NONBLOCKING = {"Comm_idup", "Comm_idup_with_info"}  # of those that only a prefix names
_CATEGORY = {name: category for category, names in _PLAIN.items() for name in names.split()}


_MEETINGS = {
    Meeting.ALL: "Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter"
    " Reduce_scatter_block",
    Meeting.SETUP: "Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info Comm_split Comm_split_type"
    " Comm_create Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent Win_create"
    " Win_create_dynamic Win_allocate Win_allocate_shared Win_fence Win_free",
    Meeting.LOOSE: "Init Init_thread Finalize Comm_free Comm_disconnect Comm_spawn Comm_spawn_multiple"
    " Comm_accept Comm_connect Intercomm_create Intercomm_merge File_open File_close File_set_view"
    " File_set_info File_set_size File_preallocate File_set_atomicity File_sync File_seek_shared",
}
_MEETING = {name: meeting for meeting, names in _MEETINGS.items() for name in names.split()}
_MODES = {"Bsend": Mode.BUFFERED, "Ssend": Mode.SYNCHRONOUS, "Rsend": Mode.READY}
_MATCHED = frozenset({"Mprobe", "Improbe", "Mrecv"})


ERROR, FAILED = "_error", "_failed"
"""Endings of the names of calls that returned an error."""


@cache
def operation(name: str) -> Operation:
    """The row of an operation or of one of its variants; an unknown name is Category.OTHER without flows.

    A call that returned an error has done what it does without one (X_error), or nothing (X_failed).
    """
    if name.endswith(FAILED):
        return Operation(name, Category.OTHER, base=name)
    base = name.removesuffix(ERROR).removesuffix("_c")
    row = replace(_row(name, base), base=base)
    blocking = _blocking(row)
    meeting = _MEETING.get(blocking) or _meeting(row)
    mode, matched = _MODES.get(blocking, Mode.STANDARD), blocking in _MATCHED
    return replace(row, meeting=meeting, mode=mode, matched=matched)


def _meeting(row: Operation) -> Meeting:
    """The meeting of an operation that is not listed by name."""
    if row.category in COLLECTIVES:
        return Meeting.SOME
    of_all = row.category is Category.IO and ("_all" in row.base or "_ordered" in row.base)
    return Meeting.LOOSE if of_all and not row.base.endswith("_end") else Meeting.NONE


def _row(name: str, base: str) -> Operation:
    if base in _CATEGORY:
        return Operation(
            name, _CATEGORY[base], recvs=_PROBED if base in _PLAIN[Category.PROBE].split() else None
        )
    for candidate, nonblocking, later in _readings(base):
        if row := _TABLE.get(candidate):
            category = Category.PERSISTENT if later and "Neighbor" not in base and row.peers else row.category
            return replace(row, name=name, category=category, nonblocking=nonblocking, flow_later=later)
    prefixed = (category for prefix, category in _PREFIXES.items() if base.startswith(prefix))
    return Operation(name, next(prefixed, Category.OTHER), nonblocking=base in _NONBLOCKING)


def blocking_name(name: str) -> str:
    """Return the blocking form of a variant: that of `Iallreduce` and `Allreduce_init` is `Allreduce`."""
    return _blocking(operation(name))


def _blocking(row: Operation) -> str:
    base = row.base.removesuffix("_init")
    is_variant = base[:1] == "I" and base[1:2].islower() and row.nonblocking
    return base[1:].capitalize() if is_variant else base


def is_collective(name: str) -> bool:
    """Return whether all members make this call, MPI_Init and MPI_Finalize among them."""
    return operation(name).meeting is not Meeting.NONE


_OVERLAPPING = frozenset({"Pready", "Pready_range", "Pready_list", "Parrived", "Win_sync"})


def may_overlap(name: str) -> bool:
    """Return whether threads may make this call at the same time on one request, window or file.

    Their order has no effect: accesses to windows, and to files at explicit offsets, and partitions.
    """
    row = operation(name)
    is_access = row.category is Category.ONE_SIDED or row.base.startswith("Win_flush")
    is_explicit = row.category is Category.IO and row.base.endswith("_at")
    return is_access or is_explicit or row.base in _OVERLAPPING


_LOCAL = frozenset({Category.PERSISTENT, Category.START, Category.DATATYPE, Category.ONE_SIDED})
"""Kinds of calls that return without other ranks."""


def may_wait(name: str) -> bool:
    """Return whether the time in an operation may depend on when other ranks come.

    Polls count: a trace has one event for all of them until one succeeds.
    """
    row = operation(name)
    local = row.category in _LOCAL or row.mode is Mode.BUFFERED or name.startswith("Group_")
    return not (row.nonblocking or local)


_PROBED = Flow("count", "datatype", "source")  # a probe has a peer but no datatype, hence no bytes


def _readings(name: str) -> Iterator[tuple[str, bool, bool]]:
    """What the name may be a variant of: (base name, nonblocking, persistent)."""
    yield name, False, False
    if name.endswith("_init"):
        yield name.removesuffix("_init"), True, True
    if name[:1] == "I" and name[1:2].islower():
        yield name[1:].capitalize() if "_" not in name else name[1].upper() + name[2:], True, False
    if name[:1] == "R" and name[1:2].islower():
        yield name[1].upper() + name[2:], True, False
    if name.startswith("File_i"):
        yield "File_" + name.removeprefix("File_i"), True, False
    if name.endswith("_begin"):
        yield name.removesuffix("_begin"), True, False


COLLECTIVES = frozenset({Category.COLLECTIVE, Category.NEIGHBOUR})
"""Kinds of collective calls that move data, or synchronise without."""

MESSAGES = frozenset({Category.SEND, Category.RECV, Category.SENDRECV})
"""Kinds of calls that send or receive messages at once, not by a request that Start starts."""

SENDING = frozenset({Category.SEND, Category.SENDRECV, Category.PERSISTENT})
"""Kinds of calls that send, or prepare to."""

_COMMUNICATING = frozenset({
    Category.SEND, Category.RECV, Category.SENDRECV, Category.PROBE, Category.START, Category.COMPLETION,
    Category.COLLECTIVE, Category.NEIGHBOUR, Category.ONE_SIDED, Category.IO,
})  # fmt: skip
_LOCAL_COMPLETION = frozenset({"Cancel", "Request_free", "Request_get_status"})
_WINDOW_LIFE = ("Win_create", "Win_allocate", "Win_attach", "Win_detach", "Win_set", "Win_free")


def communicates(name: str) -> bool:
    """Return whether calls move data between ranks or synchronise them.

    Calls that make or free communicators, windows, files, datatypes and persistent requests do not.
    MPI_Pcontrol counts, since programs mark with it what they want to have measured.
    """
    row = operation(name)
    if row.category is Category.WINDOW:
        return not name.startswith(_WINDOW_LIFE)
    if row.flow_later or name in _LOCAL_COMPLETION:
        return False
    return name == "Pcontrol" or row.category in _COMMUNICATING
