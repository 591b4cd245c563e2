"""Statements that tasks take part in together: messages, and waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalatrace.codegen.conceptual.tree.node import Node, tree_node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.messages import Message, Reception, Result, Values
    from scalatrace.codegen.conceptual.tree.tasks import Tasks

__all__ = ["Await", "Multicast", "Receive", "Reduce", "Send", "Synchronize"]


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
