"""Any grid of tasks (§4.4.5): conditions select tasks, sides are parameters.

x IS "tasks along x" AND COMES FROM "--x" OR "-x" WITH DEFAULT 4.
TASKS t SUCH THAT t MOD y > 0 ASYNCHRONOUSLY SEND A 64 BYTE MESSAGE TO UNSUSPECTING TASK (t - 1)

The ranks of sample grids decide which requests are pending where (see `pending`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from string import ascii_lowercase

import numpy as np

from scalatrace.codegen.builders.places import RankPlaces, opposite
from scalatrace.codegen.builders.sample import Mask, RankSample
from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import NO_TASK
from scalatrace.codegen.emit.conceptual.sets.grid_formulas import (
    NUM_TASKS,
    RANK,
    ExprTranslator,
    choice_in,
    of_task,
    replace_part,
)
from scalatrace.codegen.emit.conceptual.sets.task_sets import (
    CommunicatorTasks,
    Preamble,
    TaskSet,
    TaskSets,
)
from scalatrace.codegen.emit.grids import demands, local_demands, sides_of
from scalatrace.codegen.emit.text import ncptl_text
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.tree import BenchmarkProgram, LoopStatement, MpiCall
from scalatrace.formula import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Select,
    Special,
    Symbolic,
    Value,
    Var,
    add,
    all_of,
    bounds,
    mul,
    names_in,
    number,
    number_or,
    specials_in,
)
from scalatrace.operations import operation
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.ranklist import RankList

__all__ = ["GridTasks"]

GROUP = Var("c", 1 << 31)
TASK = "t"
"""Variable of the loop that checks conditions for each task."""


class GridTasks(TaskSets):
    """Sets of tasks that conditions select."""

    def __init__(self, program: BenchmarkProgram) -> None:
        assert program.shape is not None
        self.shape, self.sample = program.shape, RankSample(program.shape)
        super().__init__(program, RankList.all(self.sample.n))
        self.places = RankPlaces(self.sample, ())
        self.translator = ExprTranslator(program.shape)
        self._mine = frozenset({"rank", *program.shape.coords})

    def preamble(self) -> Preamble:
        """Return the declarations of sides and parameters, and the assertions on them."""
        shape = self.shape
        dims, _ = min(shape.seen, key=lambda run: prod(run[0]))
        headers: list[t.Header] = []
        letters = [letter for letter in ascii_lowercase if letter not in shape.coords]
        if len(shape.sizes) > 1:
            for name, side in zip(shape.coords, dims, strict=True):
                headers.append(_parameter(name, f"tasks along {name}", name, name, side))
        for name in shape.inputs:
            wish = [name[0].lower(), *letters]
            letter = next((candidate for candidate in wish if candidate in letters), None)
            if letter is None:
                raise GenerateError(f"coNCePTuaL has no letter left for the option of parameter {name}")
            letters.remove(letter)
            default = shape.default(name)
            fallback = shape.seen[0][1][name] if default is None else default
            variable = self.translator.inputs[name]
            headers.append(_parameter(variable, f"parameter {name}", name, letter, fallback))
        sides = sides_of(shape)[len(shape.sizes) == 1 :]  # a line is as long as there are tasks
        conditions = [*((opposite(wrong), complaint) for wrong, complaint in sides), *demands(shape)]
        assertions: list[t.Assert | t.ForEach] = [*self._assertions(conditions)]
        if of_tasks := tuple(self._assertions(local_demands(shape))):
            # An assertion knows no task, but its condition may name the variable of a loop.
            tasks = writing.range_to(writing.expr(add(NUM_TASKS, Const(-1))))
            assertions.append(t.ForEach(TASK, (tasks,), t.Block(of_tasks)))
        return "any grid of tasks", headers, assertions

    def _assertions(self, conditions: Sequence[tuple[Cond, str]]) -> Iterator[t.Assert]:
        """Return assertions, without those of two formulas that are one expression of the language."""
        for holds, complaint in conditions:
            translated = self.translator.cond(holds)
            parts = translated.parts if isinstance(translated, AnyOf) else (translated,)
            if not any(map(_is_identity, parts)):
                yield t.Assert(ncptl_text(complaint.lower()), writing.cond(translated, TASK))

    def condition(self, chosen: TaskSet) -> Cond:
        return self.translator.cond(chosen.cond)

    def single(self, chosen: TaskSet) -> Expr | None:
        match chosen.cond:
            case Compare("==", Var("rank"), e) if not self._local(e):
                return self.translator.expr(e)
        return None

    def select(self, ranks: RankList, within: TaskSet) -> TaskSet:
        if ranks == within.ranks:
            return within
        cond = self.places.cond(self._mask(ranks), self._mask(within.ranks))
        return TaskSet(ranks, all_of(within.cond, cond))

    def cases(self, cond: Cond, chosen: TaskSet) -> list[tuple[TaskSet, Cond]]:
        if self._local(cond):
            return [(self._narrow(chosen, cond), TRUE), (self._narrow(chosen, opposite(cond)), FALSE)]
        return [(chosen, self.translator.cond(cond))]

    def values(self, exprs: Sequence[Value], chosen: TaskSet) -> list[tuple[TaskSet, tuple[Value, ...]]]:
        cases: list[tuple[TaskSet, tuple[Value, ...]]] = [(chosen, ())]
        for e in exprs:
            cases = [
                (choice_tasks, (*before, value))
                for tasks, before in cases
                for leaf_tasks, leaf in self._alternatives(e, tasks)
                for choice_tasks, value in self._choices(leaf, leaf_tasks)
            ]
        return cases

    def trip_counts(self, loop: LoopStatement, chosen: TaskSet) -> list[tuple[TaskSet, Expr]]:
        """Return the largest trip count for all tasks; conditions limit each task to its own."""
        times = loop.count
        if not self._local(times):
            return [(chosen, self.translator.expr(times))]
        if (limits := bounds(times)) is None:
            raise GenerateError(
                "the trip count of a loop depends on the rank's place in the grid and has no bound: "
                "coNCePTuaL has no statement for it; use --to c or --to python"
            )
        return [(self._narrow(chosen, Compare("<", loop.variable, times)), Const(limits[1]))]

    def known(self, e: Value, rank: int) -> int | None:
        if not self._fixed(e):
            return None
        return int(np.broadcast_to(self.sample.value(e), self.sample.n)[rank])

    def at(self, e: Expr, task: Expr) -> Expr:
        return of_task(e, task)

    def translate(self, e: Expr) -> Expr:
        return self.translator.expr(e)

    def peers(
        self, call: MpiCall, name: str, chosen: TaskSet, apart: bool
    ) -> Iterator[tuple[TaskSet, Expr, bool]]:
        family = call.number("comm") if "comm" in call else Const(0)
        for leaf_tasks, leaf in self._alternatives(call[name], chosen):
            if "ANY_SOURCE" in specials_in(leaf):
                raise GenerateError("it receives from any source, and no formula gives its sender")
            if isinstance(leaf, Special):
                continue  # nothing is sent to PROC_NULL
            peer = number_or(leaf, NO_TASK)
            task = self.translator.world(self.translator.expr(peer), family)
            if apart and self._may_be_own(leaf_tasks, peer, family):
                mine = Compare("==", peer, self.shape.variables()["r"])
                yield self._narrow(leaf_tasks, mine), task, True
                leaf_tasks = self._narrow(leaf_tasks, opposite(mine))
            yield leaf_tasks, task, False

    def communicators(self, call: MpiCall, chosen: TaskSet) -> Iterator[CommunicatorTasks]:
        if chosen != self.everyone:
            raise GenerateError("not all tasks call it: its communicator is no slice of the grid")
        axes = self.translator.axes(call.number("comm"))
        size = self.translator.expr(self._volume(call))
        root = self.translator.expr(call.number("root")) if "root" in call else Const(0)
        if RANK.name in names_in(size, root):
            raise GenerateError("its size or root differs from task to task")
        members = writing.range_to(writing.expr(add(NUM_TASKS, Const(-1))))
        if axes is None:
            yield CommunicatorTasks(chosen, members, NUM_TASKS, root, size)
            return
        if len(self.shape.sizes) != 2:
            raise GenerateError("its communicator is a line of a grid of more than two dimensions")
        axis, cross = axes[0], 1 - axes[0]
        strides = self.translator.strides()
        root = add(mul(GROUP, strides[cross]), mul(root, strides[axis]))
        place, last = self.translator.coordinate(cross), add(self._side(cross), Const(-1))
        yield CommunicatorTasks(chosen, members, self._side(axis), root, size, place, last)

    def _side(self, axis: int) -> Expr:
        """The length of the grid along a dimension."""
        return self.translator.sides[self.shape.sizes[axis]]

    def _volume(self, call: MpiCall) -> Expr:
        """Bytes of one message of a collective."""
        block = operation(call.op.removesuffix(SUFFIX)).block
        if block is None:
            return Const(0)
        n = call[block.count]
        if any(a.name == block.count and a.kind is Kind.ARRAY for a in call.arguments):
            n = self._mean(number(n))
        return self.nbytes(n, self._significant(number_or(call[block.datatype], -1)))

    def _significant(self, kind: Expr) -> Expr:
        """The datatype where it means something."""
        if isinstance(kind, Choose):
            branches = self._significant(kind.then), self._significant(kind.otherwise)
            null = [k for k, e in enumerate(branches) if isinstance(e, Const) and self.is_null(e.value)]
            if len(null) == 1:
                return branches[1 - null[0]]
        return kind

    def _mean(self, index: Expr) -> Expr:
        """Return the mean of an array's elements, if they are all equal or all numbers."""
        if isinstance(index, Const) and (rule := self.shape.arrays.get(index.value)) is not None:
            if rule.variable.name not in names_in(rule.element):
                return number(rule.element)
        elif isinstance(index, Const) and (values := self.program.arrays[index.value].values):
            return Const(round(sum(values) / len(values)))
        raise GenerateError("the mean of its sizes has no closed formula")

    def _local(self, part: Value | Cond) -> bool:
        """Whether something depends on the task."""
        return bool(names_in(part) & self._mine) or "Element(" in repr(part)

    def _fixed(self, part: Value | Cond) -> bool:
        """Whether something depends on the task only, and on no loop."""
        return names_in(part) <= self.sample.fixed

    def _narrow(self, chosen: TaskSet, cond: Cond) -> TaskSet:
        """Return the tasks of a set for which a condition holds."""
        ranks = chosen.ranks
        if self._fixed(cond):
            ranks = ranks & RankList(np.flatnonzero(self.sample.mask(cond)).tolist())
        return TaskSet(ranks, all_of(chosen.cond, cond))

    def _mask(self, ranks: RankList) -> Mask:
        mask: Mask = np.zeros(self.sample.n, dtype=bool)
        mask[list(ranks)] = True
        return mask

    def _alternatives(self, e: Value, chosen: TaskSet) -> list[tuple[TaskSet, Value]]:
        """The values that tasks have, each with its set, where special ones are among them."""
        if isinstance(e, Select) and self._local(e.cond):
            return [
                pair
                for case, branch in ((e.cond, e.then), (opposite(e.cond), e.otherwise))
                if not _contradicts(chosen.cond, case)
                for pair in self._alternatives(branch, self._narrow(chosen, case))
            ]
        return [(chosen, e)]

    def _choices(self, e: Value, chosen: TaskSet) -> list[tuple[TaskSet, Value]]:
        """The values of an expression by the tasks of each of its choices: sizes cannot depend on the task.

        An expression whose choices depend on the task, too, stays whole.
        """
        if isinstance(e, Symbolic):
            return [(chosen, e)]
        choices = self._split(e, chosen)
        return [(chosen, e)] if any(self._local(part) for _, part in choices) else choices

    def _split(self, e: Expr, chosen: TaskSet) -> list[tuple[TaskSet, Value]]:
        """Return the choices of an expression, each with its set."""
        choice = choice_in(e, self._local)
        if choice is None or self.single(chosen) is not None:
            return [(chosen, e)]
        return [
            pair
            for case, branch in ((choice.cond, choice.then), (opposite(choice.cond), choice.otherwise))
            if not _contradicts(chosen.cond, case)
            for pair in self._split(replace_part(e, choice, branch), self._narrow(chosen, case))
        ]

    def _may_be_own(self, chosen: TaskSet, peer: Expr, family: Expr) -> bool:
        """Whether tasks may send to themselves: the language wants such a message asynchronous."""
        if self.translator.axes(family) is not None:
            return False
        is_own = np.equal(self.sample.value(peer), self.sample.columns["rank"])
        return bool((is_own & self._mask(chosen.ranks)).any())


def _contradicts(cond: Cond, case: Cond) -> bool:
    """Return whether a condition is the opposite of a part of what is known."""
    parts = cond.parts if isinstance(cond, AllOf) else (cond,)
    return opposite(case) in parts


def _is_identity(cond: Cond) -> bool:
    """Return whether a condition compares an expression with itself."""
    return isinstance(cond, Compare) and cond.op == "==" and cond.left == cond.right


def _parameter(name: str, text: str, option: str, letter: str, default: int) -> t.ProgramParameter:
    return t.ProgramParameter(
        name, ncptl_text(text), ncptl_text(f"--{option}"), ncptl_text(f"-{letter}"), writing.integer(default)
    )
