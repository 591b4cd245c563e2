"""Loops over numbers whose iterations communicate alike, although the program uses the variable.

    FOR EACH i IN {0, ..., 4096} {                          i decides where messages lie and what is logged,
      TASK 0 SENDS A 1M BYTE i BYTE MISALIGNED MESSAGE ...   not who sends how much to whom
      TASK 0 LOGS i AS "offset" }

One iteration stands for all of them if no expression that decides on communication depends on the variable.
Expressions for memory still have to be evaluated for each number, as they may fail for one: `Probe`.

    FOR EACH trial IN {1, ..., 5000} {
      ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR THEN
      TASKS t SUCH THAT t IS EVEN SEND A 1M BYTE MESSAGE TO TASK t+1 ...

Each iteration is the first one with other names of ranks. So it ends if the first one does, provided that it
starts and ends with no message under way. That holds where all messages of the program are received by the
statements that send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.names import children, free, mentions_me
from scalatrace.codegen.conceptual.values.evaluate import Env, holds, integer, values

__all__ = ["Probe", "assignments", "inner_statements", "involves_all", "is_reassigned", "is_steady"]

Names = frozenset[str]
MemoryOf = Callable[[Any, Env, Any], Any]
"""Evaluates what a message (the second one: what it leaves out) says of memory."""
Plan = Callable[[Env], None]
"""Evaluates expressions of a statement."""


def _depends(nodes: Iterable[t.SyntaxNode | str | None], names: Names) -> bool:
    """Return whether any of the nodes uses one of the names."""
    return any(isinstance(node, t.SyntaxNode) and not names.isdisjoint(free(node)) for node in nodes)


def is_steady(loop: t.ForEach) -> bool:
    """Return whether iterations differ at most in memory and in what tasks do by themselves."""
    return _steady(loop.body, frozenset({loop.variable}))


def _steady(node: t.Statement, names: Names) -> bool:
    special: dict[type, Callable[[Any, Names], bool]] = {
        t.Send: _communication,
        t.Receive: _communication,
        t.Multicast: _communication,
        t.Reduce: _communication,
        t.Assign: lambda node, names: False,
        t.Assert: lambda node, names: not _depends((node.condition,), names),
        t.ForEach: _for_each,
        t.ForCount: _loop,
        t.ForTime: _loop,
        t.Let: _let,
        t.If: _if,
        t.Block: lambda node, names: all(_steady(statement, names) for statement in node.statements),
    }
    return special.get(type(node), _tasks_only)(node, names)


def _tasks_only(node: Any, names: Names) -> bool:
    """Return whether the same tasks do what each does by itself."""
    return not _depends((node.tasks,), names)


def _communication(node: Any, names: Names) -> bool:
    parts: list[Any] = [node.source, node.target]
    for spec in _specifications(node):
        if getattr(spec, "unique", False):
            return False  # each iteration has memory of its own
        parts += [getattr(spec, name, None) for name in ("count", "size", "tag")]
    return not _depends(parts, names)


def _specifications(node: Any) -> list[Any]:
    """Return the descriptions of messages in a statement."""
    result = getattr(node, "result", None)
    named = [getattr(node, name, None) for name in ("message", "reception", "values", "to")]
    specs = [*named, result, result.values if result is not None else None]
    return [spec for spec in specs if spec is not None]


def _memories(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what a statement says of memory, as `MemoryOf` takes it."""
    for spec in (getattr(node, "message", None), getattr(node, "values", None)):
        if spec is not None:
            yield spec, None
    if getattr(node, "reception", None) is not None:
        yield node.reception, node.message


def _sites(node: Any) -> list[list[t.SyntaxNode]]:
    """Return the expressions of `_memories`, those of each message together."""
    sites = []
    for spec, under in _memories(node):
        parts = [
            getattr(spec, name) if under is None or getattr(spec, name) is not None else getattr(under, name)
            for name in ("alignment", "buffer")
        ]
        sites.append([part for part in parts if part is not None])
    return sites


def _for_each(node: t.ForEach, names: Names) -> bool:
    return not _depends(node.ranges, names) and _steady(node.body, names - {node.variable})


def _loop(node: t.ForCount | t.ForTime, names: Names) -> bool:
    limit = node.count if isinstance(node, t.ForCount) else node.duration
    return not _depends((limit, node.warmup), names) and _steady(node.body, names)


def _let(node: t.Let, names: Names) -> bool:
    inner = names
    for n, binding in enumerate(node.bindings):
        inner = _after(replace(node, bindings=node.bindings[:n]), names)
        if isinstance(binding, t.LetRandom) or (
            isinstance(binding, t.LetTasks) and _depends((binding,), inner)
        ):
            return False
    return _steady(node.body, _after(node, names))


def _if(node: t.If, names: Names) -> bool:
    if _depends((node.condition,), names):
        return False
    return _steady(node.then, names) and (node.otherwise is None or _steady(node.otherwise, names))


class Probe:
    """Evaluates the expressions for memory that depend on the variable of a steady loop, for its numbers."""

    def __init__(self, memory: MemoryOf, charge: Callable[[], None]) -> None:
        """`charge` is called for each iteration, and may end the work with an exception."""
        self.memory, self.charge = memory, charge

    def run(self, loop: t.ForEach, numbers: Iterable[int], env: Env) -> None:
        """Evaluate what depends on the loop's variable. Raises ProgramError."""
        plan = self._plan(loop.body, frozenset({loop.variable}))
        if plan is not None:
            self._each(loop.variable, numbers, plan, env)

    def _each(self, variable: str, numbers: Iterable[int], plan: Plan, env: Env) -> None:
        for number in numbers:
            self.charge()
            plan(env.bind(variable, number))

    def _plan(self, node: t.Statement, names: Names) -> Plan | None:
        """Return the evaluation of what depends on the names in a statement; None: nothing does."""
        match node:
            case t.ForEach(variable):
                inner = self._plan(node.body, names - {variable})
                return inner and partial(
                    self._for_each, node, inner, variable in _find_evaluated_names(node.body, names)
                )
            case t.ForCount():
                inner = self._plan(node.body, names)
                return inner and partial(self._for_count, node, inner)
            case t.ForTime():
                return self._plan(node.body, names)
            case t.Let():
                after = _after(node, names)
                inner = self._plan(node.body, after)
                return partial(self._let, node, inner) if inner or not after <= names else None
            case t.If():
                then = self._plan(node.then, names)
                otherwise = None if node.otherwise is None else self._plan(node.otherwise, names)
                return partial(self._if, node, then, otherwise) if then or otherwise else None
            case t.Block(statements):
                plans = [plan for statement in statements if (plan := self._plan(statement, names))]
                return partial(_all, plans) if plans else None
        pairs = zip(_memories(node), _sites(node), strict=True)
        chosen = [pair for pair, site in pairs if _depends(site, names)]
        return partial(self._memories, chosen) if chosen else None

    def _memories(self, pairs: Sequence[tuple[Any, Any]], env: Env) -> None:
        for spec, under in pairs:
            self.memory(spec, env, under)

    def _for_each(self, node: t.ForEach, inner: Plan, differ: bool, env: Env) -> None:
        """Evaluate a loop in the loop; its iterations are alike unless they depend on its variable, too."""
        numbers = values(node.ranges, env)
        self._each(node.variable, numbers if differ else numbers[:1], inner, env)

    def _for_count(self, node: t.ForCount, inner: Plan, env: Env) -> None:
        if integer(node.count, env) > 0 or (node.warmup is not None and integer(node.warmup, env) > 0):
            inner(env)

    def _let(self, node: t.Let, inner: Plan | None, env: Env) -> None:
        for binding in node.bindings:
            if isinstance(binding, t.LetValue):
                env = env.bind(binding.name, integer(binding.value, env))
        if inner is not None:
            inner(env)

    def _if(self, node: t.If, then: Plan | None, otherwise: Plan | None, env: Env) -> None:
        # Where tasks go different ways, both are gone.
        if mentions_me(node.condition):
            chosen = [then, otherwise]
        else:
            chosen = [then if holds(node.condition, env) else otherwise]
        _all([plan for plan in chosen if plan is not None], env)


def _all(plans: Sequence[Plan], env: Env) -> None:
    for plan in plans:
        plan(env)


def _after(node: t.Let, names: Names) -> Names:
    """Return the names that depend on `names` in the body of a LET."""
    for binding in node.bindings:
        if isinstance(binding, t.LetValue):
            bound = frozenset({binding.name})
            names = names | bound if _depends((binding.value,), names) else names - bound
    return names


def inner_statements(node: t.Statement) -> tuple[t.Statement, ...]:
    """Return the statements in a loop, a condition or a block."""
    if isinstance(node, t.Block):
        return node.statements
    if isinstance(node, t.If):
        return (node.then,) if node.otherwise is None else (node.then, node.otherwise)
    return (node.body,) if isinstance(node, (t.ForEach, t.ForCount, t.ForTime, t.Let)) else ()


def _find_evaluated_names(node: t.Statement, names: Names) -> set[str]:
    """Return the names on which it depends what a probe for `names` evaluates in a statement, and whether."""
    if isinstance(node, t.Let):
        inner = _after(node, names)
        evaluated = _find_evaluated_names(node.body, inner)
        for binding in reversed(node.bindings):
            if isinstance(binding, t.LetValue) and binding.name in inner | evaluated:
                evaluated |= free(binding.value)
        return evaluated
    if isinstance(node, t.ForEach):
        names = names - {node.variable}
    bodies = inner_statements(node)
    if not bodies:
        return {
            name for site in _sites(node) if _depends(site, names) for part in site for name in free(part)
        }
    evaluated = {name for body in bodies for name in _find_evaluated_names(body, names)}
    if evaluated:
        evaluated |= {name for child in children(node) if child not in bodies for name in free(child)}
    return evaluated


def is_reassigned(program: t.ProgramTree, loop: t.ForEach) -> bool:
    """Return whether all iterations of a loop do the same on other processors."""
    unassigned = replace(
        loop, body=t.Block(tuple(s for s in _flat(loop.body) if not isinstance(s, t.Assign)))
    )
    sentences = [statement for sentence in program.sentences for statement in sentence.statements]
    return is_steady(unassigned) and not _counts_or_asks(unassigned) and all(map(_leaves_nothing, sentences))


def assignments(loop: t.ForEach) -> list[t.Assign]:
    """Return the statements that change processors."""
    return [statement for statement in _flat(loop.body) if isinstance(statement, t.Assign)]


def involves_all(events: Sequence[e.Event], tasks: int) -> bool:
    """Return whether all collectives are of all tasks: others would need a communicator per iteration."""
    return all(len(getattr(event, "comm", range(tasks))) == tasks for event in _every(events))


def _every(events: Sequence[e.Event]) -> Iterator[e.Event]:
    for event in events:
        yield event
        if isinstance(event, (e.Repeat, e.Timed, e.Aside)):
            yield from _every(event.body)


def _flat(node: t.Statement) -> Iterator[t.Statement]:
    if not isinstance(node, t.Block):
        yield node
        return
    for statement in node.statements:
        yield from _flat(statement)


def _leaves_nothing(node: t.Statement) -> bool:
    """Return whether no message that a statement sends is under way or pending behind it."""
    if isinstance(node, t.Receive):
        return False
    if isinstance(node, t.Send):
        reception = node.reception or t.Reception()
        return not (
            node.unsuspecting or node.asynchronous or reception.asynchronous or reception.tag is not None
        )
    return all(map(_leaves_nothing, inner_statements(node)))


def _counts_or_asks(node: t.SyntaxNode) -> bool:
    """Return whether counters are stored, which is counted by rank, or processors asked for."""
    if isinstance(node, t.Counters):
        return node.action != "RESETS"
    if isinstance(node, t.FunctionCall) and node.function in ("PROCESSOR_OF", "TASK_OF"):
        return True
    return any(map(_counts_or_asks, children(node)))
