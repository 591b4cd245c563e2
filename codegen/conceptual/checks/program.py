"""Check the meaning of a program, and who sends its messages to whom, without running it.

Errors of meaning are those that the language's first compiler finds in its front end. Errors of execution
are what it lets pass although no run could make sense of it: wrong numbers of arguments, asynchronous
multicasts. `docs/guide/ncptl.md` lists where a program that it breaks on has a plain meaning here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.checks.names import Definitions, NameContext, NameReport, NamesChecker
from scalatrace.codegen.conceptual.errors import CompileStage, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.names import bound, children, source_first
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.words import PREDECLARED
from scalatrace.garbage import without_collection

__all__ = ["NameReport", "check", "examine"]

_REDUCED = ("INTEGERS", "DOUBLEWORDS")


class MessagesChecker(NamesChecker):
    """Statements that communicate, too."""

    # messages

    def _spec(self, node: Any, scope: Definitions, refused: Definitions | None = None) -> None:
        """Check the expressions in a message specification, of whatever kind."""
        self.expr(node, NameContext(scope, steady="a message specification", refused=refused or {}))

    def _form(self, unique: Any, alignment: Any, buffer: t.MessageBuffer | None) -> None:
        if buffer is None:
            return
        if unique and buffer.number is not None:
            self.wrong("a UNIQUE message has a buffer of its own and cannot be in BUFFER", buffer.place)
        if alignment is not None and buffer.offset is not None:
            self.wrong("an aligned message cannot start at an offset in a buffer too", buffer.place)

    def _send(self, node: t.Send, scope: Definitions) -> None:
        message, reception = node.message, node.reception or t.Reception()
        self._spec(message, scope)
        self._spec(reception, scope)
        self._form(message.unique, message.alignment, message.buffer)
        if node.reception:
            unique = message.unique if reception.unique is None else reception.unique
            self._form(unique, reception.alignment or message.alignment, reception.buffer or message.buffer)
        sent, received = _verify(message.touching), _verify(reception.touching or message.touching)
        if sent != received:
            side = ("sent", "received") if sent else ("received", "sent")
            self.wrong(f"a message {side[0]} WITH VERIFICATION must be {side[1]} so too", node.place)
        self.tasks(node.target, "target", self.tasks(node.source, "source", scope))

    def _receive(self, node: t.Receive, scope: Definitions) -> None:
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

    def _multicast(self, node: t.Multicast, scope: Definitions) -> None:
        self._spec(node.message, scope)
        self._form(node.message.unique, node.message.alignment, node.message.buffer)
        if node.asynchronous:
            reason = "a multicast cannot be asynchronous; leave ASYNCHRONOUSLY out, or use SEND"
            self.wrong(reason, node.place, CompileStage.EXECUTION)
        self.tasks(node.target, "target", self.tasks(node.source, "source", scope))

    def _reduce(self, node: t.Reduce, scope: Definitions) -> None:
        inner = self.tasks(node.source, "source", scope)
        if node.target is not None:
            outer = scope if isinstance(node.target, t.AllTasks) else inner
            inner = inner | self.tasks(node.target, "source", outer)
        # The first front end knows the variables of the tasks in all of the statement; its back end does not.
        refused = {
            name: definition for name, definition in inner.items() if scope.get(name) is not definition
        }
        targets = [node.to] if node.to else []
        if node.result is not None and node.result.values is not None:
            targets.append(node.result.values)
        for values in (node.values, *targets):
            self._values(values, scope, refused)
        for values in targets:
            self._same(node.values, values)
        if node.result is not None:
            self._spec(node.result, scope, refused)
            self._no_verification(node.result.touching)
            form = node.result.values or node.values
            self._form(form.unique, form.alignment, node.result.buffer)

    def _values(self, values: t.ReductionValues, scope: Definitions, refused: Definitions) -> None:
        if values.unit not in _REDUCED:
            reason = f"{values.unit} cannot be reduced; expected {' or '.join(_REDUCED)}"
            self.wrong(reason, values.place)
        self._spec(values, scope, refused)
        self._form(values.unique, values.alignment, values.buffer)
        self._no_verification(values.touching)

    def _no_verification(self, touching: t.Touching | None) -> None:
        if touching is not None and _verify(touching):
            self.wrong("a reduction cannot be WITH VERIFICATION", touching.place)

    def _same(self, values: t.ReductionValues, result: t.ReductionValues) -> None:
        if values.unit != result.unit:
            self.wrong(f"{values.unit} cannot be reduced to {result.unit}", result.place)
        elif not _alike(values.count or t.Integer(1), result.count or t.Integer(1)):
            self.wrong("a reduction gives as many values as it takes; the two counts differ", result.place)


def _verify(touching: t.Touching | None) -> bool:
    return touching is not None and touching.wanted and touching.verification


def _alike(left: t.SyntaxNode, right: t.SyntaxNode) -> bool:
    """Whether two counts may be equal: numbers must be, names are left to the run."""
    if type(left) is not type(right) or (isinstance(left, t.Integer) and left != right):
        return False
    pairs = list(children(left)), list(children(right))
    return len(pairs[0]) == len(pairs[1]) and all(map(_alike, *pairs))


LANGUAGE_VERSION = "1.5"
_LONG = re.compile(r"--[-\w]+")
_SHORT = re.compile(r"-[a-z0-9]")


def examine(text: str, path: str = "") -> NameReport:
    """Return all that can be said of a program's text."""
    with without_collection():
        return _examine(text, path)


def _examine(text: str, path: str) -> NameReport:
    report = NameReport()
    try:
        report.program = parse(text, path, report.notes)
    except ProgramError as error:
        report.errors.append(error)
        return report
    try:
        _Checker(report).program(report.program)
    except RecursionError:
        report.errors.append(
            ProgramError("the program is nested too deeply", SourcePlace(1, 1), CompileStage.SYNTAX)
        )
    for program_error in report.errors:
        program_error.path = path
    report.errors.sort(key=lambda program_error: program_error.place)
    report.notes.sort(key=lambda note: note.place)
    return report


def check(text: str, path: str = "") -> t.ProgramTree:
    """Return the program that a text is. Raises the first ProgramError."""
    report = examine(text, path)
    if report.errors:
        raise report.errors[0]
    assert report.program is not None
    return report.program


class _Checker(MessagesChecker):
    """Goes through a program with the names that are known at each place."""

    def program(self, program: t.ProgramTree) -> None:
        scope: Definitions = {}
        self._headers(program.headers, scope)
        for sentence in program.sentences:
            for statement in sentence.statements:
                self.statement(statement, scope)
        for definition in self.definitions:
            if not definition.used:
                name = self.typed(definition.name, definition.place)
                self.note(f"{name} is bound but never used", definition.place)

    # headers

    def _headers(self, headers: Iterable[t.Header], scope: Definitions) -> None:
        seen: dict[str, SourcePlace] = {}
        for header in headers:
            if isinstance(header, t.Version) and header.text != LANGUAGE_VERSION:
                reason = f"this is version {LANGUAGE_VERSION} of the language, not {header.text!r}"
                self.note(reason, header.place)
            elif isinstance(header, t.ProgramParameter):
                self._parameter(header, scope, seen)

    def _parameter(
        self, header: t.ProgramParameter, scope: Definitions, seen: dict[str, SourcePlace]
    ) -> None:
        if not _LONG.fullmatch(header.long):
            reason = 'expected two hyphens and then letters, digits, "-" or "_"'
            self.wrong(f"{header.long!r} is no long option; {reason}", header.place)
        if not _SHORT.fullmatch(header.short):
            reason = "expected a hyphen and one small letter or digit"
            self.wrong(f"{header.short!r} is no short option; {reason}", header.place)
        for kind, name in (("variable", header.name), ("option", header.long), ("option", header.short)):
            if name in seen:
                self.wrong(f"the {kind} {name} is declared in line {seen[name].line} already", header.place)
            seen.setdefault(name, header.place)
        self.expr(header.default, NameContext({}, pure="the default of a parameter"))
        for used in _list_predeclared(header.default):
            if used.name == "num_tasks":
                self.wrong("num_tasks cannot be used in the default of a parameter", used.place)
        self.bind(scope, header.name, header.place)

    # statements

    def statement(self, node: t.Statement, scope: Definitions) -> None:
        if _is_empty(node):
            return
        special: dict[type, Callable[[Any, Definitions], None]] = {
            t.Send: self._send,
            t.Receive: self._receive,
            t.Multicast: self._multicast,
            t.Reduce: self._reduce,
            t.Assert: self._assert,
            t.ForEach: self._for_each,
            t.ForCount: self._loop,
            t.ForTime: self._loop,
            t.Let: self._let,
            t.If: self._if,
            t.Block: self._block,
        }
        special.get(type(node), self._local)(node, scope)

    def _local(self, node: Any, scope: Definitions) -> None:
        inner = self.tasks(node.tasks, "source", scope)
        for child in children(node):
            if child is not node.tasks:
                self.expr(child, NameContext(inner))

    def _assert(self, node: t.Assert, scope: Definitions) -> None:
        self.expr(node.condition, NameContext(scope))

    def _for_each(self, node: t.ForEach, scope: Definitions) -> None:
        for range_node in node.ranges:
            self.expr(range_node, NameContext(scope))
        inner = dict(scope)
        self.bind(inner, node.variable, node.place)
        self.statement(node.body, inner)

    def _loop(self, node: t.ForCount | t.ForTime, scope: Definitions) -> None:
        self.expr(node.count if isinstance(node, t.ForCount) else node.duration, NameContext(scope))
        self.expr(node.warmup, NameContext(scope))
        self.statement(node.body, scope)

    def _let(self, node: t.Let, scope: Definitions) -> None:
        inner = dict(scope)
        for binding in node.bindings:
            if isinstance(binding, t.LetTasks):
                self._let_tasks(binding, inner)
                continue
            ctx = NameContext(dict(inner), "a LET binding", "a LET binding")
            for child in children(binding):
                self.expr(child, ctx)
            self.bind(inner, binding.name, binding.place)
        self.statement(node.body, inner)

    def _let_tasks(self, binding: t.LetTasks, scope: Definitions) -> None:
        for name in _list_predeclared(binding.tasks):
            if name.name != "num_tasks":
                self.wrong(f"{name.name} cannot be used in a LET binding", name.place)
        self.tasks(binding.tasks, "source", scope)
        self.bind(scope, binding.name, binding.place, group=True)

    def _if(self, node: t.If, scope: Definitions) -> None:
        self.expr(node.condition, NameContext(scope, steady="the condition of IF", my_task=True))
        self.statement(node.then, scope)
        if node.otherwise is not None:
            self.statement(node.otherwise, scope)

    def _block(self, node: t.Block, scope: Definitions) -> None:
        for statement in node.statements:
            self.statement(statement, scope)


def _list_predeclared(node: t.SyntaxNode) -> list[t.Variable]:
    """The predeclared variables used in a node."""
    variables = [node] if isinstance(node, t.Variable) and node.name in PREDECLARED else []
    return variables + [variable for child in children(node) for variable in _list_predeclared(child)]


def _is_empty(node: t.Statement) -> bool:
    """Whether a statement does nothing, whatever it says; such a one is not looked at."""
    if isinstance(node, t.Block):
        return all(map(_is_empty, node.statements))
    if isinstance(node, t.If):
        return _is_empty(node.then) and (node.otherwise is None or _is_empty(node.otherwise))
    if isinstance(node, (t.ForEach, t.Let)):
        return _is_empty(node.body)
    return isinstance(node, t.ForCount) and not node.synchronized and _is_empty(node.body)
