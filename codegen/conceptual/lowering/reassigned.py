"""Loops in which tasks change processors and otherwise do the same in each iteration.

    FOR EACH trial IN {1, ..., 5000} {
      ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR THEN
      TASKS t SUCH THAT t IS EVEN SEND A 1M BYTE MESSAGE TO TASK t+1 ...

Each iteration is the first one with other names of ranks. So it ends if the first one does, provided that it
starts and ends with no message under way. That holds where all messages of the program are received by the
statements that send them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.steady import inner_statements, is_steady
from scalatrace.codegen.conceptual.names import children

__all__ = ["assignments", "involves_all", "is_reassigned"]


def is_reassigned(program: t.Program, loop: t.ForEach) -> bool:
    """Return whether all iterations of a loop do the same on other processors."""
    rest = replace(loop, body=t.Block(tuple(s for s in _flat(loop.body) if not isinstance(s, t.Assign))))
    sentences = [statement for sentence in program.sentences for statement in sentence.statements]
    return is_steady(rest) and not _counts_or_asks(rest) and all(map(_leaves_nothing, sentences))


def assignments(loop: t.ForEach) -> list[t.Assign]:
    """Return the statements that change processors."""
    return [statement for statement in _flat(loop.body) if isinstance(statement, t.Assign)]


def involves_all(events: Sequence[e.Event], tasks: int) -> bool:
    """Return whether all collectives are of all tasks: others would need a communicator per iteration."""
    return all(len(getattr(each, "comm", range(tasks))) == tasks for each in _every(events))


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


def _counts_or_asks(node: t.Node) -> bool:
    """Return whether counters are stored, which is counted by rank, or processors asked for."""
    if isinstance(node, t.Counters):
        return node.action != "RESETS"
    if isinstance(node, t.Call) and node.function in ("PROCESSOR_OF", "TASK_OF"):
        return True
    return any(map(_counts_or_asks, children(node)))
