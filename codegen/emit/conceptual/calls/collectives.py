"""Emit collectives of communicators, each of which is a set of tasks (see `patterns`)."""

from __future__ import annotations

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.calls.statement_writer import StatementWriter
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, integers
from scalatrace.codegen.emit.conceptual.sets.task_sets import CommunicatorTasks, TaskSet
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.tree import MpiCall
from scalatrace.formula import Const, Expr, mul
from scalatrace.trace.values.ranklist import RankList

__all__ = ["CollectiveEmitter"]


class CollectiveEmitter:
    """Adds the statements for collectives."""

    def __init__(self, writer: StatementWriter) -> None:
        self.writer, self.sets = writer, writer.sets

    def collective(self, call: MpiCall, chosen: TaskSet) -> None:
        """Add a collective of each communicator of a family, in one statement where possible."""
        op = call.op.removesuffix(SUFFIX)
        for comm in self.sets.communicators(call, chosen):
            for step in PATTERNS[op]:
                statement = self.messages(step, comm) if op != call.op else self.statement(step, comm)
                if comm.last is not None:
                    every = writing.range_to(writing.expr(comm.last))
                    statement = t.ForEach("c", (every,), statement)
                self.writer.add(statement, self.writer.site(call))

    def statement(self, step: str, comm: CommunicatorTasks) -> t.Statement:
        """Return a step as one statement."""
        tasks, root = self._tasks(comm), self._root(comm)
        reduced = t.ReductionValues("INTEGERS", writing.expr(integers(comm.nbytes)))
        match step:
            case "barrier":
                return t.Synchronize(tasks)
            case "multicast" | "multicast all":
                nbytes = mul(comm.size, comm.nbytes) if step == "multicast all" else comm.nbytes
                return t.Multicast(root, _message(nbytes), self._others(comm))
            case "all to all":
                return t.Multicast(tasks, _message(comm.nbytes), self._everyone(comm))
            case "reduce":
                return t.Reduce(tasks, reduced, target=root)
            case "reduce to all":
                return t.Reduce(tasks, reduced, target=None)
        if comm.rule is not None:
            raise GenerateError("no statement reduces to each task of several communicators")
        return t.ForEach("r", (comm.members,), t.Reduce(tasks, reduced, target=t.OneTask(t.Variable("r"))))

    def messages(self, step: str, comm: CommunicatorTasks) -> t.Statement:
        """Return a step as messages between each pair of tasks, all at once."""
        tasks, root, peers = self._tasks(comm), self._root(comm), self._others(comm)
        nbytes = mul(comm.size, comm.nbytes) if step == "multicast all" else comm.nbytes

        def send(source: t.Tasks, target: t.Tasks) -> t.Statement:
            return t.Send(source, _message(nbytes), target, asynchronous=True)

        wait = t.Await(tasks)
        spread = (send(root, peers), wait)
        gathered = (
            send(writing.without(peers, root.task) if peers == t.AllOthers() else peers, root),
            wait,
        )
        match step:
            case "multicast" | "multicast all":
                return t.Block(spread)
            case "reduce":
                return t.Block(gathered)
            case "reduce to all":
                return t.Block((*gathered, *spread))
        to = self._everyone(comm)
        if not isinstance(to, t.AllOthers):
            to = writing.without(to, t.Variable("t"))
        return t.Block((send(tasks, to), wait))

    def _root(self, comm: CommunicatorTasks) -> t.OneTask:
        return t.OneTask(writing.expr(comm.root))

    def _tasks(self, comm: CommunicatorTasks) -> t.Tasks:
        """Return the tasks of the communicator."""
        if comm.rule is not None:
            return _in_group(comm.rule, "t")
        return self.sets.tasks(comm.chosen, named=False)

    def _everyone(self, comm: CommunicatorTasks) -> t.Tasks:
        """Return all of a communicator as targets of all of it."""
        if comm.rule is not None:
            return _in_group(comm.rule, "u")
        if comm.chosen == self.sets.everyone:
            return t.AllOthers()
        return self.sets.tasks(comm.chosen, "u", target=True)

    def _others(self, comm: CommunicatorTasks) -> t.Tasks:
        """Return all of a communicator but the root."""
        everyone, root = self._everyone(comm), comm.root
        if isinstance(everyone, t.AllOthers):
            return everyone
        if comm.rule is None and isinstance(root, Const):
            ranks = comm.chosen.ranks - RankList([root.value])
            return self.sets.tasks(self.sets.select(ranks, comm.chosen), "u", target=True)
        return writing.without(everyone, writing.expr(root))


def _message(nbytes: Expr) -> t.MessageSpec:
    return t.MessageSpec(size=t.UnitAmount(writing.expr(nbytes), "BYTES"))


def _in_group(rule: Expr, task: str) -> t.Tasks:
    """Return the tasks of the c-th communicator."""
    return t.SuchThat(task, t.NumberComparison("=", writing.expr(rule, task), t.Variable("c")))
