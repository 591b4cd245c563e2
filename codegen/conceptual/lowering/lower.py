"""Tree -> events of every task, for a number of tasks and values of the parameters.

All tasks go through the same statements and agree on who does what, so this needs no messages: who is meant
by a task description, sizes, conditions and loop bounds are evaluated here, once, before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.messaging import Messaging
from scalatrace.codegen.conceptual.lowering.steady import (
    Probe,
    assignments,
    involves_all,
    is_reassigned,
    is_steady,
)
from scalatrace.codegen.conceptual.names import mentions_me
from scalatrace.codegen.conceptual.values.evaluate import Env, holds, integer, values
from scalatrace.codegen.conceptual.words import TIME_UNITS

__all__ = ["DEFAULT_SEED", "BoundProgram", "lower"]

DEFAULT_SEED = 1
MIN_STEADY_ITERATIONS = 32
"""Shorter loops over numbers are always written out."""


@dataclass
class BoundProgram:
    """A program bound to a number of tasks.

    Attributes:
        tasks: how many.
        events: of each rank asked for.
        comms: sets of ranks that need a communicator, in the order in which they are met.
        parameters: values of the program's parameters.
    """

    tasks: int
    events: dict[int, tuple[e.Event, ...]]
    comms: list[e.Comm]
    parameters: Mapping[str, int]
    seed: int


def lower(
    program: t.ProgramTree,
    tasks: int,
    parameters: Mapping[str, int] | None = None,
    ranks: Collection[int] | None = None,
    seed: int = DEFAULT_SEED,
    most: int | None = None,
) -> BoundProgram:
    """Return what the tasks on `ranks` (default: all) do.

    Args:
        program: a checked program.
        tasks: num_tasks.
        parameters: values from the command line; the others have their defaults.
        ranks: whose events are wanted.
        seed: of random tasks and of whatever else all tasks must agree on.
        most: steps of this work; None: any number.

    Raises:
        ProgramError: the program cannot run so; with the statement's place.
        TooManyEventsError: more steps than wanted.
    """
    headers = [header for header in program.headers if isinstance(header, t.ProgramParameter)]
    chosen = {h.name: integer(h.default, Env()) for h in headers} | dict(parameters or {})
    lowering = _TaskLowering(tasks, range(tasks) if ranks is None else ranks, seed, most, program=program)
    env = Env(chosen, tasks, draws=lowering.draws, processors=tuple(range(tasks)))
    for sentence in program.sentences:
        for statement in sentence.statements:
            lowering.statement(statement, env)
        lowering.each(e.EndOfTable(place=sentence.place))
    return BoundProgram(tasks, lowering.taken(), lowering.comms, chosen, seed)


@dataclass
class _TaskLowering(Messaging):
    """Goes through the statements.

    Attributes:
        program: what the statements belong to.
        is_probed: no expression for memory fails in a later iteration of a loop.
    """

    program: t.ProgramTree = field(default_factory=lambda: t.ProgramTree((), ()), kw_only=True)
    is_probed: bool = field(default=False, kw_only=True)

    def statement(self, node: t.Statement, env: Env) -> None:
        """Add what a statement does, on all ranks."""
        self.charge()
        special: dict[type, Callable[[Any, Env], None]] = {
            t.Send: self._send,
            t.Receive: self._receive,
            t.Multicast: self._multicast,
            t.Reduce: self._reduce,
            t.Await: self._await,
            t.Synchronize: self._synchronize,
            t.Assign: self._assign,
            t.Assert: self._assert,
            t.ForEach: self._for_each,
            t.ForCount: self._for_count,
            t.ForTime: self._for_time,
            t.Let: self._let,
            t.If: self._if,
            t.Block: self._block,
        }
        special.get(type(node), self._local)(node, self._now(env))

    def _local(self, node: Any, env: Env) -> None:
        for task, inner in self.sources(node.tasks, env):
            self.add(task, e.LocalStep(node, inner, place=node.place))

    def _assign(self, node: t.Assign, env: Env) -> None:
        for task, inner in self.sources(node.tasks, env):
            if node.processor is None:
                processor = self.draws.below(self.tasks)
            else:
                processor = integer(node.processor, self._now(inner))
            if not 0 <= processor < self.tasks:
                reason = f"there is no processor {processor}; expected 0 to {self.tasks - 1}"
                raise ProgramError(reason, node.place)
            # Two tasks change places, so that every processor has one.
            if processor != self.processors[task]:
                placed = list(self.processors)
                placed[placed.index(processor)], placed[task] = placed[task], processor
                self.processors = tuple(placed)

    def _now(self, env: Env) -> Env:
        return env if env.processors == self.processors else replace(env, processors=self.processors)

    def _assert(self, node: t.Assert, env: Env) -> None:
        if not holds(node.condition, env):
            raise ProgramError(f"the program asserts: {node.text}", node.place)

    def _for_each(self, node: t.ForEach, env: Env) -> None:
        numbers = values(node.ranges, env)
        if len(numbers) < MIN_STEADY_ITERATIONS or not self._first_of_all(node, numbers, env):
            for value in numbers:
                self.statement(node.body, env.bind(node.variable, value))

    def _first_of_all(self, node: t.ForEach, numbers: Sequence[int], env: Env) -> bool:
        """Add a loop as its first iteration if that stands for all."""
        assigned = assignments(node)
        if not (is_reassigned(self.program, node) if assigned else is_steady(node)):
            return False
        draws, steps = self.draws.state, self.steps
        bodies = self.body(node.body, env.bind(node.variable, numbers[0]))
        if assigned and not all(involves_all(events, self.tasks) for events in bodies.values()):
            self.draws.state, self.processors, self.steps = draws, tuple(env.processors), steps
            return False
        if not self.is_probed:
            Probe(self.memory, self.charge).run(node, numbers, env)
        for number in numbers[1:] if assigned else ():
            for statement in assigned:
                self.statement(statement, env.bind(node.variable, number))
        self.serial += 1
        for rank in self.active:
            if bodies[rank]:
                iterations = partial(self._iterations, node, numbers, env, rank, draws)
                event = e.Each(len(numbers), bodies[rank], self.serial, place=node.place, bodies=iterations)
                self.put(rank, event)
        return True

    def _iterations(
        self, node: t.ForEach, numbers: Sequence[int], env: Env, rank: int, draws: int
    ) -> Iterator[tuple[e.Event, ...]]:
        """Yield what a rank does for each number; processors and random numbers start as before the loop."""
        probe = _TaskLowering(self.tasks, (rank,), self.seed, None, program=self.program, is_probed=True)
        probe.draws.state, probe.processors = draws, tuple(env.processors)
        for number in numbers:
            probe.statement(node.body, replace(env, draws=probe.draws).bind(node.variable, number))
            yield probe.taken()[rank]

    def _for_count(self, node: t.ForCount, env: Env) -> None:
        count = self.count(node.count, env)
        warmup = self.count(node.warmup, env) if node.warmup is not None else 0
        self.serial += 1
        serial = self.serial
        if count or warmup:
            bodies = self.body(node.body, env)
        for rank in self.active:
            body = bodies[rank] if count or warmup else ()
            aside: list[e.Event] = []
            if warmup and body:
                aside.append(e.Repeat(warmup, body, serial, place=node.place))
            self._after_warmup(rank, aside, node)
            if count and body:
                self.put(rank, e.Repeat(count, body, serial, place=node.place))

    def _after_warmup(self, rank: int, aside: list[e.Event], node: t.ForCount | t.ForTime) -> None:
        if node.synchronized:
            aside.append(e.Barrier(tuple(range(self.tasks)), place=node.place))
        if aside:
            self.put(rank, e.Aside(tuple(aside), place=node.place))

    def _for_time(self, node: t.ForTime, env: Env) -> None:
        duration = self.microseconds(node.duration, node.unit, env)
        warmup = 0
        if node.warmup is not None:
            warmup = self.microseconds(node.warmup, node.warmup_unit or "", env)
        self.serial += 1
        serial = self.serial
        bodies = self.body(node.body, env)
        for rank in self.active:
            aside: list[e.Event] = []
            if warmup:
                aside.append(e.Timed(warmup, bodies[rank], serial, place=node.place))
            self._after_warmup(rank, aside, node)
            self.put(rank, e.Timed(duration, bodies[rank], serial, place=node.place))

    def microseconds(self, duration: t.Expr, unit: str, env: Env) -> int:
        """Return a time in microseconds, never negative."""
        return max(0, integer(duration, env)) * TIME_UNITS[unit]

    def _let(self, node: t.Let, env: Env) -> None:
        for binding in node.bindings:
            match binding:
                case t.LetValue(name, value):
                    env = env.bind(name, integer(value, env))
                case t.LetTasks(name, tasks):
                    env = env.bind_group(name, [task for task, _ in self.sources(tasks, env)])
                case t.LetRandom():
                    env = env.bind(binding.name, self._random_task(binding, env))
        self.statement(node.body, env)

    def _random_task(self, node: t.LetRandom, env: Env) -> int:
        low, high = 0, self.tasks - 1
        if node.low is not None:
            low = max(low, integer(node.low, env) + (node.form == "GREATER"))
        if node.high is not None:
            high = min(high, integer(node.high, env) - (node.form == "LESS"))
        but = None if node.but is None else integer(node.but, env)
        possible = [task for task in range(low, high + 1) if task != but]
        if not possible:
            raise ProgramError(f"no task fits {node.name} among {self.tasks}", node.place)
        return possible[self.draws.below(len(possible))]

    def _if(self, node: t.If, env: Env) -> None:
        if not mentions_me(node.condition):
            chosen = node.then if holds(node.condition, env) else node.otherwise
            if chosen is not None:
                self.statement(chosen, env)
            return
        self._if_mine(node, env)

    def _if_mine(self, node: t.If, env: Env) -> None:
        """Tasks that go different ways: each executes its own, and only its own, part of it."""
        active = self.active
        tasks = {self.processors.index(rank): rank for rank in active}
        mine = {rank for task, rank in tasks.items() if holds(node.condition, replace(env, me=task))}
        for ranks, branch in ((mine, node.then), (active - mine, node.otherwise)):
            if branch is not None:
                self.active = ranks
                self.statement(branch, env)
        self.active = active

    def _block(self, node: t.Block, env: Env) -> None:
        for statement in node.statements:
            self.statement(statement, env)
