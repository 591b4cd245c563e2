"""The steps of a collective (see `patterns`): statements, or messages between pairs of tasks."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common.expr_writer import expr, without
from scalatrace.formula import Expr

__all__ = ["CollectiveSteps"]


@dataclass(frozen=True, slots=True)
class CollectiveSteps:
    """Builds the statements of one communicator's collective.

    Attributes:
        tasks: the tasks of the communicator.
        root: the root as a task.
        others: all tasks but the root, as its targets.
        everyone: all tasks, as targets of each.
        members: all tasks, for a loop.
        nbytes: size of one message.
        integers: how many integers are reduced.
    """

    tasks: t.Tasks
    root: Expr
    others: t.Tasks
    everyone: t.Tasks
    members: t.Range
    nbytes: Expr
    integers: Expr

    def statement(self, step: str) -> t.Statement:
        """Return a step as one statement."""
        match step:
            case "barrier":
                return t.Synchronize(self.tasks)
            case "multicast" | "multicast all":
                return t.Multicast(self._root, self._message, self.others)
            case "all to all":
                return t.Multicast(self.tasks, self._message, self.everyone)
            case "reduce":
                return self._reduce(self._root)
            case "reduce to all":
                return self._reduce(None)
        return t.ForEach("r", (self.members,), self._reduce(t.OneTask(t.Variable("r"))))

    def messages(self, step: str) -> t.Statement:
        """Return a step as messages between each pair of tasks, all at once."""
        wait = t.Await(self.tasks)
        spread = (self._send(self._root, self.others), wait)
        everyone_else = self.others
        if isinstance(everyone_else, t.AllOthers):
            everyone_else = without(everyone_else, self._root.task)
        gathered = (self._send(everyone_else, self._root), wait)
        match step:
            case "multicast" | "multicast all":
                return t.Block(spread)
            case "reduce":
                return t.Block(gathered)
            case "reduce to all":
                return t.Block((*gathered, *spread))
        to = self.everyone
        if not isinstance(to, t.AllOthers):
            to = without(to, t.Variable("t"))
        return t.Block((self._send(self.tasks, to), wait))

    @property
    def _root(self) -> t.OneTask:
        return t.OneTask(expr(self.root))

    @property
    def _message(self) -> t.MessageSpec:
        return t.MessageSpec(size=t.UnitAmount(expr(self.nbytes), "BYTES"))

    def _reduce(self, target: t.Tasks | None) -> t.Statement:
        return t.Reduce(self.tasks, t.ReductionValues("INTEGERS", expr(self.integers)), target=target)

    def _send(self, source: t.Tasks, target: t.Tasks) -> t.Statement:
        return t.Send(source, self._message, target, asynchronous=True)
