"""What a scalable program does on a rank of a grid, against the trace that the same formulas give there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scalatrace import Trace
from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.lowering.events import (
    Alltoall,
    Alltoallv,
    Barrier,
    Bcast,
    Reduction,
    Repeat,
    Transfer,
    WaitEvent,
)
from scalatrace.codegen.conceptual.lowering.lower import lower
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall
from scalatrace.extrap.extrapolate import of_model
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import SPECIAL_MAX

IssuedCall = tuple[str, tuple[Any, ...]]


def setting(
    program: BenchmarkProgram, trace: Trace, grid: Grid, inputs: Mapping[str, int], rank: int
) -> InterpretSetting:
    """The variables of a rank."""

    def communicator(family: int) -> tuple[int, int]:
        comm = trace.communicator(family, rank)
        return comm.rank, max(len(comm.peers), 1)

    names = {
        name: int(column if isinstance(column, int) else column[rank])
        for name, column in grid.columns.items()
    }
    return InterpretSetting({**names, **inputs, "rank": rank}, communicator)


def made(program: BenchmarkProgram, at: InterpretSetting) -> Iterator[IssuedCall]:
    """What a process of the program calls, with contents in place of numbers of tables."""
    for stmt, here in run(program, at):
        if isinstance(stmt, MpiCall):
            yield (
                stmt.op,
                tuple(_content(program, a.kind, value(a.value, here), here) for a in stmt.arguments),
            )


def _content(program: BenchmarkProgram, kind: Kind, n: int, at: InterpretSetting) -> Any:
    if n < SPECIAL_MAX:
        return n
    if kind is Kind.TYPE:
        return program.types[n].description
    if kind is Kind.STRING:
        return program.strings[n]
    if kind is not Kind.ARRAY:
        return n
    assert program.shape is not None
    if (array := program.shape.arrays.get(n)) is None:
        return program.arrays[n].values
    places = (
        InterpretSetting({**at.variables, array.variable.name: k}, at.communicator)
        for k in range(value(array.length, at))
    )
    return tuple(value(array.element, place) for place in places)


def walked(trace: Trace, rank: int) -> Iterator[IssuedCall]:
    """What the trace says the rank calls."""
    for call in trace.walk(rank):
        if call.op in ("Init", "Init_thread", "Finalize"):
            continue
        kinds = (kind for _, kind in trace.ops[call.node.op].params)
        yield call.op, tuple(_entry(trace, kind, n) for kind, n in zip(kinds, call.values, strict=True))


def _entry(trace: Trace, kind: Kind, n: int) -> Any:
    if n < SPECIAL_MAX:
        return n
    if kind is Kind.TYPE:
        return trace.datatype(n).description
    if kind is Kind.STRING:
        return trace.string(n)
    if kind is Kind.ARRAY:
        array: IntArray = trace.arrays[n]
        return array.values
    return n


def compare(
    program: BenchmarkProgram,
    model: SymbolicTrace,
    dims: tuple[int, ...],
    inputs: Mapping[str, int] | None = None,
) -> None:
    """Assert that all ranks of a grid do what the trace of that size says."""
    grid = Grid(dims, model.column_major)
    out = of_model(model, grid.nprocs, dims, inputs or {}, accept_unconfirmed=True)
    assert program.shape is not None
    given = {name: (inputs or {}).get(name, program.shape.default(name)) for name in model.inputs}
    for rank in range(grid.nprocs):
        at = setting(program, out.trace, grid, given, rank)  # type: ignore[arg-type]
        mine, theirs = list(made(program, at)), list(walked(out.trace, rank))
        for n, (a, b) in enumerate(zip(mine, theirs, strict=False)):
            assert a == b, f"{dims}, rank {rank}, call {n}: {a} in the program, {b} in the trace"
        assert len(mine) == len(theirs), f"{dims}, rank {rank}: {len(mine)} calls, not {len(theirs)}"


def calls_of_tasks(text: str, tasks: int, parameters: Mapping[str, int]) -> list[list[Any]]:
    """What each task of a coNCePTuaL program does, one after the other, without what only takes time.

    Whether a send is blocking does not count: what may be to the task itself is not, in one way or the other.
    """
    lowered = lower(check(text), tasks, dict(parameters))
    return [list(_flat(lowered.events[task])) for task in range(tasks)]


def _flat(events: Any) -> Iterator[Any]:
    for event in events:
        if isinstance(event, Repeat):
            for _ in range(event.count):
                yield from _flat(event.body)
        elif isinstance(event, Transfer):
            yield ("send" if event.sends else "receive"), event.peer, event.size, event.tag, event.count
        elif isinstance(event, WaitEvent | Barrier | Bcast | Alltoall | Alltoallv | Reduction):
            yield event
