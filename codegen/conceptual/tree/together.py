"""Statements that tasks take part in together, with their messages, buffers and operands of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalatrace.codegen.conceptual.tree.node import Node, tree_node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Expr, Tasks

__all__ = [
    "Alignment",
    "Await",
    "Buffer",
    "Measure",
    "Message",
    "Multicast",
    "Receive",
    "Reception",
    "Reduce",
    "Result",
    "Send",
    "Synchronize",
    "Touching",
    "Values",
]


@tree_node
class Measure(Node):
    """An amount of a unit (5 KILOBYTE), or a type alone (PAGE)."""

    amount: Expr | None
    unit: str


@tree_node
class Alignment(Node):
    """`kind` is UNALIGNED, ALIGNED or MISALIGNED, the latter two by a measure."""

    kind: str
    measure: Measure | None = None


@tree_node
class Touching(Node):
    """[WITH|WITHOUT] [DATA TOUCHING|VERIFICATION]."""

    wanted: bool
    verification: bool


@tree_node
class Buffer(Node):
    """A message buffer, the default one when `number` is None, and where in it the message starts."""

    number: Expr | None = None
    offset: Measure | None = None


@tree_node
class Message(Node):
    """A message specification; `count` None is the word A. `size` None: no bytes."""

    count: Expr | None = None
    unique: bool | None = None
    size: Measure | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@tree_node
class Reception(Node):
    """WHO RECEIVES IT ...: what the receiver does otherwise than the sender."""

    asynchronous: bool | None = None
    unique: bool | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@tree_node
class Values(Node):
    """What a reduction takes or gives; `count` None is the word A."""

    unit: str
    count: Expr | None = None
    unique: bool | None = None
    alignment: Alignment | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@tree_node
class Result(Node):
    """WHO RECEIVES THE RESULT ...; `values` is None without AS, and has neither touching, tag nor buffer."""

    values: Values | None = None
    touching: Touching | None = None
    tag: Expr | str | None = None
    buffer: Buffer | None = None


@tree_node
class Send(Node):
    """SENDS; without `unsuspecting` the receives come with it."""

    source: Tasks
    message: Message
    target: Tasks
    asynchronous: bool | None = None
    unsuspecting: bool = False
    reception: Reception | None = None


@tree_node
class Receive(Node):
    """RECEIVES, for messages to unsuspecting tasks."""

    target: Tasks
    message: Message
    source: Tasks
    asynchronous: bool | None = None


@tree_node
class Multicast(Node):
    """MULTICASTS."""

    source: Tasks
    message: Message
    target: Tasks
    asynchronous: bool | None = None


@tree_node
class Reduce(Node):
    """REDUCES: to all sources (target None, with `to` the result's form if it was given), or to tasks."""

    source: Tasks
    values: Values
    to: Values | None = None
    target: Tasks | None = None
    result: Result | None = None


@tree_node
class Await(Node):
    """AWAITS COMPLETION."""

    tasks: Tasks


@tree_node
class Synchronize(Node):
    """SYNCHRONIZES."""

    tasks: Tasks
