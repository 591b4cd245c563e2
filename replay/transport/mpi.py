"""MPI itself as the transport: mpi4py's handles, the C functions' calls."""

from __future__ import annotations

import ctypes
import operator
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from mpi4py import MPI

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport import clibrary, mpi_types
from scalatrace.replay.transport.args import Constant, Count, Counts, Ints, Out, Ref, Status
from scalatrace.replay.transport.mailboxes import Mailboxes
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT, UNDEFINED

_NULLS: dict[str, type] = {
    "comm": MPI.Comm,
    "request": MPI.Request,
    "message": MPI.Message,
    "win": MPI.Win,
    "file": MPI.File,
    "group": MPI.Group,
    "type": MPI.Datatype,
}
_SPECIAL = {
    PROC_NULL: MPI.PROC_NULL,
    ANY_SOURCE: MPI.ANY_SOURCE,
    ANY_TAG: MPI.ANY_TAG,
    ROOT: MPI.ROOT,
    UNDEFINED: MPI.UNDEFINED,
}


AS_ANY_SOURCE = "scalatrace_as_any_source"
"""Function of the tracer."""

FORWARDED_S = 0.2
"""Time for the launcher to forward a message: MPICH's may lose what it has not read when a rank aborts."""

BLOCK = 1 << 20
"""Bytes of random payload, repeated in larger messages."""

_ALIVE: list[MPIBuffer] = []
"""All memory passed to MPI: attached buffers and active requests use it until MPI_Finalize."""


CORES = 1 << 12
"""Of a machine, at most; those beyond are taken for one another."""


class MPIBuffer:
    """Bytes that MPI may read and write."""

    def __init__(self, nbytes: int, seed: int | None) -> None:
        self.nbytes = nbytes
        self.room = (ctypes.c_char * nbytes)()
        if seed is not None:
            block = random.Random(seed).randbytes(min(nbytes, BLOCK))
            for start in range(0, nbytes, BLOCK):
                ctypes.memmove(ctypes.addressof(self.room) + start, block, min(BLOCK, nbytes - start))


class MPITransport:
    """One rank's MPI."""

    def __init__(self, seed: int = 0) -> None:
        self.rank, self.size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
        self.shares_cores = are_cores_shared(self.quiet)
        self._seed = seed * 1_000_003 + self.rank
        traced = clibrary.has(AS_ANY_SOURCE)
        self._record_any_source = clibrary.symbol(AS_ANY_SOURCE) if traced else lambda on: None
        self.issue: Callable[[clibrary.Ready], None] = operator.call  # no frame of its own around the call

    def allow_truncation(self) -> None:
        """Let receives take messages that are too long for them."""
        clibrary.Ready.truncates = True

    def handle(self, kind: str) -> Any:
        """Return a null handle of a kind."""
        return _NULLS[kind]()

    def predefined(self, kind: str, name: str) -> Any:
        """Return a new handle of a predefined object: MPI overwrites the handle that it frees or consumes."""
        shared = getattr(MPI, name.removeprefix("MPI_"))
        return type(shared)(shared)

    def user_op(self) -> Any:
        """Return a reduction that changes nothing."""
        return MPI.Op.Create(_leave_alone, commute=True)

    def datatype(self, tree: TypeTree) -> tuple[Any, int, int, int, int]:
        """Build and commit a datatype: (handle, size, extent, true lower bound, true extent)."""
        if tree.name == "MPI_DATATYPE_NULL":
            return MPI.DATATYPE_NULL, 0, 0, 0, 0
        result = mpi_types.build(tree, self.quiet)
        if tree.derived:
            self.quiet("Type_commit", Ref(result))
        true_lb, true_extent = result.Get_true_extent()
        return result, result.Get_size(), result.Get_extent()[1], true_lb, true_extent

    def constant(self, value: int) -> int:
        """Return this MPI's integer for a special value; others as they are."""
        return _SPECIAL.get(value, value)

    def named_constant(self, name: str) -> int:
        """Return the integer of a constant's name, or the number that the text is."""
        return int(getattr(MPI, name[4:])) if name.startswith("MPI_") else int(name)

    def degrees(self, comm: Any) -> tuple[int, int]:
        """Return the numbers of destinations and sources of a distributed graph communicator."""
        sources, destinations = Out(), Out()
        self.quiet("Dist_graph_neighbors_count", comm, sources, destinations, Out())
        return destinations.value, sources.value

    def buffer(self, nbytes: int, random: bool = False) -> MPIBuffer:
        """Return memory of a payload."""
        memory = MPIBuffer(nbytes, self._seed if random else None)
        _ALIVE.append(memory)
        return memory

    def at(self, buffer: MPIBuffer, offset: int) -> Any:
        """Return the address of a byte of a buffer."""
        return clibrary.address(buffer.room, offset)

    def address(self, buffer: MPIBuffer) -> int:
        """Return the address of a buffer."""
        return ctypes.addressof(buffer.room)

    def prepare(self, op: str, args: Sequence[Any]) -> clibrary.Ready:
        """Convert the arguments of MPI_<op>."""
        return clibrary.ready("MPI_", op, args)

    def quiet(self, op: str, *args: Any) -> None:
        """Make the call past any tracer."""
        clibrary.ready("PMPI_", op, args)()

    def members(self, comm: Any) -> tuple[int, ...]:
        """Return the world ranks of a communicator's (local) group."""
        group, world, size = MPI.Group(), MPI.Group(), Out()
        self.quiet("Comm_group", comm, Ref(group))
        self.quiet("Comm_group", MPI.COMM_WORLD, Ref(world))
        self.quiet("Group_size", group, size)
        ranks = Out(size.value)
        self.quiet("Group_translate_ranks", group, size.value, Ints(range(size.value)), world, ranks)
        self.quiet("Group_free", Ref(group))
        self.quiet("Group_free", Ref(world))
        return tuple(ranks.values[: size.value])

    def group(self, ranks: Sequence[int]) -> Any:
        """Return the group of these world ranks."""
        world, group = MPI.Group(), MPI.Group()
        self.quiet("Comm_group", MPI.COMM_WORLD, Ref(world))
        self.quiet("Group_incl", world, len(ranks), Ints(ranks), Ref(group))
        self.quiet("Group_free", Ref(world))
        return group

    def matched(self, status: Status) -> tuple[int, int]:
        """Return source and bytes of the message that a status is about."""
        return clibrary.matched(status)

    @contextmanager
    def recorded_as_any_source(self) -> Iterator[None]:
        """Let a tracer, if there is one, record MPI_ANY_SOURCE for calls in the context."""
        self._record_any_source(1)
        try:
            yield
        finally:
            self._record_any_source(0)

    @property
    def any_source_recorder(self) -> int:
        """The address of the tracer's function that `recorded_as_any_source` calls; 0 without a tracer."""
        if not clibrary.has(AS_ANY_SOURCE):
            return 0
        return ctypes.cast(clibrary.symbol(AS_ANY_SOURCE), ctypes.c_void_p).value or 0

    def gather(self, data: bytes) -> list[bytes] | None:
        """Collect data at rank 0 past any tracer."""
        lengths = Out(self.size)
        byte, int_ = MPI.BYTE, MPI.INT
        self.quiet("Allgather", Ints([len(data)]), 1, int_, lengths, 1, int_, MPI.COMM_WORLD)
        starts = [sum(lengths.values[:i]) for i in range(self.size)]
        room = (ctypes.c_char * max(1, sum(lengths.values)))()
        mine = ctypes.create_string_buffer(data, len(data) + 1)
        self.quiet(
            "Gatherv",
            clibrary.address(mine, 0),
            Count(len(data)),
            byte,
            clibrary.address(room, 0),
            Counts(lengths.values),
            Counts(starts),
            byte,
            0,
            MPI.COMM_WORLD,
        )
        if self.rank:
            return None
        return [room.raw[start : start + n] for start, n in zip(starts, lengths.values, strict=True)]

    def broadcast(self, data: bytes) -> bytes:
        """Return on all ranks the data of rank 0, past any tracer."""
        length = Out(self.size)
        self.quiet("Allgather", Ints([len(data)]), 1, MPI.INT, length, 1, MPI.INT, MPI.COMM_WORLD)
        nbytes = length.values[0]
        room = ctypes.create_string_buffer(data if self.rank == 0 else b"", nbytes + 1)
        self.quiet("Bcast", clibrary.address(room, 0), Count(nbytes), MPI.BYTE, 0, MPI.COMM_WORLD)
        return room.raw[:nbytes]

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send each rank its part, past any tracer; return what each rank sent to this one."""
        byte, int_ = MPI.BYTE, MPI.INT
        sent = [len(part) for part in parts]
        lengths = Out(self.size)
        self.quiet("Alltoall", Ints(sent), 1, int_, lengths, 1, int_, MPI.COMM_WORLD)
        ends, starts = list(accumulate(lengths.values)), [0, *accumulate(lengths.values)][: self.size]
        outgoing = ctypes.create_string_buffer(b"".join(parts), sum(sent) + 1)
        room = (ctypes.c_char * max(1, ends[-1]))()
        self.quiet(
            "Alltoallv",
            clibrary.address(outgoing, 0),
            Counts(sent),
            Counts([0, *accumulate(sent)][: self.size]),
            byte,
            clibrary.address(room, 0),
            Counts(lengths.values),
            Counts(starts),
            byte,
            MPI.COMM_WORLD,
        )
        return [room.raw[start:end] for start, end in zip(starts, ends, strict=True)]

    def any(self, mine: bool) -> bool:
        """Return on all ranks whether it is true on any, past any tracer."""
        all_ranks = Out(self.size)
        self.quiet("Allgather", Ints([mine]), 1, MPI.INT, all_ranks, 1, MPI.INT, MPI.COMM_WORLD)
        return any(all_ranks.values)

    def finish(self) -> None:
        """End MPI while the memory that it may still use is there: interpreter exit frees that first."""
        MPI.Finalize()

    def abort(self, message: str, status: int = 1) -> None:
        """Print the message, if any, and end all ranks; does not return."""
        if message:
            print(message, file=sys.stderr, flush=True)
            time.sleep(FORWARDED_S)
        MPI.COMM_WORLD.Abort(status)

    def open_port(self) -> str:
        """Open a port and return its name. Raises ReplayError.

        By mpi4py, which passes MPICH the length that its names need; tracers do not record this call.
        """
        try:
            return MPI.Open_port()
        except MPI.Exception as error:
            raise ReplayError(f"MPI_Open_port: {error.Get_error_string()}") from None

    def mailboxes(self, nbytes: int) -> Mailboxes:
        """Return mailboxes for messages of up to the largest number of bytes that a rank gives."""
        largest, mine = (ctypes.c_longlong * 1)(), (ctypes.c_longlong * 1)(nbytes)
        addresses = clibrary.address(mine, 0), clibrary.address(largest, 0)
        self.quiet("Allreduce", *addresses, 1, MPI.LONG_LONG, MPI.MAX, MPI.COMM_WORLD)
        return Mailboxes(largest[0])

    def exchange_counts(self, comm: Any, counts: list[int], poll: Callable[[], object]) -> int:
        """Tell each peer of a communicator its count, polling meanwhile; return the sum of theirs."""
        request, counts_of_peers = MPI.Request(), Out(len(counts))
        call = clibrary.ready(
            "PMPI_", "Ialltoall", (Ints(counts), 1, MPI.INT, counts_of_peers, 1, MPI.INT, comm, Ref(request))
        )
        call()
        test = clibrary.ready("PMPI_", "Test", (Ref(request), done := Out(), Constant.STATUS))
        test()
        while not done.value:
            poll()
            test()
        for step in call.after:
            step()  # what has come since the call returned
        return sum(counts_of_peers.values)

    def is_null(self, handle: Any) -> bool:
        """Say whether a handle is null."""
        return not handle


def _leave_alone(inbuf: Any, inoutbuf: Any, datatype: Any) -> None:
    """A reduction's function: the payload is random before and after."""


def are_cores_shared(quiet: Callable[..., None]) -> bool:
    """Return, on all ranks of this machine, whether they share cores; `quiet` makes calls past any tracer.

    A launcher may bind each rank to some cores. So the number of cores of all ranks is compared with theirs.
    """
    machine, size = MPI.Comm(), Out()
    quiet("Comm_split_type", MPI.COMM_WORLD, MPI.COMM_TYPE_SHARED, 0, Constant.INFO_NULL, Ref(machine))
    quiet("Comm_size", machine, size)
    mine, all_of_us = (ctypes.c_ubyte * CORES)(), (ctypes.c_ubyte * CORES)()
    for core in os.sched_getaffinity(0):
        mine[core % CORES] = 1
    rooms = clibrary.address(mine, 0), clibrary.address(all_of_us, 0)
    quiet("Allreduce", *rooms, CORES, MPI.BYTE, MPI.BOR, machine)
    quiet("Comm_free", Ref(machine))
    return size.value > sum(all_of_us)
