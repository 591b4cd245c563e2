"""The program tree: what stands between a trace and the text of a benchmark.

    BenchmarkProgram = tables + body          body = statements
    LoopStatement(variable, count, body)    Branch(cond, then, otherwise)    ComputeStatement(contexts)
    MpiCall(op, arguments)

and, in what emitters of C and Python write, LetStatement(variable, value) and
ProgramPart(name, parameters, body).

Statements hold expressions (`scalatrace.formula`), never values of one rank: every process runs the same
program, as the application did. Tables are those of the trace, with what the program uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.foreign import NO_TEXT, Foreign
from scalatrace.codegen.program.grid_shape import GridShape
from scalatrace.codegen.program.threads import ProgramThreads
from scalatrace.formula import Cond, Expr, Value, Var, names_in, number
from scalatrace.trace.model.tables import Datatype, Family, IntArray, Kind
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec

__all__ = [
    "BenchmarkProgram",
    "Branch",
    "ComputeStatement",
    "Duration",
    "LetStatement",
    "LoopStatement",
    "MpiCall",
    "ProgramArgument",
    "ProgramContext",
    "ProgramPart",
    "Stmt",
    "Subset",
    "asks_for",
    "calls",
    "needed_by",
    "statements",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgramArgument:
    """A parameter of a call, as the trace names it; of a kind that refers to a table, an index into it."""

    name: str
    kind: Kind
    value: Value


@dataclass(frozen=True, slots=True)
class MpiCall:
    """One MPI call.

    Attributes:
        op: without `MPI_`.
        arguments: in the order of the trace's schema.
        site: where the application made it, innermost frame first; () if call sites are left out.
        mark: number of the call as a predecessor of computations; None: no computation uses it.
        dropped: stands in the text as a comment only.
    """

    op: str
    arguments: tuple[ProgramArgument, ...]
    site: tuple[Foreign, ...] = ()
    mark: int | None = None
    dropped: bool = False

    def __getitem__(self, name: str) -> Value:
        """The value of a parameter. Raises GenerateError where it was not recorded."""
        for argument in self.arguments:
            if argument.name == name:
                return argument.value
        raise GenerateError(f"it was recorded without its parameter {name!r}")

    def number(self, name: str) -> Expr:
        """The value of a parameter. Raises GenerateError; FormulaError where it is a constant of MPI."""
        return number(self[name])

    def __contains__(self, name: object) -> bool:
        return any(argument.name == name for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class Duration:
    """A time in nanoseconds: the mean of the samples, and how they were distributed.

    Attributes:
        law: how it follows the number of ranks P, where that varies: terms (c, p, l) for c P^p log2(P)^l.
        argument: in a function for a repeated sequence, the number of the argument that has the time instead.
    """

    ns: float
    histogram: Histogram | None = None
    law: tuple[tuple[float, float, int], ...] = ()
    argument: int | None = None


@dataclass(frozen=True, slots=True)
class ProgramContext:
    """How long the computation takes when the call before had one of these marks; none: whatever it was."""

    marks: tuple[int, ...]
    duration: Duration


@dataclass(frozen=True, slots=True)
class ComputeStatement:
    """The computation before a call.

    Attributes:
        contexts: by what was called before; a single one holds whatever that was. When nothing fits, nothing
            is waited for.
        first: the loop whose first iteration the first context belongs to, the second to all others; None:
            the call before has to be looked at, unless there is one context only.
    """

    contexts: tuple[ProgramContext, ...]
    first: Var | None = None


@dataclass(frozen=True, slots=True)
class LoopStatement:
    """A body that runs `count` times, the variable counting from 0."""

    variable: Var
    count: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """What depends on the rank or on loop variables."""

    cond: Cond
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class LetStatement:
    """A local variable; passes before an emitter give long expressions names.

    Attributes:
        value: None: branches that follow assign the value.
        declares: whether the variable is new here; else it was declared without a value.
        fits: an int is known to hold the value and each of its parts.
    """

    variable: Var
    value: Value | None
    declares: bool = True
    fits: bool = False


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """Statements that the text has in a function of their own. Parts of one name are calls of one function.

    Attributes:
        name: of the function.
        parameters: the variables from around that the statements use.
        times: what this call gives for the durations that are arguments.
    """

    name: str
    parameters: tuple[Var, ...]
    body: tuple[Stmt, ...]
    times: tuple[Duration, ...] = ()


Stmt = MpiCall | ComputeStatement | LoopStatement | Branch | LetStatement | ProgramPart


@dataclass(frozen=True, slots=True)
class Subset:
    """Communicators that are there from the start: every rank is in that of its color, at the place key.

    Attributes:
        family: index into BenchmarkProgram.comms.
        color, key: by rank; color MPI_UNDEFINED: in none.
    """

    family: int
    color: Value
    key: Expr


@dataclass(frozen=True)
class BenchmarkProgram:
    """A benchmark.

    Attributes:
        nprocs: ranks it runs on; 0: as many as its shape allows.
        title: of the application; empty to leave it out.
        comms: families of communicators; 0 is MPI_COMM_WORLD, 1 MPI_COMM_SELF, 2 MPI_COMM_NULL.
        types, strings, arrays: as in the trace.
        imbalance: per rank round(SHARE_STEPS log2(computation over the means of its calls)); None: all 1.
        subsets: communicators that are there from the start; others are made by calls.
        thread_level: of MPI in the recorded program, of `scalatrace.predefined.THREAD_LEVELS`; "": not known.
        threads: of a program whose ranks have several; their statements stand under conditions on the thread.
        truncates: messages may be too long for their receives: some calls of the application returned errors.
        body: the statements.
        shape: the grid that is given when it runs, of a scalable benchmark.
    """

    nprocs: int
    body: tuple[Stmt, ...]
    title: Foreign = NO_TEXT
    comms: tuple[Family, ...] = ()
    types: tuple[Datatype, ...] = ()
    strings: tuple[Foreign, ...] = ()
    arrays: tuple[IntArray, ...] = ()
    imbalance: Vec | None = None
    shape: GridShape | None = None
    subsets: tuple[Subset, ...] = ()
    thread_level: str = ""
    truncates: bool = False
    threads: ProgramThreads | None = None

    def with_body(self, body: tuple[Stmt, ...]) -> BenchmarkProgram:
        """The same with other statements."""
        return replace(self, body=body)


def statements(body: tuple[Stmt, ...], parts: bool = True) -> Iterator[Stmt]:
    """All statements, those within others too, in order.

    Args:
        parts: also those of functions, at each of their calls.
    """
    ahead = [iter(body)]  # in place of recursion: a statement would pass through a generator per level
    while ahead:
        for stmt in ahead[-1]:
            yield stmt
            if isinstance(stmt, Branch):
                ahead += [iter(stmt.otherwise), iter(stmt.then)]
                break
            if isinstance(stmt, LoopStatement) or (parts and isinstance(stmt, ProgramPart)):
                ahead.append(iter(stmt.body))
                break
        else:
            ahead.pop()


def calls(body: tuple[Stmt, ...]) -> Iterator[MpiCall]:
    """All calls that are made, in the order of the text."""
    return (stmt for stmt in statements(body) if isinstance(stmt, MpiCall) and not stmt.dropped)


def asks_for(body: tuple[Stmt, ...], name: str) -> bool:
    """Whether statements use a variable."""
    return any(name in names_in(*needed_by(stmt)) for stmt in statements(body))


def needed_by(stmt: Stmt) -> Sequence[Value | Cond]:
    """What is worked out for a statement itself."""
    match stmt:
        case MpiCall():
            return [argument.value for argument in stmt.arguments]
        case ComputeStatement(_, Var() as first):
            return [first]
        case LoopStatement():
            return [stmt.count]
        case Branch():
            return [stmt.cond]
        case LetStatement(_, value) if value is not None:
            return [value]
    return []
