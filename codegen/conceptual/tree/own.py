"""Statements that each task executes for itself, and the parts that only they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.expressions import Expr
from scalatrace.codegen.conceptual.tree.node import Node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.messages import Measure
    from scalatrace.codegen.conceptual.tree.tasks import Tasks

__all__ = [
    "Aggregate",
    "BackendExecute",
    "Column",
    "ComputeAggregates",
    "Counters",
    "Delay",
    "Item",
    "Log",
    "Output",
    "TouchBuffers",
    "TouchMemory",
    "ValueOf",
]


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


Item: TypeAlias = Expr | ValueOf | str
