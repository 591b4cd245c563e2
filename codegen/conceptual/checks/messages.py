"""Whether messages, and who sends and receives them, make sense."""

from __future__ import annotations

from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.checks.names import Context, NamesChecker, Scope
from scalatrace.codegen.conceptual.errors import CompileStage
from scalatrace.codegen.conceptual.names import bound, children, source_first

__all__ = ["MessagesChecker"]

REDUCED = ("INTEGERS", "DOUBLEWORDS")


class MessagesChecker(NamesChecker):
    """Statements that communicate, too."""

    # messages

    def _spec(self, node: Any, scope: Scope, refused: Scope | None = None) -> None:
        """Check the expressions in a message specification, of whatever kind."""
        self.expr(node, Context(scope, steady="a message specification", refused=refused or {}))

    def _form(self, unique: Any, alignment: Any, buffer: t.Buffer | None) -> None:
        if buffer is None:
            return
        if unique and buffer.number is not None:
            self.wrong("a UNIQUE message has a buffer of its own and cannot be in BUFFER", buffer.place)
        if alignment is not None and buffer.offset is not None:
            self.wrong("an aligned message cannot start at an offset in a buffer too", buffer.place)

    def _send(self, node: t.Send, scope: Scope) -> None:
        message, reception = node.message, node.reception or t.Reception()
        self._spec(message, scope)
        self._spec(reception, scope)
        self._form(message.unique, message.alignment, message.buffer)
        if node.reception:
            unique = message.unique if reception.unique is None else reception.unique
            self._form(unique, reception.alignment or message.alignment, reception.buffer or message.buffer)
        sent, received = _verified(message.touching), _verified(reception.touching or message.touching)
        if sent != received:
            side = ("sent", "received") if sent else ("received", "sent")
            self.wrong(f"a message {side[0]} WITH VERIFICATION must be {side[1]} so too", node.place)
        self.tasks(node.target, "target", self.tasks(node.source, "source", scope))

    def _receive(self, node: t.Receive, scope: Scope) -> None:
        self._spec(node.message, scope)
        self._form(node.message.unique, node.message.alignment, node.message.buffer)
        pair = (bound(node.target), bound(node.source))
        if None not in pair:
            for name in pair:
                if pair[0] == pair[1] or name in scope:
                    self.wrong(f"{name} could mean two things here; choose another name", node.target.place)
                    return
        if source_first(node, scope):
            self.tasks(node.target, "target", self.tasks(node.source, "source", scope))
        else:
            self.tasks(node.source, "source", self.tasks(node.target, "target", scope))

    def _multicast(self, node: t.Multicast, scope: Scope) -> None:
        self._spec(node.message, scope)
        self._form(node.message.unique, node.message.alignment, node.message.buffer)
        if node.asynchronous:
            reason = "a multicast cannot be asynchronous; leave ASYNCHRONOUSLY out, or use SEND"
            self.wrong(reason, node.place, CompileStage.EXECUTION)
        self.tasks(node.target, "target", self.tasks(node.source, "source", scope))

    def _reduce(self, node: t.Reduce, scope: Scope) -> None:
        inner = self.tasks(node.source, "source", scope)
        if node.target is not None:
            outer = scope if isinstance(node.target, t.AllTasks) else inner
            inner = inner | self.tasks(node.target, "source", outer)
        # The first front end knows the variables of the tasks in all of the statement; its back end does not.
        refused = {
            name: definition for name, definition in inner.items() if scope.get(name) is not definition
        }
        others = [node.to] if node.to else []
        if node.result is not None and node.result.values is not None:
            others.append(node.result.values)
        for values in (node.values, *others):
            self._values(values, scope, refused)
        for values in others:
            self._same(node.values, values)
        if node.result is not None:
            self._spec(node.result, scope, refused)
            self._no_verification(node.result.touching)
            form = node.result.values or node.values
            self._form(form.unique, form.alignment, node.result.buffer)

    def _values(self, values: t.Values, scope: Scope, refused: Scope) -> None:
        if values.unit not in REDUCED:
            reason = f"{values.unit} cannot be reduced; expected {' or '.join(REDUCED)}"
            self.wrong(reason, values.place)
        self._spec(values, scope, refused)
        self._form(values.unique, values.alignment, values.buffer)
        self._no_verification(values.touching)

    def _no_verification(self, touching: t.Touching | None) -> None:
        if touching is not None and _verified(touching):
            self.wrong("a reduction cannot be WITH VERIFICATION", touching.place)

    def _same(self, values: t.Values, result: t.Values) -> None:
        if values.unit != result.unit:
            self.wrong(f"{values.unit} cannot be reduced to {result.unit}", result.place)
        elif not _alike(values.count or t.Integer(1), result.count or t.Integer(1)):
            self.wrong("a reduction gives as many values as it takes; the two counts differ", result.place)


def _verified(touching: t.Touching | None) -> bool:
    return touching is not None and touching.wanted and touching.verification


def _alike(one: t.Node, other: t.Node) -> bool:
    """Whether two counts may be equal: numbers must be, names are left to the run."""
    if type(one) is not type(other) or (isinstance(one, t.Integer) and one != other):
        return False
    pairs = list(children(one)), list(children(other))
    return len(pairs[0]) == len(pairs[1]) and all(map(_alike, *pairs))
