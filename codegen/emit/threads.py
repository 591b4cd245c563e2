"""What calls use of what the threads of a program share, for the emitters of C and Python."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from scalatrace.codegen.emit.arguments import possible
from scalatrace.codegen.emit.pieces import RuntimeLibrary, TextPiece
from scalatrace.codegen.program.communicators import is_communicator_free
from scalatrace.codegen.program.threads import THREAD, ProgramThreads
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    MpiCall,
    ProgramArgument,
    ProgramPart,
    Stmt,
)
from scalatrace.formula import Compare, Const
from scalatrace.operations import is_collective, operation
from scalatrace.trace.model.tables import Kind, SharedKind

__all__ = ["KINDS", "CommUse", "SharedUses", "replace_forms", "shared_uses", "thread_functions"]

_FORM = "threaded_"
"""What the names of pieces begin with that stand in for others in programs of several threads."""

KINDS = {SharedKind.REQUEST: "REQUEST", SharedKind.WINDOW: "WINDOW", SharedKind.FILE: "FILES"}
"""Names of kinds in programs."""

OBJECTS = {"win": SharedKind.WINDOW, "fh": SharedKind.FILE}
"""Parameters that name an object by its number on a communicator."""

PREDEFINED_COMMS = 3
"""Communicators that no call makes or frees: those of the world, of this rank, and none."""

REQUESTS = frozenset({"request", "requests"})


@dataclass(frozen=True, slots=True)
class CommUse:
    """What a call does with a communicator that several threads use.

    Attributes:
        argument: that names it.
        how: "TURN": the call takes its turn. "FREE": it does, after all other calls. "USE": neither. "NAME":
            it is no call on this communicator.
    """

    argument: ProgramArgument
    how: str


@dataclass(frozen=True, slots=True)
class SharedUses:
    """What a call uses that several threads share.

    Attributes:
        comms: communicators.
        kind: of the window or file; None: it names none that is shared.
        number: the argument that names this object.
        comm: the argument with its communicator.
        requests: the call makes or names requests, and threads name those of other threads.
    """

    comms: tuple[CommUse, ...]
    kind: SharedKind | None
    number: ProgramArgument | None
    comm: ProgramArgument | None
    requests: bool


def replace_forms(pieces: dict[str, TextPiece], forms: RuntimeLibrary, left_out: Collection[str]) -> None:
    """Replace pieces of the runtime by their forms for several threads, and add what these need.

    Args:
        left_out: pieces that keep the form for one thread.
    """
    for name, piece in forms.pieces.items():
        base = name.removeprefix(_FORM)
        if base == name or base not in left_out:
            pieces[base] = replace(piece, name=base)


def thread_functions(body: Sequence[Stmt]) -> list[Stmt]:
    """Return statements with those of each thread as the call of a function."""
    return [_in_function(stmt) for stmt in body]


def _in_function(stmt: Stmt) -> Stmt:
    match stmt:
        case Branch(Compare(_, left, Const(thread)), then) if left == THREAD:
            return Branch(stmt.cond, (ProgramPart(f"thread{thread}", (), then),))
    return stmt


def shared_uses(program: BenchmarkProgram, threads: ProgramThreads, call: MpiCall) -> SharedUses:
    """Return what a call uses that several threads share."""
    comms, comm = [], None
    ncomms = len(program.comms)
    for argument in call.arguments:
        if argument.kind is not Kind.COMM:
            continue
        if argument.name == "comm":
            comm = argument
        families = threads.comms.intersection(possible(argument, ncomms))
        how = _how(call.op) if argument.name == "comm" else "NAME"
        if argument.name != "newcomm" and any(_waits(threads, family, how) for family in families):
            comms.append(CommUse(argument, how))
    names = any(argument.name in REQUESTS for argument in call.arguments)
    requests = threads.shares_requests and (names or operation(call.op).makes_request)
    families = frozenset() if comm is None else frozenset(possible(comm, ncomms))
    for argument in call.arguments:
        kind = OBJECTS.get(argument.name)
        if kind is not None and any((kind, family) in threads.uses for family in families):
            return SharedUses(tuple(comms), kind, argument, comm, requests)
    return SharedUses(tuple(comms), None, None, comm, requests)


def _waits(threads: ProgramThreads, family: int, how: str) -> bool:
    """Whether a call on a communicator waits for another thread, or another thread for it."""
    return family >= PREDEFINED_COMMS or (how == "TURN" and family in threads.turns)


def _how(op: str) -> str:
    if is_communicator_free(op):
        return "FREE"
    return "TURN" if is_collective(op) else "USE"
