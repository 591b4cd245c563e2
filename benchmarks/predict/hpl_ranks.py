"""Record samples/hpl.py rank by rank in one process: its calls on thousands of ranks, without MPI.

What HPL sends follows from the sizes of the matrix and the rows of the pivots. These are known beforehand:
LAPACK finds them for the same matrix. So the program runs once for each rank, and in place of MPI it has an
object that records each call and returns. Times are not recorded.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.linalg import lu_factor

from scalatrace import Trace, load
from scalatrace.arrays import Ints
from scalatrace.core.binding import COMM_WORLD, Core, family
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import ANY_TAG
from support.programs import SAMPLES

__all__ = ["record_ranks"]

Values = dict[str, tuple[Kind, Any]]
"""Parameters of a call, in the order of the operation."""

IN_PLACE = object()
KERNEL_BEGINS, KERNEL_ENDS = 1001, 1002
"""Levels of Pcontrol between which `scalatrace.kernel` has a kernel."""
MAX_SIZES = 4
"""Parameters of a kernel; a call has all of them."""
TYPES = {
    np.dtype("f8"): ("MPI_DOUBLE", 8, 8),
    np.dtype("i4"): ("MPI_INT", 4, 4),
    "MPI_DOUBLE_INT": ("MPI_DOUBLE_INT", 12, 16),
}


class _RankRecorder:
    """Records the calls of one rank. Call sites are frames of the samples."""

    def __init__(self, rank: int, nranks: int) -> None:
        self.core, self.rank = Core(rank, nranks), rank
        self.core.define_comm(COMM_WORLD, 0, "world", range(nranks))
        self.core.define_stat("compute_ns")
        self.core.define_stat("comm_ns")
        self._ops: dict[str, int] = {}
        self._signatures: dict[tuple[tuple[CodeType, int], ...], int] = {}

    def append(self, op: str, values: Values, place: int = 0, size: int = 1) -> None:
        """Append a call of the rank at this place of a communicator of this size."""
        if op not in self._ops:
            self._ops[op] = self.core.define_op(op, [(name, kind) for name, (kind, _) in values.items()])
        encoded = [self._encode(kind, value) for kind, value in values.values()]
        self.core.append(self._ops[op], encoded, self._signature(), place, size, (0.0, 0.0))

    def _encode(self, kind: Kind, value: Any) -> int:
        if kind is Kind.ARRAY:
            return self.core.array(value)
        if kind is Kind.STRING:
            return self.core.string(value)
        return self.core.define_type(*TYPES[value]) if kind is Kind.TYPE else int(value)

    def _signature(self) -> int:
        frames = list[tuple[CodeType, int]]()
        frame = sys._getframe(2)
        while frame.f_back is not None:
            if frame.f_code.co_filename.startswith(str(SAMPLES)):
                frames.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        key = tuple(frames)
        if key not in self._signatures:
            texts = [f"{code.co_filename}:{line}:{code.co_name}" for code, line in key]
            self._signatures[key] = self.core.define_signature(texts)
        return self._signatures[key]


class _Kernel:
    """Records the marks that `scalatrace.kernel` sets around a kernel."""

    def __init__(self, recorder: _RankRecorder, name: str, **sizes: int) -> None:
        assert len(sizes) <= MAX_SIZES, sizes
        self._recorder = recorder
        self._begin = KERNEL_BEGINS, f"{name}({','.join(sizes)})", list(sizes.values())

    def __enter__(self) -> None:
        self._append(*self._begin)

    def __exit__(self, *error: object) -> None:
        self._append(KERNEL_ENDS, "", [])

    def _append(self, level: int, kernel: str, sizes: list[int]) -> None:
        values: Values = {"level": (Kind.INT, level), "kernel": (Kind.STRING, kernel)}
        for i, size in enumerate(sizes + [0] * (MAX_SIZES - len(sizes))):
            values[f"size{i}"] = Kind.INT, size
        self._recorder.append("Pcontrol", values)


class _RecordedComm:
    """A communicator of the rank, with the methods that the sample calls.

    Args:
        colors: of all ranks, in each `Split` of this communicator.
    """

    def __init__(
        self, recorder: _RankRecorder, number: int, members: Sequence[int], colors: Iterable[Ints] = ()
    ) -> None:
        self._recorder, self._number = recorder, number
        self._splits = iter([(family(number, i), colors) for i, colors in enumerate(colors)])
        self.size, self.rank = len(members), members.index(recorder.rank)

    def Split(self, color: int, key: int) -> _RecordedComm:
        number, colors = next(self._splits)
        members = np.flatnonzero(colors == color).tolist()
        self._recorder.core.define_comm(number, self._number, "split", members)
        split: Values = {"color": (Kind.INT, color), "key": (Kind.INT, key), "newcomm": (Kind.COMM, number)}
        self._append("Comm_split", self._comm | split)
        return _RecordedComm(self._recorder, number, members)

    def Allreduce(self, sent: Any, received: Any, op: str) -> None:
        in_place = sent is IN_PLACE
        buffer = _buffer(received if in_place else sent)
        reduction: Values = {"op": (Kind.STRING, op)}
        self._append("Allreduce", buffer | reduction | self._comm | {"in_place": (Kind.INT, in_place)})

    def Reduce(self, sent: Any, received: Any, op: str, root: int) -> None:
        reduction: Values = {"op": (Kind.STRING, op), "root": (Kind.INT, root)}
        self._append("Reduce", _buffer(sent) | reduction | self._comm | {"in_place": (Kind.INT, 0)})

    def Bcast(self, buffer: Any, root: int) -> None:
        self._append("Bcast", _buffer(buffer) | {"root": (Kind.INT, root)} | self._comm)

    def Sendrecv(self, sent: Any, dest: int, recvbuf: Any, source: int) -> None:
        sending, receiving = (
            _message(sent, "dest", dest, 0, "send"),
            _message(recvbuf, "source", source, ANY_TAG, "recv"),
        )
        self._append("Sendrecv", sending | receiving | self._comm)

    def Send(self, buffer: Any, dest: int) -> None:
        self._append("Send", _message(buffer, "dest", dest, 0) | self._comm)

    def Isend(self, buffer: Any, dest: int) -> None:
        self._append("Isend", _message(buffer, "dest", dest, 0) | self._comm)

    def Recv(self, buffer: Any, source: int) -> None:
        self._append("Recv", _message(buffer, "source", source, ANY_TAG) | self._comm)

    @property
    def _comm(self) -> Values:
        return {"comm": (Kind.COMM, self._number)}

    def _append(self, op: str, values: Values) -> None:
        self._recorder.append(op, values, self.rank, self.size)


def _buffer(buffer: Any, prefix: str = "") -> Values:
    """Return count and datatype of an array, or of a list [array, count, datatype]."""
    _, count, kind = buffer if isinstance(buffer, list) else (buffer, buffer.size, buffer.dtype)
    name = f"{prefix}type" if prefix else "datatype"
    return {f"{prefix}count": (Kind.INT, count), name: (Kind.TYPE, kind)}


def _message(buffer: Any, end: str, peer: int, tag: int, prefix: str = "") -> Values:
    """Return the parameters of a message to (`dest`) or from (`source`) a peer."""
    return _buffer(buffer, prefix) | {end: (Kind.PEER, peer), f"{prefix}tag": (Kind.INT, tag)}


def record_ranks(grid: tuple[int, int], words: Sequence[str]) -> Trace:
    """Return the trace of samples/hpl.py on P x Q ranks, with these further words and marked kernels."""
    nranks = grid[0] * grid[1]
    arguments = [str(SAMPLES / "hpl.py"), "--kernels", "--rows", str(grid[0]), *words]
    with _program() as (program, mpi), patch.object(sys, "argv", arguments), _without_numbers():
        sites = np.divmod(np.arange(nranks), grid[1])

        def record(rank: int) -> Core:
            recorder = _RankRecorder(rank, nranks)
            mpi.COMM_WORLD = _RecordedComm(recorder, COMM_WORLD, range(nranks), sites)
            mpi.Request.Waitall = lambda sends: recorder.append(
                "Waitall", {"requests": (Kind.ARRAY, range(len(sends))[::-1])}
            )
            program.marking = lambda args: lambda name, **sizes: _Kernel(recorder, name, **sizes)
            program.main()
            recorder.core.finish()
            return recorder.core

        core = _merged(map(record, range(nranks)))
    with tempfile.TemporaryDirectory() as folder, core:
        core.write(Path(folder) / "hpl.st")
        return load(Path(folder) / "hpl.st")


@contextmanager
def _without_numbers() -> Iterator[None]:
    """Neither solve small systems of numbers that were not received, nor judge or print the result."""
    solve = patch.object(np.linalg, "solve", lambda left, right: right)
    with np.errstate(all="ignore"), solve, redirect_stdout(StringIO()):
        yield


def _merged(cores: Iterable[Core]) -> Core:
    """Merge the cores of consecutive ranks in the order of a radix tree, with few of them at a time."""
    waiting: list[tuple[int, Core]] = []  # how often each was merged, and it
    for core in cores:
        waiting.append((0, core))
        while len(waiting) > 1 and waiting[-2][0] == waiting[-1][0]:
            _merge_last(waiting)
    while len(waiting) > 1:
        _merge_last(waiting)
    return waiting[0][1]


def _merge_last(waiting: list[tuple[int, Core]]) -> None:
    (_, last), (times, core) = waiting.pop(), waiting.pop()
    with last:
        core.merge(last.pack())
    waiting.append((times + 1, core))


@contextmanager
def _program() -> Iterator[tuple[Any, SimpleNamespace]]:
    """Yield the sample as a module, and what it has for MPI."""
    mpi = SimpleNamespace(
        DOUBLE_INT="MPI_DOUBLE_INT", MAXLOC="MPI_MAXLOC", SUM="MPI_SUM", MAX="MPI_MAX", LAND="MPI_LAND",
        IN_PLACE=IN_PLACE, Request=SimpleNamespace(), Compute_dims=_dims,
    )  # fmt: skip
    replaced: Any = {"mpi4py": SimpleNamespace(MPI=mpi)}
    with patch.dict(sys.modules, replaced), patch.object(sys, "path", [str(SAMPLES), *sys.path]):
        sys.modules.pop("workload", None)
        spec = importlib.util.spec_from_file_location("hpl", SAMPLES / "hpl.py")
        assert spec is not None
        assert spec.loader is not None
        program: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
        program.Matrix = _with_known_pivots(program)
        yield program, mpi


def _dims(nranks: int, dims: Sequence[int]) -> list[int]:
    """Return P and Q, as MPI_Dims_create with P given."""
    return [dims[0], nranks // dims[0]]


def _with_known_pivots(program: Any) -> Any:
    """Return the matrix of the program, with the pivots that LAPACK finds in place of received ones."""

    @cache
    def pivots(n: int, block: int, kind: str) -> Any:
        return lu_factor(program.whole_matrix(n, block, kind)[:, :n])[1]

    class KnownPivots(program.Matrix):  # type: ignore[misc]
        @property
        def known(self) -> Any:
            return pivots(self.n, self.block, self.args.pivots)

        def find_pivot(self, step: int, local: int) -> int:
            super().find_pivot(step, local)
            return int(self.known[step])

        def panel(self, first: int) -> tuple[Any, Any]:
            _, factors = super().panel(first)
            return self.known[first : first + self.block], factors

    return KnownPivots
