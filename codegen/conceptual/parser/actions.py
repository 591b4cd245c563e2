"""The grammar's callbacks: from what a rule matched to a node of the tree."""

from __future__ import annotations

from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.parser.action_parts import PartsBuilder
from scalatrace.codegen.conceptual.parser.action_values import (
    Clause,
    Parts,
    clauses_of,
    nodes_of,
    spot,
    texts_of,
)

__all__ = ["NodeBuilder"]


class NodeBuilder(PartsBuilder):
    """Statements and programs."""

    def start(self, parts: Parts) -> Any:
        result = nodes_of(parts)
        headers = tuple(part for part in result if not isinstance(part, t.Sentence))
        return headers, tuple(part for part in result if isinstance(part, t.Sentence))

    def header(self, parts: Parts) -> t.Header:
        return nodes_of(parts)[0]  # type: ignore[no-any-return]

    def version(self, parts: Parts) -> t.Version:
        return t.Version(str(parts[-1]), place=spot(parts))

    def parameter(self, parts: Parts) -> t.ProgramParameter:
        about, long, short = texts_of(parts, "STRING")
        return t.ProgramParameter(str(parts[0]), about, long, short, parts[-1], place=spot(parts))

    def backend_declares(self, parts: Parts) -> t.BackendDeclares:
        return t.BackendDeclares(str(parts[-1]), place=spot(parts))

    def sentence(self, parts: Parts) -> t.Sentence:
        return t.Sentence(tuple(parts[0]), place=spot(parts))

    def stmts(self, parts: Parts) -> Parts:
        return nodes_of(parts)

    # communication

    def _send(self, parts: Parts, unsuspecting: bool = False) -> t.Send:
        source, *middle = nodes_of(parts)
        reception = middle.pop() if isinstance(middle[-1], t.Reception) else None
        message, target = [part for part in middle if not isinstance(part, Clause)]
        clauses = clauses_of(middle)
        return t.Send(
            source,
            message,
            target,
            clauses.get("asynchronous"),
            unsuspecting,
            reception,
            place=spot(parts),
        )

    def send(self, parts: Parts) -> t.Send:
        return self._send(parts)

    send_who = send

    def send_unsuspecting(self, parts: Parts) -> t.Send:
        return self._send(parts, unsuspecting=True)

    def receive(self, parts: Parts) -> t.Receive:
        target, message, source = [part for part in nodes_of(parts) if not isinstance(part, Clause)]
        return t.Receive(target, message, source, clauses_of(parts).get("asynchronous"), place=spot(parts))

    def multicast(self, parts: Parts) -> t.Multicast:
        source, message, target = [part for part in nodes_of(parts) if not isinstance(part, Clause)]
        return t.Multicast(source, message, target, clauses_of(parts).get("asynchronous"), place=spot(parts))

    def reduce(self, parts: Parts) -> t.Reduce:
        source, values = nodes_of(parts)
        return t.Reduce(source, values, place=spot(parts))

    def reduce_values(self, parts: Parts) -> t.Reduce:
        source, values, to = nodes_of(parts)
        return t.Reduce(source, values, to, place=spot(parts))

    def reduce_tasks(self, parts: Parts) -> t.Reduce:
        source, values, target = nodes_of(parts)
        return t.Reduce(source, values, None, target, place=spot(parts))

    def reduce_who(self, parts: Parts) -> t.Reduce:
        source, values, target, result = nodes_of(parts)
        return t.Reduce(source, values, None, target, result, place=spot(parts))

    def await_(self, parts: Parts) -> t.Await:
        return t.Await(parts[0], place=spot(parts))

    def synchronize(self, parts: Parts) -> t.Synchronize:
        return t.Synchronize(parts[0], place=spot(parts))

    # what a task does for itself

    def _delay(self, parts: Parts, sleeps: bool) -> t.Delay:
        tasks, duration, unit = nodes_of(parts)
        return t.Delay(tasks, sleeps, duration, unit, place=spot(parts))

    def compute(self, parts: Parts) -> t.Delay:
        return self._delay(parts, sleeps=False)

    def sleep(self, parts: Parts) -> t.Delay:
        return self._delay(parts, sleeps=True)

    def touch_memory(self, parts: Parts) -> t.TouchMemory:
        return t.TouchMemory(parts[0], place=spot(parts), **self._region(parts))

    def _region(self, parts: Parts) -> dict[str, Any]:
        clauses = clauses_of(parts)
        if "size" in clauses:
            clauses["region"] = clauses.pop("size")
        return clauses

    def touched(self, parts: Parts) -> Clause:
        place = spot(parts)
        return Clause("amount", t.UnitAmount(parts[0], parts[1], place=place), place)

    def times(self, parts: Parts) -> Clause:
        return Clause("times", parts[0], spot(parts))

    def stride(self, parts: Parts) -> Clause:
        place = spot(parts)
        return Clause("stride", t.UnitAmount(parts[-2], parts[-1], place=place), place)

    def stride_random(self, parts: Parts) -> Clause:
        return Clause("random_stride", True, spot(parts))

    def touch_all(self, parts: Parts) -> t.TouchBuffers:
        return t.TouchBuffers(parts[0], place=spot(parts))

    def touch_current(self, parts: Parts) -> t.TouchBuffers:
        return t.TouchBuffers(parts[0], current=True, place=spot(parts))

    def touch_buffer(self, parts: Parts) -> t.TouchBuffers:
        return t.TouchBuffers(parts[0], parts[-1], place=spot(parts))

    def log(self, parts: Parts) -> t.Log:
        tasks, *columns = nodes_of(parts)
        return t.Log(tasks, tuple(columns), place=spot(parts))

    def aggregates(self, parts: Parts) -> t.ComputeAggregates:
        return t.ComputeAggregates(parts[0], place=spot(parts))

    def counters(self, parts: Parts) -> t.Counters:
        return t.Counters(parts[0], parts[1].type, place=spot(parts))

    def output(self, parts: Parts) -> t.Output:
        tasks, *items = nodes_of(parts)
        return t.Output(tasks, tuple(items), place=spot(parts))

    def execute(self, parts: Parts) -> t.BackendExecute:
        tasks, *items = nodes_of(parts)
        return t.BackendExecute(tasks, tuple(items), place=spot(parts))

    def assign(self, parts: Parts) -> t.Assign:
        return t.Assign(parts[0], parts[-1], place=spot(parts))

    def assign_random(self, parts: Parts) -> t.Assign:
        return t.Assign(parts[0], place=spot(parts))

    def assert_(self, parts: Parts) -> t.Assert:
        return t.Assert(str(parts[2]), parts[-1], place=spot(parts))

    # control

    def for_each(self, parts: Parts) -> t.ForEach:
        return t.ForEach(str(parts[2]), parts[4], parts[5], place=spot(parts))

    def for_count(self, parts: Parts) -> t.ForCount:
        clauses = clauses_of(parts)
        warmup, _, synchronized = clauses.get("warmup", (None, None, False))
        return t.ForCount(parts[1], parts[-1], warmup, synchronized, place=spot(parts))

    def for_time(self, parts: Parts) -> t.ForTime:
        clauses = clauses_of(parts)
        warmup, unit, synchronized = clauses.get("warmup", (None, None, False))
        return t.ForTime(parts[1], parts[2], parts[-1], warmup, unit, synchronized, place=spot(parts))

    def warmup(self, parts: Parts) -> Clause:
        synchronized = any(isinstance(part, Clause) for part in parts)
        return Clause("warmup", (parts[1], None, synchronized), spot(parts))

    def warmup_time(self, parts: Parts) -> Clause:
        synchronized = any(isinstance(part, Clause) for part in parts)
        return Clause("warmup", (parts[1], parts[3], synchronized), spot(parts))

    def synchronization(self, parts: Parts) -> Clause:
        return Clause("synchronized", True, spot(parts))

    def let(self, parts: Parts) -> t.Let:
        *bindings, body = nodes_of(parts)
        return t.Let(tuple(bindings), body, place=spot(parts))

    def if_(self, parts: Parts) -> t.If:
        return t.If(*nodes_of(parts), place=spot(parts))

    def block(self, parts: Parts) -> t.Block:
        inner = parts[1] if len(parts) == 3 else []
        return t.Block(tuple(inner), place=spot(parts))

    def let_value(self, parts: Parts) -> t.LetValue:
        return t.LetValue(str(parts[0]), parts[-1], place=spot(parts))

    def let_tasks(self, parts: Parts) -> t.LetTasks:
        return t.LetTasks(str(parts[0]), parts[-1], place=spot(parts))

    def _let_random(self, parts: Parts, form: str = "", **bounds: Any) -> t.LetRandom:
        but = clauses_of(parts).get("but")
        bounds = {"but": but, **bounds}
        return t.LetRandom(str(parts[0]), form, place=spot(parts), **bounds)

    def let_random(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts)

    def let_other(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "OTHER", but=parts[-1])

    def let_less(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "LESS", high=parts[7])

    def let_greater(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "GREATER", low=parts[7])

    def let_in(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "IN", low=parts[7], high=parts[9])

    def but(self, parts: Parts) -> Clause:
        return Clause("but", parts[-1], spot(parts))


# The rule's own name is a word of Python.
setattr(NodeBuilder, "async", NodeBuilder.async_)
