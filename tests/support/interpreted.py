"""The calls of a program as its interpreter makes them, and those of the trace that it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace import Trace
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall
from scalatrace.errors import FormatError

IssuedCall = tuple[str, tuple[int, ...]]


def made(program: BenchmarkProgram, trace: Trace, rank: int) -> Iterator[IssuedCall]:
    """What a process of the program calls."""

    def communicator(family: int) -> tuple[int, int]:
        comm = trace.communicator(family, rank)
        return comm.rank, max(len(comm.peers), 1)

    for stmt, at in run(program, InterpretSetting({"rank": rank}, communicator)):
        if isinstance(stmt, MpiCall):
            yield stmt.op, tuple(value(argument.value, at) for argument in stmt.arguments)


def walked(trace: Trace, rank: int) -> Iterator[IssuedCall]:
    """What the application called."""
    return ((call.op, call.values) for call in trace.walk(rank))


def sound(trace: Trace) -> bool:
    """Whether the trace can be walked: drawn ones may contradict themselves."""
    try:
        for rank in trace.ranks:
            for _ in trace.walk(rank):
                pass
    except FormatError:
        return False
    return True
