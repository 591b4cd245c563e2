"""SimGrid's time-independent traces, for `smpirun -replay`.

A folder with one file for each rank, and `ranks.txt`, which lists them. Sizes are bytes (datatype 6); a
computation is in flops of a host of 1 Gflop/s, so in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scalatrace.files import write_file
from scalatrace.predict.lowering import (
    CollectiveAction,
    Computation,
    LoweredAction,
    LoweringTarget,
    RecvMessage,
    SendMessage,
    TraceLowering,
    WaitAction,
)
from scalatrace.predict.lowering.schedules import RoundShape
from scalatrace.predict.platform import Platform

__all__ = ["LIST", "SIMGRID", "lines", "write_simgrid"]

LIST = "ranks.txt"
"""File with the names of the ranks' files, relative to its folder."""

BYTE = 6
"""MPI_BYTE."""

SIMGRID = LoweringTarget(
    frozenset({
        "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv", "allgather",
        "alltoall", "reduce_scatter", "scan",
    }),
    several_sizes=True,
)  # fmt: skip


def write_simgrid(lowering: TraceLowering, folder: Path) -> None:
    """Write the files of all ranks into an existing folder."""
    names = []
    for number, rank in enumerate(lowering.ranks):
        names.append(f"rank-{number}.txt")
        with open(folder / names[-1], "w", encoding="ascii") as file:
            file.writelines(f"{number} {line}\n" for line in lines(lowering, rank, number))
    write_file(folder / LIST, "".join(f"{name}\n" for name in names).encode())


def lines(lowering: TraceLowering, rank: int, number: int) -> Iterator[str]:
    """Yield the lines of a rank without their first word, the rank's number."""
    writer = _SimGridWriter(number, lowering.platform)
    yield "init"
    for action in lowering.actions(rank):
        yield from writer.lines(action)
    yield "finalize"


class _SimGridWriter:
    """Writes the actions of a rank; keeps the requests that it has not waited for.

    SimGrid's replay names a request by source, destination and tag. Of a message with the rendezvous protocol
    it charges no overhead to a blocking sender, and none to the receiver: these are computations here.
    """

    def __init__(self, number: int, platform: Platform) -> None:
        self._number, self._platform = number, platform
        self._open: dict[int, tuple[str, float]] = {}

    def lines(self, action: LoweredAction) -> list[str]:
        if isinstance(action, Computation):
            return _computation(action.ns)
        if isinstance(action, SendMessage | RecvMessage):
            return self._message(action)
        if isinstance(action, WaitAction):
            return self._wait(action.requests)
        return [_collective(action, self._platform)]

    def _message(self, message: SendMessage | RecvMessage) -> list[str]:
        sends, waits = isinstance(message, SendMessage), message.request is None
        name = ("" if waits else "i") + ("send" if sends else "recv")
        line = f"{name} {message.peer} {message.tag} {message.nbytes} {BYTE}"
        overhead = _computation(self._rendezvous_overhead_ns(message))
        if message.request is not None:
            source, dest = (self._number, message.peer) if sends else (message.peer, self._number)
            self._open[message.request] = f"{source} {dest} {message.tag}", self._later_ns(message)
            return [line]
        return [*overhead, line] if sends else [line, *overhead]

    def _wait(self, requests: tuple[int, ...]) -> list[str]:
        closed = [self._open.pop(request) for request in requests]
        overhead = _computation(sum(ns for _, ns in closed))
        if len(closed) > 1 and not self._open:
            return ["waitall", *overhead]
        return [*(f"wait {name}" for name, _ in closed), *overhead]

    def _later_ns(self, message: SendMessage | RecvMessage) -> float:
        return 0.0 if isinstance(message, SendMessage) else self._rendezvous_overhead_ns(message)

    def _rendezvous_overhead_ns(self, message: SendMessage | RecvMessage) -> float:
        network = self._platform.network_between(self._number, message.peer)
        if network.is_eager(message.nbytes):
            return 0.0
        segment = network.segment(message.nbytes)
        if isinstance(message, SendMessage):
            return segment.send_overhead_ns + message.nbytes * segment.send_overhead_per_byte_ns
        return segment.recv_overhead_ns + message.nbytes * segment.recv_overhead_per_byte_ns


def _computation(ns: float) -> list[str]:
    return [f"compute {_flops(ns)}"] if ns > 0 else []


def _flops(ns: float) -> str:
    return f"{ns:.3f}".rstrip("0").rstrip(".")


def _collective(action: CollectiveAction, platform: Platform) -> str:
    shape = action.shape
    size, root, n = shape.nbytes, shape.root, shape.nranks
    flops = _flops(size * platform.reduce_per_byte_ns)
    match shape.operation:
        case "barrier":
            return "barrier"
        case "bcast":
            return f"bcast {size} {root} {BYTE}"
        case "reduce":
            return f"reduce {size} {flops} {root} {BYTE}"
        case "allreduce" | "scan":
            return f"{shape.operation} {size} {flops} {BYTE}"
        case "gather" | "scatter":
            return f"{shape.operation} {size} {size} {root} {BYTE} {BYTE}"
        case "gatherv":
            own_bytes = shape.recvs[shape.rank] if shape.recvs else size
            return f"gatherv {own_bytes} {_sizes(shape.recvs, n)} {root} {BYTE} {BYTE}"
        case "scatterv":
            own_bytes = shape.sends[shape.rank] if shape.sends else size
            return f"scatterv {_sizes(shape.sends, n)} {own_bytes} {root} {BYTE} {BYTE}"
        case "reduce_scatter":
            sizes = shape.recvs or (size,) * n
            flops = _flops(sum(sizes) * platform.reduce_per_byte_ns)
            return f"reducescatter {_sizes(sizes, n)} {flops} {BYTE}"
    return _exchange(shape)


def _exchange(shape: RoundShape) -> str:
    """Return the line of an allgather or alltoall."""
    size, n, types = shape.nbytes, shape.nranks, f"{BYTE} {BYTE}"
    if shape.recvs is None:
        return f"{shape.operation} {size} {size} {types}"
    if shape.operation == "allgather":
        return f"allgatherv {shape.recvs[shape.rank]} {_sizes(shape.recvs, n)} {types}"
    sends = shape.sends or shape.recvs
    buffers = f"{sum(sends)} {_sizes(sends, n)} {sum(shape.recvs)} {_sizes(shape.recvs, n)}"
    return f"alltoallv {buffers} {types}"


def _sizes(sizes: tuple[int, ...] | None, n: int) -> str:
    """Return the sizes as words; zeros where this rank does not know them."""
    return " ".join(map(str, sizes if sizes is not None else (0,) * n))
