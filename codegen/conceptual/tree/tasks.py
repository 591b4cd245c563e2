"""Task descriptions: who does something, or whom it is done to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.node import Node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Expr, Range, Rel

__all__ = ["AllOthers", "AllTasks", "OneTask", "SuchThat", "TaskGroup", "TaskRanges", "Tasks"]


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
