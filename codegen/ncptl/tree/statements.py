"""Statements, and the parts that only one kind of statement has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from codegen.ncptl.tree.expressions import Expr
from codegen.ncptl.tree.node import Node

if TYPE_CHECKING:
    from codegen.ncptl.tree.messages import Measure, Message, Reception, Result, Values
    from codegen.ncptl.tree.relations import Range, Rel
    from codegen.ncptl.tree.tasks import Tasks

__all__ = [
    "Aggregate",
    "Assert",
    "Assign",
    "Await",
    "BackendExecute",
    "Binding",
    "Block",
    "Column",
    "ComputeAggregates",
    "Counters",
    "Delay",
    "ForCount",
    "ForEach",
    "ForTime",
    "If",
    "Item",
    "Let",
    "LetRandom",
    "LetTasks",
    "LetValue",
    "Log",
    "Multicast",
    "Output",
    "Receive",
    "Reduce",
    "Send",
    "Statement",
    "Synchronize",
    "TouchBuffers",
    "TouchMemory",
    "ValueOf",
]


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
