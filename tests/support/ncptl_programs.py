"""Small coNCePTuaL programs that cover the language, and what its tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.lower import BoundProgram, lower

FOLDER = Path(__file__).parents[1] / "codegen" / "ncptl" / "programs"
#: Name -> a program that runs on 4 tasks; all statements, clauses and functions together.
PROGRAMS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.ncptl"))}

NAMES = {"BYTES": "MPI_BYTE", "INTEGERS": "MPI_INT", "DOUBLEWORDS": "MPI_DOUBLE"}


def lowered(source: str, tasks: int = 4, **parameters: int) -> BoundProgram:
    """A program bound to a number of tasks."""
    return lower(check(source), tasks, parameters)


def calls(program: BoundProgram, rank: int, timed: int = 1) -> list[str]:
    """The MPI calls that a rank's events make, one line each; loops for a time run `timed` times."""
    splits = [f"Comm_split color={int(rank in comm)}" for comm in program.comms]
    return splits + list(_calls(program.events[rank], {True: 0, False: 0}, program.tasks, timed))


def _comm(ranks: e.Comm) -> str:
    return f"comm={{{','.join(map(str, ranks))}}}"


def _calls(events: tuple[e.Event, ...], pending: dict[bool, int], tasks: int, timed: int) -> Iterator[str]:
    for event in events:
        match event:
            case e.Each():
                for body in event.bodies():
                    yield from _calls(body, pending, tasks, timed)
            case e.Repeat() | e.Timed():
                for _ in range(event.count if isinstance(event, e.Repeat) else timed):
                    yield from _calls(event.body, pending, tasks, timed)
                    if isinstance(event, e.Timed):
                        yield f"Allreduce 1 MPI_LONG_LONG {_comm(tuple(range(tasks)))}"
            case e.Aside():
                yield from _calls(event.body, pending, tasks, timed)
            case e.WaitEvent():
                for sends in (True, False):
                    if pending[sends]:
                        yield f"Waitall {pending[sends]}"
                    pending[sends] = 0
            case e.Transfer():
                pending[event.sends] += event.count * event.asynchronous
                name = ("I" if event.asynchronous else "") + ("send" if event.sends else "recv")
                peer = f"{'dst' if event.sends else 'src'}={event.peer}"
                yield from [f"{name.capitalize()} {event.size} {peer} tag={event.tag}"] * event.count
            case e.Barrier(comm):
                yield f"Barrier {_comm(comm)}"
            case e.Bcast(comm, root, count, unit, times):
                yield from [f"Bcast {count} {NAMES[unit]} root={comm.index(root)} {_comm(comm)}"] * times
            case e.Alltoall(comm, size, times):
                yield from [f"Alltoall {size} {_comm(comm)}"] * times
            case e.Alltoallv(comm, sent, received, times):
                shown = " ".join(map(str, sent)), " ".join(map(str, received))
                yield from [f"Alltoallv s=[{shown[0]} ] r=[{shown[1]} ] {_comm(comm)}"] * times
            case e.Reduction(comm, root, count, unit):
                where = "" if root is None else f"root={comm.index(root)} "
                name = "Allreduce" if root is None else "Reduce"
                yield f"{name} {count} {NAMES[unit]} {where}{_comm(comm)}"
