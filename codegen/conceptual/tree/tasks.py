"""Task descriptions: who does something, or whom it is done to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.node import Node, tree_node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Expr, Range, Rel

__all__ = ["AllOthers", "AllTasks", "OneTask", "SuchThat", "TaskGroup", "TaskRanges", "Tasks"]


@tree_node
class AllTasks(Node):
    """ALL TASKS [variable]."""

    variable: str | None = None


@tree_node
class AllOthers(Node):
    """ALL OTHER TASKS: all but the source."""


@tree_node
class OneTask(Node):
    """TASK expr."""

    task: Expr


@tree_node
class SuchThat(Node):
    """TASKS variable SUCH THAT condition."""

    variable: str
    condition: Rel


@tree_node
class TaskRanges(Node):
    """TASKS {0, 2}, {4, ..., 9}: the set of them."""

    ranges: tuple[Range, ...]


@tree_node
class TaskGroup(Node):
    """TASK GROUP name, bound by LET; binds the name as a variable."""

    name: str


Tasks: TypeAlias = AllTasks | AllOthers | OneTask | SuchThat | TaskRanges | TaskGroup
