"""The calls of a DUMPI trace, for the recorder's compressor.

Parameters are those of MPI. A derived datatype becomes MPI_BYTE with a count of bytes. MPI_Waitsome and
MPI_Testsome become MPI_Waitall of the requests that they completed. Unsuccessful polls, one-sided
communication and file access are left out; their time counts as computation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from scalatrace.convert.dumpi.communicators import (
    MAKING,
    RELEVANT,
    CommunicatorError,
    DumpiComm,
    MadeComm,
    follow_communicators,
)
from scalatrace.convert.dumpi.datatypes import DumpiTypes
from scalatrace.convert.dumpi.metadata import rank_files
from scalatrace.convert.dumpi.reader import DumpiCall, DumpiFile
from scalatrace.convert.ranks import CallError, RankCalls, write_trace
from scalatrace.errors import FormatError
from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import Datatype, Kind
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED

__all__ = ["convert_dumpi"]

Params = list[tuple[str, Kind, Any]]

_OPERATORS = (
    "", "MPI_MAX", "MPI_MIN", "MPI_SUM", "MPI_PROD", "MPI_LAND", "MPI_BAND", "MPI_LOR", "MPI_BOR", "MPI_LXOR",
    "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE",
)  # fmt: skip
_LEFT_OUT = frozenset({Category.ONE_SIDED, Category.WINDOW, Category.IO, Category.FILE})
_ENDINGS = frozenset({"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"})
_ANY = -1
_PARAMETERS: dict[str, str] = {
    **dict.fromkeys(("Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend"), "dest tag"),
    **dict.fromkeys(("Send_init", "Bsend_init", "Ssend_init", "Rsend_init"), "dest tag"),
    **dict.fromkeys(("Recv", "Irecv", "Recv_init"), "source tag"),
    "Sendrecv": "dest sendtag source recvtag",
    "Sendrecv_replace": "dest sendtag source recvtag",
    "Probe": "source tag", "Iprobe": "source tag",
    "Barrier": "", "Bcast": "root", "Reduce": "op root", "Allreduce": "op", "Scan": "op", "Exscan": "op",
    "Gather": "root", "Gatherv": "displs root", "Scatter": "root", "Scatterv": "displs root",
    "Allgather": "", "Allgatherv": "displs", "Alltoall": "", "Alltoallv": "sdispls rdispls",
    "Reduce_scatter": "op", "Comm_dup": "", "Comm_create": "", "Comm_split": "color key",
    "Cart_create": "ndims dims periods reorder", "Cart_sub": "remain_dims",
    "Graph_create": "nodes index edges reorder",
    "Comm_free": "", "Comm_disconnect": "",
}  # fmt: skip
"""Parameters of the calls that are converted, besides counts, datatypes and communicators."""


def convert_dumpi(meta: str | PathLike[str], output: str | PathLike[str]) -> Counter[str]:
    """Write the trace of a DUMPI trace (its metafile); return how often each MPI call was left out.

    Raises:
        FormatError: a file is missing, damaged or cut off, or has a call that cannot be converted.
    """
    files = rank_files(Path(meta))
    comms = _communicators(files)
    left_out: Counter[str] = Counter()

    def record(rank: int) -> RankCalls:
        return _RankConverter(rank, files, comms[rank], left_out).convert()

    write_trace(range(len(files)), record, output, {"program": f"DUMPI trace {Path(meta).stem}"})
    return left_out


def _communicators(files: list[Path]) -> list[list[MadeComm]]:
    calls = [[call for call in DumpiFile(file).calls() if call.name in RELEVANT] for file in files]
    try:
        return follow_communicators(calls)
    except CommunicatorError as error:
        call = error.call
        raise FormatError(f"MPI_{call.name}: {error}", files[error.rank], call.at) from None


class _RankConverter:
    """Converts the calls of one rank.

    Attributes:
        _comms: communicators by the numbers that are valid now; `_next` gives those that calls make.
        _live: numbers of live requests, oldest first; `_persistent` those that stay when they complete.
        _stack: functions of the program that are entered, the outermost first.
    """

    def __init__(self, rank: int, files: list[Path], comms: list[MadeComm], left_out: Counter[str]) -> None:
        self._file = DumpiFile(files[rank])
        self._calls = RankCalls(rank, len(files), ("compute_ns", "comm_ns"))
        self._made: Iterator[MadeComm] = iter(comms)
        self._comms: dict[int, DumpiComm | None] = {}
        self._types = DumpiTypes(self._file.sizes)
        self._left_out = left_out
        self._live: list[int] = []
        self._persistent: set[int] = set()
        self._stack: list[str] = []
        self._computed_ns = 0
        self._left_ns: int | None = None

    def convert(self) -> RankCalls:
        for call in self._file.calls():
            if call.name == "Function_enter":
                address = call.arguments["fn"]
                self._stack.append(self._file.functions.get(address, f"{address:#x}"))
            elif call.name == "Function_exit":
                del self._stack[-1:]
            else:
                self._take(call)
        return self._calls

    def _take(self, call: DumpiCall) -> None:
        if call.start_ns is not None and self._left_ns is not None:
            self._computed_ns += max(call.start_ns - self._left_ns, 0)
        self._left_ns = call.end_ns
        name = call.name
        if name in _ENDINGS:
            self._complete(call)
        elif name in ("Start", "Startall"):
            numbers = call.arguments["requests"] if name == "Startall" else (call.arguments["request"],)
            self._append(call, name, self._requests(name, numbers))
        elif name in ("Request_free", "Cancel"):
            self._append(call, name, self._requests(name, (call.arguments["request"],)))
            if name == "Request_free":
                self._end(call.arguments["request"], freed=True)
        elif name == "Finalize":
            self._append(call, name, [])
        elif name in _PARAMETERS:
            self._issue(call)
        else:
            self._types.follow(name, call.arguments)
            if operation(name).category in _LEFT_OUT or name.startswith("IO_") or name == "Alltoallw":
                self._left_out[f"MPI_{name.removeprefix('IO_')}"] += 1
            if name not in ("Init", "Init_thread"):
                self._count_as_computation(call)  # also a local call, as in recorded traces
            return

    def _count_as_computation(self, call: DumpiCall) -> None:
        """Add the time in a call that the trace will not have."""
        if call.start_ns is not None and call.end_ns is not None:
            self._computed_ns += call.end_ns - call.start_ns

    def _issue(self, call: DumpiCall) -> None:
        name, arguments = call.name, call.arguments
        if name == "Iprobe" and not arguments["flag"]:
            self._count_as_computation(call)
            return
        params = self._sizes(call)
        params += [self._parameter(name, arguments) for name in _PARAMETERS[name].split()]
        if "comm" in arguments:
            params.append(("comm", Kind.COMM, self._comm(call, arguments["comm"])))
        if name in MAKING:
            making_call = next(self._made)
            if name == "Comm_create":
                params.append(("group", Kind.ARRAY, making_call.group))
            params.append(("newcomm", Kind.COMM, self._new_comm(arguments["newcomm"], making_call.comm)))
        self._append(call, name, params)
        if "request" in arguments:
            self._live.append(arguments["request"])
            if operation(name).flow_later:
                self._persistent.add(arguments["request"])

    def _sizes(self, call: DumpiCall) -> Params:
        """Return counts and datatypes; those that only the root has are undefined on other ranks."""
        arguments, result = call.arguments, Params()
        row = operation(call.name)
        for count, datatype in dict.fromkeys((flow.count, flow.datatype) for flow in row.flows):
            kind = Kind.ARRAY if count.endswith("counts") else Kind.INT
            if count not in arguments:
                if row.is_rooted:
                    result += [(count, kind, UNDEFINED), (datatype, Kind.TYPE, UNDEFINED)]
                continue
            type_, factor = self._type(call, arguments[datatype])
            number = arguments[count]
            scaled = tuple(n * factor for n in number) if kind is Kind.ARRAY else number * factor
            result += [(count, kind, scaled), (datatype, Kind.TYPE, type_)]
        return result

    def _type(self, call: DumpiCall, number: int) -> tuple[Datatype, int]:
        try:
            return self._types.of(number)
        except KeyError:
            raise self._error(call, f"the size of its datatype {number} is not known") from None

    def _parameter(self, name: str, arguments: dict[str, Any]) -> tuple[str, Kind, Any]:
        value = arguments.get({"ndims": "ndim"}.get(name, name))
        if value is None:
            return name, Kind.ARRAY if name.endswith("displs") else Kind.INT, UNDEFINED
        if name in ("dest", "source"):
            if value < 0:
                value = ANY_SOURCE if name == "source" and value == _ANY else PROC_NULL
            return name, Kind.PEER, value
        if name.endswith("tag"):
            return name, Kind.INT, ANY_TAG if value == _ANY else value
        if name == "color" and value < 0:
            return name, Kind.INT, UNDEFINED
        if name == "op":
            is_predefined = 0 < value < len(_OPERATORS)
            return name, Kind.STRING, _OPERATORS[value] if is_predefined else "user-defined"
        return name, Kind.ARRAY if isinstance(value, tuple) else Kind.INT, value

    def _comm(self, call: DumpiCall, number: int) -> object:
        """Return the key of a communicator, which is defined when it is first used."""
        if number in (1, 2, 3):
            key = {1: "null", 2: "world", 3: "self"}[number]
            self._calls.comm(key, key, (self._calls.rank,) if key == "self" else ())
            return key
        comm = self._comms.get(number)
        if comm is None:
            raise self._error(call, f"no call made its communicator {number}")
        return comm

    def _new_comm(self, number: int, comm: DumpiComm | None) -> object:
        self._comms[number] = comm
        if comm is None:
            self._calls.comm("null", "null", ())
            return "null"
        self._define(comm)
        return comm

    def _define(self, comm: DumpiComm) -> object:
        if comm.parent is None:
            if comm.kind == "self":
                self._calls.comm("self", "self", comm.members)
            return comm.kind
        self._calls.comm(comm, comm.kind, comm.members, self._define(comm.parent), ordinal=comm.ordinal)
        return comm

    def _complete(self, call: DumpiCall) -> None:
        name, arguments = call.name, call.arguments
        if not arguments.get("flag", 1) or arguments.get("outcount", 1) < 1:
            self._count_as_computation(call)
            return
        numbers = arguments["requests"] if "requests" in arguments else (arguments["request"],)
        if "indices" in arguments:
            numbers = tuple(numbers[at] for at in arguments["indices"] if 0 <= at < len(numbers))
            name = "Waitall"
        params = self._requests(name, numbers)
        ended = numbers
        if "index" in arguments:
            at = arguments["index"]
            ended = numbers[at : at + 1] if at >= 0 else ()
            params.append(("index", Kind.INT, at if ended else UNDEFINED))
        self._append(call, name, params)
        for number in ended:
            self._end(number)

    def _requests(self, name: str, numbers: tuple[int, ...]) -> Params:
        last = len(self._live) - 1
        ages = tuple(last - self._live.index(n) if n in self._live else UNDEFINED for n in numbers)
        is_array = name.endswith(("all", "any"))
        return [("requests", Kind.ARRAY, ages) if is_array else ("request", Kind.INT, ages[0])]

    def _end(self, number: int, freed: bool = False) -> None:
        if number in self._live and (freed or number not in self._persistent):
            self._live.remove(number)
            self._persistent.discard(number)

    def _append(self, call: DumpiCall, name: str, params: Params) -> None:
        stats: tuple[float, ...] = ()
        if call.start_ns is not None and call.end_ns is not None:
            stats = (float(self._computed_ns), float(call.end_ns - call.start_ns))
        self._computed_ns = 0
        try:
            self._calls.append(name, params, tuple(reversed(self._stack)), stats)
        except CallError as error:
            raise self._error(call, str(error)) from None

    def _error(self, call: DumpiCall, reason: str) -> FormatError:
        return FormatError(f"MPI_{call.name}: {reason}", self._file.path, call.at)
