"""Statements that tasks take part in together: messages, and waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalatrace.codegen.conceptual.tree.node import Node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.messages import Message, Reception, Result, Values
    from scalatrace.codegen.conceptual.tree.tasks import Tasks

__all__ = ["Await", "Multicast", "Receive", "Reduce", "Send", "Synchronize"]


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
