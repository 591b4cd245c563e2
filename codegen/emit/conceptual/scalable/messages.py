"""Emit messages between tasks that conditions select, and the statements that await them.

The pending messages of every rank of a sample grid decide where the tasks await completion (see `pending`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scalatrace.codegen.builders.places import RankPlaces, opposite
from scalatrace.codegen.builders.sample import Mask, RankSample
from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import NO_TASK, ParameterNames
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest, PendingRequests
from scalatrace.codegen.emit.conceptual.common.statement_writer import StatementWriter, transfer
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import (
    NUM_TASKS,
    RANK,
    ExprTranslator,
    choice_in,
    multiply_size,
    of_task,
    replace_part,
    with_peer,
)
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall, calls
from scalatrace.formula import (
    TRUE,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Select,
    Special,
    Value,
    Var,
    add,
    all_of,
    choose,
    map_leaves,
    mul,
    names_in,
    number,
    number_or,
    specials_in,
)
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["ScalableMessageEmitter"]

Ages = Callable[[int], Sequence[int] | None]
"""From a rank of the sample to the requests that a call names; None for all."""


class ScalableMessageEmitter(StatementWriter):
    """Adds the statements for point-to-point calls."""

    def __init__(self, program: BenchmarkProgram) -> None:
        super().__init__()
        assert program.shape is not None
        self.program_tree, self.shape, self.sample = program, program.shape, RankSample(program.shape)
        self.places = RankPlaces(self.sample, ())
        self.translator = ExprTranslator(program.shape)
        self.pending = PendingRequests(RankList.all(self.sample.n))
        self._computation: tuple[Cond, list[t.Expr]] | None = None
        self.mine = frozenset({"rank", *program.shape.coords})
        self.channels = {
            (call.number("comm") if "comm" in call else Const(0), call[name])
            for call in calls(program.body)
            for name in ("tag", "sendtag", "recvtag")
            if name in call
        }

    def compute(self, cond: Cond, time: t.Expr) -> None:
        """Record that tasks compute; `flush` adds one statement for consecutive computations."""
        if self._computation is not None and self._computation[0] != cond:
            self.flush()
        self._computation = cond, [*(self._computation[1] if self._computation else ()), time]

    def flush(self) -> None:
        if self._computation is None:
            return
        (cond, times), self._computation = self._computation, None
        fixed = sum(time.value for time in times if isinstance(time, t.Integer))
        terms: list[t.Expr] = [time for time in times if not isinstance(time, t.Integer)]
        terms += [t.Integer(fixed)] if fixed else []
        if terms:
            self.add(t.Delay(self.tasks(cond, named=False), False, writing.total(terms), "MICROSECONDS"))

    @property
    def tagged(self) -> bool:
        """Whether tags tell messages apart: not when there is one only, nor when receives take any."""
        return len(self.channels) > 1 and all(tag != Special("ANY_TAG") for _, tag in self.channels)

    def local(self, part: Value | Cond) -> bool:
        """Whether something depends on the task."""
        result = names_in(part)
        return bool(result & self.mine) or "Element(" in repr(part)

    def fixed(self, part: Value | Cond) -> bool:
        """Whether something depends on the task only, and on no loop."""
        return names_in(part) <= self.sample.fixed

    def tasks(self, cond: Cond, named: bool = True, target: bool = False) -> t.Tasks:
        """Return the tasks for which a condition holds; arguments as in `expr_writer.tasks`."""
        if (single_task := self.single(cond)) is not None:
            return t.OneTask(writing.expr(single_task))
        condition = None if cond == TRUE else writing.cond(self.translator.cond(cond))
        return writing.tasks_with(condition, named=named, target=target)

    def single(self, cond: Cond) -> Expr | None:
        """Return the one task for which a condition holds, if it compares the rank."""
        match cond:
            case Compare("==", Var("rank"), e) if not self.local(e):
                return self.translator.expr(e)
        return None

    def message(self, call: MpiCall, cond: Cond, ranks: Mask, sends: bool, later: bool) -> None:
        """Add `TASKS t SUCH THAT t < 3 SEND A 800 BYTE MESSAGE TO UNSUSPECTING TASK (t + 1)`."""
        peer = "dest" if sends else "source"
        self.transfer(call, cond, sends, later, ("count", "datatype", peer, "tag"))
        if later:
            self.pending.make(self.listed(ranks), EmittedRequest())

    def exchange(self, call: MpiCall, cond: Cond, ranks: Mask) -> None:
        """Add both messages of MPI_Sendrecv; await them where nothing else is pending."""
        self.transfer(call, cond, False, True, ("recvcount", "recvtype", "source", "recvtag"))
        self.transfer(call, cond, True, True, ("sendcount", "sendtype", "dest", "sendtag"))
        self.pending.make(self.listed(ranks), EmittedRequest())
        done = [r for r in np.flatnonzero(ranks).tolist() if self.pending.complete(r, (0,))]
        self.awaited(done, call)

    def transfer(self, call: MpiCall, cond: Cond, sends: bool, later: bool, names: ParameterNames) -> None:
        count, datatype, peer, tag = names
        family = call.number("comm") if "comm" in call else Const(0)
        for there, leaf in self.alternatives(call[peer], cond):
            if "ANY_SOURCE" in specials_in(leaf):
                raise GenerateError("it receives from any source, and no formula gives its sender")
            if isinstance(leaf, Special):
                continue  # nothing is sent to PROC_NULL
            peer_number = number_or(leaf, NO_TASK)
            if sends and not later and self.own(there, peer_number, family):
                mine = Compare("==", peer_number, self.shape.variables()["r"])
                self.transfer(with_peer(call, peer, peer_number), all_of(there, mine), sends, True, names)
                there = all_of(there, opposite(mine))
            nbytes = self.nbytes(call[count], call[datatype])
            for here, size in self.cases(nbytes, there):
                for case, channel in self.channel_cases(call[tag], family, here):
                    self.one(call, case, sends, later, peer_number, family, size, channel)

    def channel_cases(self, tag: Value, family: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """The channels of messages, each with the condition for its tasks."""
        if not self.tagged:
            return [(cond, Const(0))]
        return [
            case
            for there, leaf in self.alternatives(tag, cond)
            if not self.fixed(there) or self.sample.mask(there).any()
            for case in self.cases(self.channel(family, number(leaf)), there)
        ]

    def one(
        self,
        call: MpiCall,
        cond: Cond,
        sends: bool,
        later: bool,
        peer: Expr,
        family: Expr,
        size: Expr,
        tag: Expr,
    ) -> None:
        """Add a message of tasks that all have the same size and tag."""
        peer_task = self.translator.world(self.translator.expr(peer), family)
        nbytes, channel = self.translator.expr(size), self.translator.expr(tag)
        if (single := self.single(cond)) is not None:
            peer_task, nbytes, channel = (of_task(e, single) for e in (peer_task, nbytes, channel))
        each = RANK.name in names_in(nbytes, *([channel] if self.tagged else []))
        task = "s" if each else "t"
        actors: t.Tasks = t.OneTask(t.Variable(task))
        if not each:
            actors = self.tasks(cond, RANK.name in names_in(peer_task), not sends)
        tag_used = writing.expr(channel, task) if self.tagged else None
        statement = transfer(
            sends, actors, writing.expr(nbytes, task), tag_used, writing.expr(peer_task, task), later
        )
        self.add(self.task_by_task(cond, statement) if each else statement, self.site(call))

    def task_by_task(self, cond: Cond, statement: t.Statement) -> t.Statement:
        """Return the statements of tasks s, one after the other: a statement has one size and tag."""
        body = statement
        if cond != TRUE:
            body = t.If(writing.cond(self.translator.cond(cond), "s"), t.Block((statement,)))
        last = t.BinaryOperation("-", t.Variable(NUM_TASKS.name), t.Integer(1))
        return t.ForEach("s", (writing.range_to(last),), body)

    def cases(self, e: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """Return an expression by the tasks of each of its choices: sizes cannot depend on the task.

        An expression whose choices depend on the task, too, stays whole.
        """
        choices = self.split(e, cond)
        return [(cond, e)] if any(self.local(part) for _, part in choices) else choices

    def split(self, e: Expr, cond: Cond) -> list[tuple[Cond, Expr]]:
        """Return the choices of an expression, each with its condition."""
        choice = choice_in(e, self.local)
        if choice is None or self.single(cond) is not None:
            return [(cond, e)]
        choices = []
        for case, branch in ((choice.cond, choice.then), (opposite(choice.cond), choice.otherwise)):
            choices += self.split(replace_part(e, choice, branch), all_of(cond, case))
        return choices

    def own(self, cond: Cond, peer: Expr, family: Expr) -> bool:
        """Whether tasks may send to themselves: the language wants such a message asynchronous."""
        if self.translator.axes(family) is not None:
            return False
        ranks = self.sample.mask(cond) if self.fixed(cond) else self.sample.everyone
        return bool((np.equal(self.sample.value(peer), self.sample.columns["rank"]) & ranks).any())

    def alternatives(self, e: Value, cond: Cond) -> list[tuple[Cond, Value]]:
        """The values that tasks have, each with its condition, where special ones are among them."""
        if isinstance(e, Select) and self.local(e.cond):
            return [
                *self.alternatives(e.then, all_of(cond, e.cond)),
                *self.alternatives(e.otherwise, all_of(cond, opposite(e.cond))),
            ]
        return [(cond, e)]

    def nbytes(self, n: Value, kind: Value) -> Expr:
        """The size of so many elements of a datatype; symbols are nothing."""
        sizes = tuple(t.size for t in self.program_tree.types)
        n, kind = number_or(n, 0), number_or(kind, -1)
        if isinstance(kind, Choose):
            return choose(kind.cond, self.nbytes(n, kind.then), self.nbytes(n, kind.otherwise))
        if isinstance(kind, Const):
            size = sizes[kind.value] if kind.value >= 0 else 0
            e: Expr = map_leaves(n, lambda leaf: multiply_size(leaf, size))
            return e
        if isinstance(kind, Item):
            return mul(n, Item(tuple(sizes[i] if i >= 0 else 0 for i in kind.table), kind.index))
        raise GenerateError("its datatype varies and follows no formula")

    def channel(self, family: Expr, tag: Expr) -> Expr:
        """The number that keeps messages of other tags and communicators away."""
        families = sorted({repr(f) for f, _ in self.channels})
        if len(families) < 2:
            return tag
        return add(mul(tag, Const(len(families))), Const(families.index(repr(family))))

    def complete(self, call: MpiCall, ranks: Mask) -> None:
        """Await completion where the call leaves no pending message."""
        free = call.op == "Request_free"
        ages = self.ages(call, ranks)
        done = [r for r in np.flatnonzero(ranks).tolist() if self.pending.complete(r, ages(r), free)]
        self.awaited(done, call)

    def ages(self, call: MpiCall, ranks: Mask) -> Ages:
        """The requests that a call names, by rank of the sample; None for all."""
        is_single = "request" in call
        named = call["request"] if is_single else call["requests"]
        if not self.fixed(named):
            return lambda rank: (0,) if is_single else None
        numbers = np.broadcast_to(self.sample.value(named), ranks.shape).tolist()
        if is_single:
            return lambda rank: (numbers[rank],)
        assert self.program_tree.shape is not None
        rules, arrays = self.program_tree.shape.arrays, self.program_tree.arrays
        lists = {
            n: None if n in rules else tuple(age for age in arrays[n].values if age != UNDEFINED)
            for n in set(numbers)
        }
        if "index" in call:
            at = call["index"]
            if isinstance(at, Special):
                return lambda rank: ()
            k = at.value if isinstance(at, Const) else 0
            return lambda rank: (lists[numbers[rank]] or ())[k : k + 1]
        return lambda rank: lists[numbers[rank]]

    def awaited(self, done: Sequence[int], call: MpiCall) -> None:
        """Add the statement for ranks that await all their pending messages."""
        if done:
            ranks = np.zeros(self.sample.n, dtype=bool)
            ranks[list(done)] = True
            self.add(t.Await(self.tasks(self.asking(ranks), named=False)), self.site(call))

    def asking(self, ranks: Mask) -> Cond:
        """The condition for ranks of the sample."""
        return self.places.cond(ranks, self.sample.everyone)

    def unfinished(self) -> Mask:
        """Return the ranks of the sample that may have pending messages."""
        ranks: Mask = np.zeros(self.sample.n, dtype=bool)
        ranks[list(self.pending.unfinished())] = True
        return ranks

    def listed(self, ranks: Mask) -> RankList:
        """Ranks of the sample by their numbers."""
        return RankList(np.flatnonzero(ranks).tolist())
