"""What a program means, as far as that can be judged without running it.

Errors of meaning are those that the language's first compiler finds in its front end. Errors of execution
are what it lets pass although no run could make sense of it: wrong numbers of arguments, asynchronous
multicasts. `docs/ncptl.md` lists where a program that it breaks on has a plain meaning here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from codegen.ncptl import tree as t
from codegen.ncptl.errors import Note, Place, ProgramError, Stage
from codegen.ncptl.names import bound, children, source_first
from codegen.ncptl.parse import parse
from codegen.ncptl.words import FUNCTIONS, PREDECLARED

__all__ = ["Report", "check", "examine"]

LANGUAGE_VERSION = "1.5"
REDUCED = ("INTEGERS", "DOUBLEWORDS")
_LONG = re.compile(r"--[-\w]+")
_SHORT = re.compile(r"-[a-z0-9]")


@dataclass
class Definition:
    """One place where a name is bound."""

    name: str
    place: Place
    used: bool = False


Scope = dict[str, Definition]
"""Variables by name; task groups by "GROUP name"."""


@dataclass(frozen=True)
class Context:
    """What an expression may use: names, and (None: yes) why nothing random, no counters."""

    scope: Scope
    steady: str | None = None
    pure: str | None = None
    my_task: bool = False


@dataclass
class Report:
    """What is wrong with a program, and what should be looked at; `program` is None when it has no form."""

    program: t.Program | None = None
    errors: list[ProgramError] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def accepts(self, stage: Stage) -> bool:
        """Say whether the program passed a stage and those before it."""
        upto = list(Stage)[: list(Stage).index(stage) + 1]
        return not any(error.stage in upto for error in self.errors)


def examine(text: str, path: str = "") -> Report:
    """Return all that can be said of a program's text."""
    report = Report()
    try:
        report.program = parse(text, path, report.notes)
    except ProgramError as error:
        report.errors.append(error)
        return report
    try:
        _Checker(report).program(report.program)
    except RecursionError:
        report.errors.append(ProgramError("the program is nested too deeply", Place(1, 1), Stage.SYNTAX))
    for each in report.errors:
        each.path = path
    report.errors.sort(key=lambda each: each.place)
    report.notes.sort(key=lambda note: note.place)
    return report


def check(text: str, path: str = "") -> t.Program:
    """Return the program that a text is. Raises the first ProgramError."""
    report = examine(text, path)
    if report.errors:
        raise report.errors[0]
    assert report.program is not None
    return report.program


class _Checker:
    """Goes through a program with the names that are known at each place."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.definitions: list[Definition] = []
        self.told_my_task = False

    def wrong(self, reason: str, place: Place, stage: Stage = Stage.MEANING) -> None:
        self.report.errors.append(ProgramError(reason, place, stage))

    def note(self, text: str, place: Place) -> None:
        self.report.notes.append(Note(text, place))

    def program(self, program: t.Program) -> None:
        scope: Scope = {}
        self._headers(program.headers, scope)
        for sentence in program.sentences:
            for statement in sentence.statements:
                self.statement(statement, scope)
        for definition in self.definitions:
            if not definition.used:
                self.note(f"{definition.name} is bound but never used", definition.place)

    # headers

    def _headers(self, headers: Iterable[t.Header], scope: Scope) -> None:
        seen: dict[str, Place] = {}
        for header in headers:
            if isinstance(header, t.Version) and header.text != LANGUAGE_VERSION:
                said = f"this is version {LANGUAGE_VERSION} of the language, not {header.text!r}"
                self.note(said, header.place)
            elif isinstance(header, t.Parameter):
                self._parameter(header, scope, seen)

    def _parameter(self, header: t.Parameter, scope: Scope, seen: dict[str, Place]) -> None:
        if not _LONG.fullmatch(header.long):
            said = 'expected two hyphens and then letters, digits, "-" or "_"'
            self.wrong(f"{header.long!r} is no long option; {said}", header.place)
        if not _SHORT.fullmatch(header.short):
            said = "expected a hyphen and one small letter or digit"
            self.wrong(f"{header.short!r} is no short option; {said}", header.place)
        for kind, name in (("variable", header.name), ("option", header.long), ("option", header.short)):
            if name in seen:
                self.wrong(f"the {kind} {name} is declared in line {seen[name].line} already", header.place)
            seen.setdefault(name, header.place)
        self.expr(header.default, Context({}, pure="the default of a parameter"))
        for used in _predeclared(header.default):
            if used.name == "num_tasks":
                self.wrong("num_tasks cannot be used in the default of a parameter", used.place)
        self.bind(scope, header.name, header.place)

    # names

    def bind(self, scope: Scope, name: str, place: Place, group: bool = False) -> None:
        if name in PREDECLARED and not group:
            self.wrong(f"{name} is predeclared and cannot be bound again; choose another name", place)
        definition = Definition(name, place)
        self.definitions.append(definition)
        scope[f"GROUP {name}" if group else name] = definition

    def _use(self, node: t.Variable, ctx: Context) -> None:
        if node.name in ctx.scope:
            ctx.scope[node.name].used = True
        elif node.name not in PREDECLARED:
            self.wrong(f"{node.name} is not bound here{self._why(node, ctx)}", node.place)
        elif ctx.pure and node.name != "num_tasks":
            self.wrong(f"{node.name} cannot be used in {ctx.pure}", node.place)

    def _why(self, node: t.Variable, ctx: Context) -> str:
        if re.fullmatch(r"o+", node.name):
            return " (the digit 0 may be meant)"
        if ctx.steady == "a message specification":
            return "; variables of the senders and receivers are not known in a message specification"
        return "; expected a parameter, or a variable of LET, FOR EACH or a task description"

    # expressions, relations, ranges: all alike

    def expr(self, node: t.Node | None, ctx: Context) -> None:
        if node is None:
            return
        if isinstance(node, t.Comprehension):
            self._comprehension(node, ctx)
            return
        if isinstance(node, t.Variable):
            self._use(node, ctx)
        elif isinstance(node, t.Call):
            self._call(node, ctx)
        elif isinstance(node, t.FileData) and not node.static and ctx.steady:
            said = "use STATIC_FILE_DATA, which is the same on all tasks"
            self.wrong(f"FILE_DATA cannot be used in {ctx.steady}; {said}", node.place)
        elif isinstance(node, t.MyTask):
            self._my_task(node, ctx)
        elif isinstance(node, t.Between):
            self.note("[a, b] is an old form; write {a, ..., b}", node.place)
        for child in children(node):
            self.expr(child, ctx)

    def _comprehension(self, node: t.Comprehension, ctx: Context) -> None:
        inner = replace(ctx, scope=dict(ctx.scope))
        for generator in node.generators:
            for each in generator.ranges:
                self.expr(each, inner)
            self.bind(inner.scope, generator.variable, generator.place)
        self.expr(node.condition, inner)
        self.expr(node.head, inner)

    def _call(self, node: t.Call, ctx: Context) -> None:
        if ctx.steady and node.function.startswith("RANDOM_"):
            said = "it would differ from task to task"
            self.wrong(f"{node.function} cannot be used in {ctx.steady}; {said}", node.place)
        least, most = FUNCTIONS[node.function]
        given = len(node.arguments)
        if given < least or (most is not None and given > most):
            wanted = f"{least}" if least == most else f"{least} to {most}" if most else f"{least} or more"
            said = f"{node.function} has {given} arguments; expected {wanted}"
            self.wrong(said, node.place, Stage.EXECUTION)

    def _my_task(self, node: t.MyTask, ctx: Context) -> None:
        if not ctx.my_task:
            self.wrong("MY TASK can only be used in the condition of IF", node.place)
        elif not self.told_my_task:
            self.told_my_task = True
            self.note("MY TASK sends tasks different ways; a task description says it better", node.place)

    # task descriptions

    def tasks(self, tasks: t.Tasks, role: str, scope: Scope) -> Scope:
        """Check a task description; the scope with what it binds."""
        self._role(tasks, role)
        ctx = Context(dict(scope), steady="a task description")
        if isinstance(tasks, t.TaskGroup):
            self._group(tasks, ctx.scope)
        elif isinstance(tasks, t.OneTask):
            self.expr(tasks.task, ctx)
        elif isinstance(tasks, t.TaskRanges):
            for each in tasks.ranges:
                self.expr(each, ctx)
        name = bound(tasks)
        if name is not None and not isinstance(tasks, t.TaskGroup):
            self.bind(ctx.scope, name, tasks.place)
        if isinstance(tasks, t.SuchThat):
            self.expr(tasks.condition, ctx)
        return ctx.scope

    def _role(self, tasks: t.Tasks, role: str) -> None:
        forms = "TASK expression, TASKS t SUCH THAT condition, TASKS {...} or TASK GROUP name"
        if role == "source" and isinstance(tasks, t.AllOthers):
            said = f"ALL OTHER TASKS has no task to leave out here; expected ALL TASKS, {forms}"
            self.wrong(said, tasks.place)
        if role == "target" and isinstance(tasks, t.AllTasks):
            self.wrong(f"ALL TASKS cannot be a target; expected ALL OTHER TASKS, {forms}", tasks.place)

    def _group(self, tasks: t.TaskGroup, scope: Scope) -> None:
        definition = scope.get(f"GROUP {tasks.name}")
        if definition is None:
            self.wrong(f"there is no task group {tasks.name}; expected one bound by LET", tasks.place)
            return
        definition.used = True
        scope[tasks.name] = Definition(tasks.name, tasks.place, used=True)

    # messages

    def _spec(self, node: Any, scope: Scope) -> None:
        """Check the expressions in a message specification, of whatever kind."""
        self.expr(node, Context(scope, steady="a message specification"))

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
            said = "a multicast cannot be asynchronous; leave ASYNCHRONOUSLY out, or use SEND"
            self.wrong(said, node.place, Stage.EXECUTION)
        self.tasks(node.target, "target", self.tasks(node.source, "source", scope))

    def _reduce(self, node: t.Reduce, scope: Scope) -> None:
        inner = self.tasks(node.source, "source", scope)
        others = [node.to] if node.to else []
        if node.result is not None and node.result.values is not None:
            others.append(node.result.values)
        for values in (node.values, *others):
            self._values(values, scope)
        for values in others:
            self._same(node.values, values)
        if node.result is not None:
            self._spec(node.result, scope)
            self._no_verification(node.result.touching)
            form = node.result.values or node.values
            self._form(form.unique, form.alignment, node.result.buffer)
        if node.target is not None and not isinstance(node.target, t.AllTasks):
            self.tasks(node.target, "source", inner)
        elif node.target is not None:
            self.tasks(node.target, "source", scope)

    def _values(self, values: t.Values, scope: Scope) -> None:
        if values.unit not in REDUCED:
            said = f"{values.unit} cannot be reduced; expected {' or '.join(REDUCED)}"
            self.wrong(said, values.place)
        self._spec(values, scope)
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

    # statements

    def statement(self, node: t.Statement, scope: Scope) -> None:
        if _is_empty(node):
            return
        special: dict[type, Callable[[Any, Scope], None]] = {
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

    def _local(self, node: Any, scope: Scope) -> None:
        inner = self.tasks(node.tasks, "source", scope)
        for child in children(node):
            if child is not node.tasks:
                self.expr(child, Context(inner))

    def _assert(self, node: t.Assert, scope: Scope) -> None:
        self.expr(node.condition, Context(scope))

    def _for_each(self, node: t.ForEach, scope: Scope) -> None:
        for each in node.ranges:
            self.expr(each, Context(scope))
        inner = dict(scope)
        self.bind(inner, node.variable, node.place)
        self.statement(node.body, inner)

    def _loop(self, node: t.ForCount | t.ForTime, scope: Scope) -> None:
        self.expr(node.count if isinstance(node, t.ForCount) else node.duration, Context(scope))
        self.expr(node.warmup, Context(scope))
        self.statement(node.body, scope)

    def _let(self, node: t.Let, scope: Scope) -> None:
        inner = dict(scope)
        for binding in node.bindings:
            if isinstance(binding, t.LetTasks):
                self._let_tasks(binding, inner)
                continue
            ctx = Context(dict(inner), "a LET binding", "a LET binding")
            for child in children(binding):
                self.expr(child, ctx)
            self.bind(inner, binding.name, binding.place)
        self.statement(node.body, inner)

    def _let_tasks(self, binding: t.LetTasks, scope: Scope) -> None:
        for name in _predeclared(binding.tasks):
            if name.name != "num_tasks":
                self.wrong(f"{name.name} cannot be used in a LET binding", name.place)
        self.tasks(binding.tasks, "source", scope)
        self.bind(scope, binding.name, binding.place, group=True)

    def _if(self, node: t.If, scope: Scope) -> None:
        self.expr(node.condition, Context(scope, steady="the condition of IF", my_task=True))
        self.statement(node.then, scope)
        if node.otherwise is not None:
            self.statement(node.otherwise, scope)

    def _block(self, node: t.Block, scope: Scope) -> None:
        for statement in node.statements:
            self.statement(statement, scope)


def _verified(touching: t.Touching | None) -> bool:
    return touching is not None and touching.wanted and touching.verification


def _predeclared(node: t.Node) -> list[t.Variable]:
    """The predeclared variables used in a node."""
    own = [node] if isinstance(node, t.Variable) and node.name in PREDECLARED else []
    return own + [found for child in children(node) for found in _predeclared(child)]


def _alike(one: t.Node, other: t.Node) -> bool:
    """Whether two counts may be equal: numbers must be, names are left to the run."""
    if type(one) is not type(other) or (isinstance(one, t.Integer) and one != other):
        return False
    pairs = list(children(one)), list(children(other))
    return len(pairs[0]) == len(pairs[1]) and all(map(_alike, *pairs))


def _is_empty(node: t.Statement) -> bool:
    """Whether a statement does nothing, whatever it says; such a one is not looked at."""
    if isinstance(node, t.Block):
        return all(map(_is_empty, node.statements))
    if isinstance(node, t.If):
        return _is_empty(node.then) and (node.otherwise is None or _is_empty(node.otherwise))
    if isinstance(node, (t.ForEach, t.Let)):
        return _is_empty(node.body)
    return isinstance(node, t.ForCount) and not node.synchronized and _is_empty(node.body)
