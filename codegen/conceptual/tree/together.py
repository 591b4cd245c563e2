"""Statements that tasks take part in together, with their messages, buffers and operands of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scalatrace.codegen.conceptual.tree.node import SyntaxNode, tree_node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Expr, Tasks

__all__ = [
    "Alignment", "Await", "MessageBuffer", "MessageSpec", "Multicast", "Receive", "Reception", "Reduce",
    "ReductionResult", "ReductionValues", "Send", "Synchronize", "Touching", "UnitAmount", "memory_of",
]  # fmt: skip


@tree_node
class UnitAmount(SyntaxNode):
    """An amount of a unit (5 KILOBYTE), or a type alone (PAGE)."""

    amount: Expr | None
    unit: str


@tree_node
class Alignment(SyntaxNode):
    """`kind` is UNALIGNED, ALIGNED or MISALIGNED, the latter two by a measure."""

    kind: str
    measure: UnitAmount | None = None


@tree_node
class Touching(SyntaxNode):
    """[WITH|WITHOUT] [DATA TOUCHING|VERIFICATION]."""

    wanted: bool
    verification: bool


@tree_node
class MessageBuffer(SyntaxNode):
    """A message buffer, the default one when `number` is None, and where in it the message starts."""

    number: Expr | None = None
    offset: UnitAmount | None = None


@tree_node
class MessageSpec(SyntaxNode):
    """A message specification; `count` None is the word A. `size` None: no bytes."""

    count: Expr | None = None
    unique: bool | None = None
    size: UnitAmount | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: MessageBuffer | None = None


@tree_node
class Reception(SyntaxNode):
    """WHO RECEIVES IT ...: what the receiver does otherwise than the sender."""

    asynchronous: bool | None = None
    unique: bool | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: MessageBuffer | None = None


@tree_node
class ReductionValues(SyntaxNode):
    """What a reduction takes or gives; `count` None is the word A."""

    unit: str
    count: Expr | None = None
    unique: bool | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: MessageBuffer | None = None


@tree_node
class ReductionResult(SyntaxNode):
    """WHO RECEIVES THE RESULT ...; `values` is None without AS, and has neither touching, tag nor buffer."""

    values: ReductionValues | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: MessageBuffer | None = None


def memory_of(
    node: Any, under: Any = None
) -> tuple[Alignment | None, Touching | None, MessageBuffer | None, bool]:
    """Return how a message lies in memory, and whether in its own; `under` says what the node does not."""

    def stated(name: str) -> Any:
        value = getattr(node, name, None)
        return value if value is not None or under is None else getattr(under, name)

    return stated("alignment"), stated("touching"), stated("buffer"), bool(stated("unique"))


@tree_node
class Send(SyntaxNode):
    """SENDS; without `unsuspecting` the receives come with it."""

    source: Tasks
    message: MessageSpec
    target: Tasks
    asynchronous: bool | None = None
    unsuspecting: bool = False
    reception: Reception | None = None


@tree_node
class Receive(SyntaxNode):
    """RECEIVES, for messages to unsuspecting tasks."""

    target: Tasks
    message: MessageSpec
    source: Tasks
    asynchronous: bool | None = None


@tree_node
class Multicast(SyntaxNode):
    """MULTICASTS."""

    source: Tasks
    message: MessageSpec
    target: Tasks
    asynchronous: bool | None = None


@tree_node
class Reduce(SyntaxNode):
    """REDUCES: to all sources (target None, with `to` the result's form if it was given), or to tasks."""

    source: Tasks
    values: ReductionValues
    to: ReductionValues | None = None
    target: Tasks | None = None
    result: ReductionResult | None = None


@tree_node
class Await(SyntaxNode):
    """AWAITS COMPLETION."""

    tasks: Tasks


@tree_node
class Synchronize(SyntaxNode):
    """SYNCHRONIZES."""

    tasks: Tasks
