"""Statements that each task executes for itself, and the parts that only they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.expressions import Expr
from scalatrace.codegen.conceptual.tree.node import SyntaxNode, tree_node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Tasks
    from scalatrace.codegen.conceptual.tree.together import UnitAmount

__all__ = [
    "Aggregate", "BackendExecute", "ComputeAggregates", "Counters", "Delay", "Item", "Log", "LogColumn",
    "Output", "TouchBuffers", "TouchMemory", "ValueOf",
]  # fmt: skip


@tree_node
class Delay(SyntaxNode):
    """COMPUTES FOR or SLEEPS FOR (`sleeps`) a time."""

    tasks: Tasks
    sleeps: bool
    duration: Expr
    unit: str


@tree_node
class TouchMemory(SyntaxNode):
    """TOUCHES a memory region: `amount` data (None: as many as there are) of it, `times` over.

    `stride` None: one after the other.
    """

    tasks: Tasks
    region: UnitAmount | None = None
    amount: UnitAmount | None = None
    times: Expr | None = None
    stride: UnitAmount | None = None
    random_stride: bool = False


@tree_node
class TouchBuffers(SyntaxNode):
    """TOUCHES message buffers: `number`, or the current one, or all."""

    tasks: Tasks
    number: Expr | None = None
    current: bool = False


@tree_node
class ValueOf(SyntaxNode):
    """THE VALUE OF a line of the log's prologue, or of the environment."""

    key: str


@tree_node
class Aggregate(SyntaxNode):
    """A function over rows: by name, or a percentile."""

    function: str
    percentile: Expr | None = None


@tree_node
class LogColumn(SyntaxNode):
    """A column of the log.

    `form` is "" (every value), "EACH" (the same), "THE" (one value), "OF" (by `functions`), "HISTOGRAM".
    """

    value: Expr
    label: str | ValueOf
    form: str = ""
    functions: tuple[Aggregate, ...] = ()


@tree_node
class Log(SyntaxNode):
    """LOGS columns."""

    tasks: Tasks
    columns: tuple[LogColumn, ...]


@tree_node
class ComputeAggregates(SyntaxNode):
    """COMPUTES AGGREGATES."""

    tasks: Tasks


@tree_node
class Counters(SyntaxNode):
    """`action` is RESETS, STORES or RESTORES."""

    tasks: Tasks
    action: str


@tree_node
class Output(SyntaxNode):
    """OUTPUTS items."""

    tasks: Tasks
    items: tuple[Item, ...]


@tree_node
class BackendExecute(SyntaxNode):
    """BACKEND EXECUTES text of the target language."""

    tasks: Tasks
    items: tuple[Item, ...]


Item: TypeAlias = Expr | ValueOf | str
