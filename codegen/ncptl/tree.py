"""The program as a tree: small frozen values. Every node knows its place in the text, which is no part of
what it means, so equal programs are equal trees however they were laid out.

Words that a program may leave out are None when they were: `asynchronous=None` is a blocking send, or a
receive that does as its sender does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from codegen.ncptl.errors import Place

__all__ = ["Node"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """Anything in a program."""

    place: Place = field(default=Place(), compare=False, repr=False)


# Expressions


@dataclass(frozen=True)
class Integer(Node):
    """A number, multiplied out: 64K is 65536."""

    value: int


@dataclass(frozen=True)
class Variable(Node):
    """A variable, in lower case."""

    name: str


@dataclass(frozen=True)
class MyTask(Node):
    """MY TASK, allowed in conditions of IF only."""


@dataclass(frozen=True)
class Unary(Node):
    """`operator` is "-", "+" or "NOT" (bitwise)."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """`operator` is one of + - | XOR * / MOD >> << & **."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Conditional(Node):
    """value IF condition OTHERWISE otherwise."""

    value: Expr
    condition: Rel
    otherwise: Expr


@dataclass(frozen=True)
class Call(Node):
    """A function of numbers, by its name in capitals."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Real(Node):
    """REAL(operand): computed in floating point, then rounded."""

    operand: Expr


@dataclass(frozen=True)
class Dimension(Node):
    """One dimension of a mesh; `wraps`: of a torus."""

    size: Expr
    wraps: bool = False


@dataclass(frozen=True)
class MeshNeighbor(Node):
    """The task at an offset from a task, -1 off the mesh."""

    mesh: tuple[Dimension, ...]
    task: Expr
    offsets: tuple[Expr, ...]


@dataclass(frozen=True)
class MeshCoordinate(Node):
    """A task's coordinate along an axis; axis 0 varies fastest."""

    mesh: tuple[Dimension, ...]
    task: Expr
    axis: Expr


@dataclass(frozen=True)
class MeshDistance(Node):
    """Manhattan distance between two tasks."""

    mesh: tuple[Dimension, ...]
    first: Expr
    second: Expr


@dataclass(frozen=True)
class FileData(Node):
    """A number from a text file; columns and rows count from 1, negative ones from the end.

    `static`: STATIC_FILE_DATA, read once, allowed everywhere.
    """

    static: bool
    path: str
    column: Expr | None = None
    row: Expr | None = None
    column_separators: str | None = None
    row_separators: str | None = None


Expr: TypeAlias = (
    Integer
    | Variable
    | MyTask
    | Unary
    | Binary
    | Conditional
    | Call
    | Real
    | MeshNeighbor
    | MeshCoordinate
    | MeshDistance
    | FileData
)


# Relations


@dataclass(frozen=True)
class Compare(Node):
    """`operator` is one of = < > <= >= <> DIVIDES."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Parity(Node):
    """operand IS EVEN or IS ODD."""

    operand: Expr
    odd: bool


@dataclass(frozen=True)
class Within(Node):
    """operand IS [NOT] IN ranges."""

    operand: Expr
    ranges: tuple[Range, ...]
    negated: bool = False


@dataclass(frozen=True)
class Between(Node):
    """operand IS [NOT] IN [low, high], an old form."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class Logical(Node):
    """Both relations (conjunction) or either; the right one is not looked at when the left decides."""

    conjunction: bool
    left: Rel
    right: Rel


Rel: TypeAlias = Compare | Parity | Within | Between | Logical


# Ranges


@dataclass(frozen=True)
class Listing(Node):
    """{1, 2, 5}."""

    values: tuple[Expr, ...]


@dataclass(frozen=True)
class Progression(Node):
    """{1, 2, 4, ..., 64}: arithmetic or geometric, by its first terms."""

    leading: tuple[Expr, ...]
    final: Expr


@dataclass(frozen=True)
class Generator(Node):
    """FOR EACH variable IN ranges, inside braces."""

    variable: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """{head FOR EACH ... FOR EACH ... WHERE condition}; the last generator runs fastest."""

    head: Expr
    generators: tuple[Generator, ...]
    condition: Rel | None = None


Range: TypeAlias = Listing | Progression | Comprehension


# Task descriptions


@dataclass(frozen=True)
class AllTasks(Node):
    """ALL TASKS [variable]."""

    variable: str | None = None


@dataclass(frozen=True)
class AllOthers(Node):
    """ALL OTHER TASKS: all but the source."""


@dataclass(frozen=True)
class OneTask(Node):
    """TASK expr."""

    task: Expr


@dataclass(frozen=True)
class SuchThat(Node):
    """TASKS variable SUCH THAT condition."""

    variable: str
    condition: Rel


@dataclass(frozen=True)
class TaskRanges(Node):
    """TASKS {0, 2}, {4, ..., 9}: the set of them."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class TaskGroup(Node):
    """TASK GROUP name, bound by LET; binds the name as a variable."""

    name: str


Tasks: TypeAlias = AllTasks | AllOthers | OneTask | SuchThat | TaskRanges | TaskGroup


# Messages


@dataclass(frozen=True)
class Measure(Node):
    """An amount of a unit (5 KILOBYTE), or a type alone (PAGE)."""

    amount: Expr | None
    unit: str


@dataclass(frozen=True)
class Alignment(Node):
    """`kind` is UNALIGNED, ALIGNED or MISALIGNED, the latter two by a measure."""

    kind: str
    measure: Measure | None = None


@dataclass(frozen=True)
class Touching(Node):
    """[WITH|WITHOUT] [DATA TOUCHING|VERIFICATION]."""

    wanted: bool
    verification: bool


@dataclass(frozen=True)
class Buffer(Node):
    """A message buffer, the default one when `number` is None, and where in it the message starts."""

    number: Expr | None = None
    offset: Measure | None = None


@dataclass(frozen=True)
class Message(Node):
    """A message specification; `count` None is the word A. `size` None: no bytes."""

    count: Expr | None = None
    unique: bool | None = None
    size: Measure | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@dataclass(frozen=True)
class Reception(Node):
    """WHO RECEIVES IT ...: what the receiver does otherwise than the sender."""

    asynchronous: bool | None = None
    unique: bool | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@dataclass(frozen=True)
class Values(Node):
    """What a reduction takes or gives; `count` None is the word A."""

    unit: str
    count: Expr | None = None
    unique: bool | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@dataclass(frozen=True)
class Result(Node):
    """WHO RECEIVES THE RESULT ...; `values` is None without AS, and has neither touching, tag nor buffer."""

    values: Values | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


# Statements


@dataclass(frozen=True)
class Send(Node):
    """SENDS; without `unsuspecting` the receives come with it."""

    source: Tasks
    message: Message
    target: Tasks
    asynchronous: bool | None = None
    unsuspecting: bool = False
    reception: Reception | None = None


@dataclass(frozen=True)
class Receive(Node):
    """RECEIVES, for messages to unsuspecting tasks."""

    target: Tasks
    message: Message
    source: Tasks
    asynchronous: bool | None = None


@dataclass(frozen=True)
class Multicast(Node):
    """MULTICASTS."""

    source: Tasks
    message: Message
    target: Tasks
    asynchronous: bool | None = None


@dataclass(frozen=True)
class Reduce(Node):
    """REDUCES: to all sources (target None, with `to` the result's form if it was given), or to tasks."""

    source: Tasks
    values: Values
    to: Values | None = None
    target: Tasks | None = None
    result: Result | None = None


@dataclass(frozen=True)
class Await(Node):
    """AWAITS COMPLETION."""

    tasks: Tasks


@dataclass(frozen=True)
class Synchronize(Node):
    """SYNCHRONIZES."""

    tasks: Tasks


@dataclass(frozen=True)
class Delay(Node):
    """COMPUTES FOR or SLEEPS FOR (`sleeps`) a time."""

    tasks: Tasks
    sleeps: bool
    duration: Expr
    unit: str


@dataclass(frozen=True)
class TouchMemory(Node):
    """TOUCHES a memory region: `amount` data (None: as many as there are) of it, `times` over.

    `stride` None: one after the other.
    """

    tasks: Tasks
    region: Measure | None = None
    amount: Measure | None = None
    times: Expr | None = None
    stride: Measure | None = None
    random_stride: bool = False


@dataclass(frozen=True)
class TouchBuffers(Node):
    """TOUCHES message buffers: `number`, or the current one, or all."""

    tasks: Tasks
    number: Expr | None = None
    current: bool = False


@dataclass(frozen=True)
class ValueOf(Node):
    """THE VALUE OF a line of the log's prologue, or of the environment."""

    key: str


@dataclass(frozen=True)
class Aggregate(Node):
    """A function over rows: by name, or a percentile."""

    function: str
    percentile: Expr | None = None


@dataclass(frozen=True)
class Column(Node):
    """A column of the log.

    `form` is "" (every value), "EACH" (the same), "THE" (one value), "OF" (by `functions`), "HISTOGRAM".
    """

    value: Expr
    label: str | ValueOf
    form: str = ""
    functions: tuple[Aggregate, ...] = ()


@dataclass(frozen=True)
class Log(Node):
    """LOGS columns."""

    tasks: Tasks
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class ComputeAggregates(Node):
    """COMPUTES AGGREGATES."""

    tasks: Tasks


@dataclass(frozen=True)
class Counters(Node):
    """`action` is RESETS, STORES or RESTORES."""

    tasks: Tasks
    action: str


@dataclass(frozen=True)
class Output(Node):
    """OUTPUTS items."""

    tasks: Tasks
    items: tuple[Item, ...]


@dataclass(frozen=True)
class BackendExecute(Node):
    """BACKEND EXECUTES text of the target language."""

    tasks: Tasks
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Assign(Node):
    """IS ASSIGNED TO PROCESSOR expr, or (None) A RANDOM PROCESSOR."""

    tasks: Tasks
    processor: Expr | None = None


@dataclass(frozen=True)
class Assert(Node):
    """ASSERT THAT text WITH condition."""

    text: str
    condition: Rel


@dataclass(frozen=True)
class ForEach(Node):
    """FOR EACH variable IN ranges."""

    variable: str
    ranges: tuple[Range, ...]
    body: Statement


@dataclass(frozen=True)
class ForCount(Node):
    """FOR count REPETITIONS, after `warmup` passes that count for nothing."""

    count: Expr
    body: Statement
    warmup: Expr | None = None
    synchronized: bool = False


@dataclass(frozen=True)
class ForTime(Node):
    """FOR a time, after a time of warming up."""

    duration: Expr
    unit: str
    body: Statement
    warmup: Expr | None = None
    warmup_unit: str | None = None
    synchronized: bool = False


@dataclass(frozen=True)
class LetValue(Node):
    """name BE value."""

    name: str
    value: Expr


@dataclass(frozen=True)
class LetTasks(Node):
    """name BE tasks."""

    name: str
    tasks: Tasks


@dataclass(frozen=True)
class LetRandom(Node):
    """name BE A RANDOM TASK [from low to high] [BUT NOT but].

    `form` is "", "OTHER" (than but), "LESS" (than high), "GREATER" (than low) or "IN" ([low, high]).
    """

    name: str
    form: str = ""
    low: Expr | None = None
    high: Expr | None = None
    but: Expr | None = None


Binding: TypeAlias = LetValue | LetTasks | LetRandom


@dataclass(frozen=True)
class Let(Node):
    """LET bindings WHILE body."""

    bindings: tuple[Binding, ...]
    body: Statement


@dataclass(frozen=True)
class If(Node):
    """IF condition THEN ... OTHERWISE ...."""

    condition: Rel
    then: Statement
    otherwise: Statement | None = None


@dataclass(frozen=True)
class Block(Node):
    """{ ... THEN ... }."""

    statements: tuple[Statement, ...] = ()


Item: TypeAlias = Expr | ValueOf | str

Statement: TypeAlias = (
    Send
    | Receive
    | Multicast
    | Reduce
    | Await
    | Synchronize
    | Delay
    | TouchMemory
    | TouchBuffers
    | Log
    | ComputeAggregates
    | Counters
    | Output
    | BackendExecute
    | Assign
    | Assert
    | ForEach
    | ForCount
    | ForTime
    | Let
    | If
    | Block
)


# The program


@dataclass(frozen=True)
class Version(Node):
    """REQUIRE LANGUAGE VERSION text."""

    text: str


@dataclass(frozen=True)
class Parameter(Node):
    """A value from the command line; `long` and `short` with their hyphens."""

    name: str
    help: str
    long: str
    short: str
    default: Expr


@dataclass(frozen=True)
class BackendDeclares(Node):
    """THE BACKEND DECLARES text of the target language."""

    text: str


@dataclass(frozen=True)
class Sentence(Node):
    """Statements in order; each sentence has a table of its own in the log."""

    statements: tuple[Statement, ...]


Header: TypeAlias = Version | Parameter | BackendDeclares


@dataclass(frozen=True)
class Program(Node):
    """A whole program; `text` is what it was read from, "" otherwise."""

    headers: tuple[Header, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    text: str = field(default="", compare=False, repr=False)
