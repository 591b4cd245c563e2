"""What names mean at each place of a program, and what expressions and task descriptions may use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import CompileStage, Note, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.names import bound, children
from scalatrace.codegen.conceptual.spelling import find_spelling, meant
from scalatrace.codegen.conceptual.words import FUNCTIONS, PREDECLARED

__all__ = ["Definitions", "NameContext", "NameReport", "NamesChecker"]


@dataclass
class Definition:
    """One place where a name is bound."""

    name: str
    place: SourcePlace
    used: bool = False


GROUP = "GROUP "
Definitions = dict[str, Definition]
"""Variables by name; task groups by "GROUP name"."""


@dataclass(frozen=True)
class NameContext:
    """What an expression may use: names, and (None: yes) why nothing random, no counters.

    `refused` are names that only the language's first front end accepts.
    """

    scope: Definitions
    steady: str | None = None
    pure: str | None = None
    my_task: bool = False
    refused: Definitions = field(default_factory=dict)


@dataclass
class NameReport:
    """What is wrong with a program, and what should be looked at; `program` is None when it has no form."""

    program: t.ProgramTree | None = None
    errors: list[ProgramError] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def accepts(self, stage: CompileStage) -> bool:
        """Say whether the program passed a stage and those before it."""
        upto = list(CompileStage)[: list(CompileStage).index(stage) + 1]
        return not any(error.stage in upto for error in self.errors)


class NamesChecker:
    """Goes through a program with the names that are known at each place."""

    def __init__(self, report: NameReport) -> None:
        self.report = report
        self.definitions: list[Definition] = []
        self.noted_my_task = False

    def wrong(self, reason: str, place: SourcePlace, stage: CompileStage = CompileStage.MEANING) -> None:
        self.report.errors.append(ProgramError(reason, place, stage))

    def note(self, text: str, place: SourcePlace) -> None:
        self.report.notes.append(Note(text, place))

    def typed(self, name: str, place: SourcePlace) -> str:
        """Return a name as the program spells it."""
        return find_spelling(name, self.report.program.text if self.report.program else "", place)

    # names

    def bind(self, scope: Definitions, name: str, place: SourcePlace, group: bool = False) -> None:
        if name in PREDECLARED and not group:
            self.wrong(f"{name} is predeclared and cannot be bound again; choose another name", place)
        definition = Definition(name, place)
        self.definitions.append(definition)
        scope[f"{GROUP}{name}" if group else name] = definition

    def _use(self, node: t.Variable, ctx: NameContext) -> None:
        if node.name in ctx.scope:
            ctx.scope[node.name].used = True
        elif node.name not in PREDECLARED:
            stage = CompileStage.MEANING
            if node.name in ctx.refused:
                ctx.refused[node.name].used, stage = True, CompileStage.EXECUTION
            name = self.typed(node.name, node.place)
            self.wrong(f"{name} is not bound here{self._why(node, ctx)}", node.place, stage)
        elif ctx.pure and node.name != "num_tasks":
            self.wrong(f"{node.name} cannot be used in {ctx.pure}", node.place)

    def _why(self, node: t.Variable, ctx: NameContext) -> str:
        if re.fullmatch(r"o+", node.name):
            return " (the digit 0 may be meant)"
        variables = [name for name in ctx.scope if not name.startswith(GROUP)]
        if asked := meant(node.name, [self.typed(name, ctx.scope[name].place) for name in variables]):
            return asked
        if asked := meant(node.name, PREDECLARED):
            return asked
        if ctx.steady == "a message specification":
            return "; variables of the senders and receivers are not known in a message specification"
        return "; expected a parameter, or a variable of LET, FOR EACH or a task description"

    # expressions, relations, ranges: all alike

    def expr(self, node: t.SyntaxNode | None, ctx: NameContext) -> None:
        if node is None or type(node) is t.Integer:
            return
        if isinstance(node, t.Comprehension):
            self._comprehension(node, ctx)
            return
        if isinstance(node, t.Variable):
            self._use(node, ctx)
            return
        if isinstance(node, t.FunctionCall):
            self._call(node, ctx)
        elif isinstance(node, t.FileData) and not node.static and ctx.steady:
            reason = "use STATIC_FILE_DATA, which is the same on all tasks"
            self.wrong(f"FILE_DATA cannot be used in {ctx.steady}; {reason}", node.place)
        elif isinstance(node, t.MyTask):
            self._my_task(node, ctx)
        elif isinstance(node, t.Between):
            self.note("[a, b] is an old form; write {a, ..., b}", node.place)
        for child in children(node):
            self.expr(child, ctx)

    def _comprehension(self, node: t.Comprehension, ctx: NameContext) -> None:
        inner = replace(ctx, scope=dict(ctx.scope))
        for generator in node.generators:
            for range_node in generator.ranges:
                self.expr(range_node, inner)
            self.bind(inner.scope, generator.variable, generator.place)
        self.expr(node.condition, inner)
        self.expr(node.head, inner)

    def _call(self, node: t.FunctionCall, ctx: NameContext) -> None:
        if ctx.steady and node.function.startswith("RANDOM_"):
            reason = "it would differ from task to task"
            self.wrong(f"{node.function} cannot be used in {ctx.steady}; {reason}", node.place)
        least, most = FUNCTIONS[node.function]
        nargs = len(node.arguments)
        if nargs < least or (most is not None and nargs > most):
            wanted = f"{least}" if least == most else f"{least} to {most}" if most else f"{least} or more"
            reason = f"{node.function} has {nargs} arguments; expected {wanted}"
            self.wrong(reason, node.place, CompileStage.EXECUTION)

    def _my_task(self, node: t.MyTask, ctx: NameContext) -> None:
        if not ctx.my_task:
            self.wrong("MY TASK can only be used in the condition of IF", node.place)
        elif not self.noted_my_task:
            self.noted_my_task = True
            self.note("MY TASK sends tasks different ways; a task description says it better", node.place)

    # task descriptions

    def tasks(self, tasks: t.Tasks, role: str, scope: Definitions) -> Definitions:
        """Check a task description; the scope with what it binds."""
        self._role(tasks, role)
        ctx = NameContext(dict(scope), steady="a task description")
        if isinstance(tasks, t.TaskGroup):
            self._group(tasks, ctx.scope)
        elif isinstance(tasks, t.OneTask):
            self.expr(tasks.task, ctx)
        elif isinstance(tasks, t.TaskRanges):
            for range_node in tasks.ranges:
                self.expr(range_node, ctx)
        name = bound(tasks)
        if name is not None and not isinstance(tasks, t.TaskGroup):
            self.bind(ctx.scope, name, tasks.place)
        if isinstance(tasks, t.SuchThat):
            self.expr(tasks.condition, ctx)
        return ctx.scope

    def _role(self, tasks: t.Tasks, role: str) -> None:
        forms = "TASK expression, TASKS t SUCH THAT condition, TASKS {...} or TASK GROUP name"
        if role == "source" and isinstance(tasks, t.AllOthers):
            reason = f"ALL OTHER TASKS has no task to leave out here; expected ALL TASKS, {forms}"
            self.wrong(reason, tasks.place)
        if role == "target" and isinstance(tasks, t.AllTasks):
            self.wrong(f"ALL TASKS cannot be a target; expected ALL OTHER TASKS, {forms}", tasks.place)

    def _group(self, tasks: t.TaskGroup, scope: Definitions) -> None:
        definition = scope.get(f"{GROUP}{tasks.name}")
        if definition is None:
            bound_groups = {
                name.removeprefix(GROUP): d for name, d in scope.items() if name.startswith(GROUP)
            }
            groups = [self.typed(name, binding.place) for name, binding in bound_groups.items()]
            asked = meant(tasks.name, groups) or "; expected one bound by LET"
            self.wrong(f"there is no task group {self.typed(tasks.name, tasks.place)}{asked}", tasks.place)
            return
        definition.used = True
        scope[tasks.name] = Definition(tasks.name, tasks.place, used=True)
