"""Write C functions for what a task does by itself, which its events point to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.text import (
    Functions,
    TextScope,
    c_place,
    c_string,
    condition,
    integer,
    ranges,
    real,
)
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering.collecting import UNIT_BYTES, string_tag
from scalatrace.codegen.conceptual.names import bound, children
from scalatrace.codegen.conceptual.tree.together import memory_of
from scalatrace.codegen.conceptual.words import TIME_UNITS

__all__ = ["LocalStatements"]


class CompilerWriting:
    """Lines, and functions beside them."""

    def __init__(self, program: t.ProgramTree, path: str) -> None:
        self.program, self.path = program, path
        self.functions = Functions()
        self.lines: list[str] = []
        self.depth = 1
        self.made = 0
        self.loggers: list[str] = []

    # writing

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        self.line(f"{head} {{".strip())
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def fresh(self, name: str) -> str:
        """Return a name that nothing else has."""
        self.made += 1
        return f"{name}_{self.made}"

    def number(self, kind: str, text: str) -> str:
        """Declare a number; its name."""
        name = self.fresh(kind)
        self.line(f"const num {name} = {text};")
        return name

    # task descriptions

    @contextmanager
    def each(
        self, tasks: t.Tasks, scope: TextScope, but: str | None = None
    ) -> Iterator[tuple[str, TextScope]]:
        """Write a loop over the tasks described; inside, the task's C name and what it knows."""
        name = bound(tasks)
        task = self.fresh(f"t_{name}" if name else "t")
        inner = scope.bind(name, task)
        everyone = f"for (num {task} = 0; {task} < nc.tasks; {task}++)"
        match tasks:
            case t.OneTask(expr):
                with self.block():
                    self.line(f"const num {task} = {integer(expr, scope)};")
                    with self.block(f"if ({task} >= 0 && {task} < nc.tasks)"):
                        yield task, inner
                return
            case t.TaskRanges(nodes):
                function, variables = ranges(nodes, scope)
                test = f"nc_within({task}, {function}, {variables})"
            case t.SuchThat(_, rel):
                test = condition(rel, inner)
            case t.AllOthers():
                test = f"{task} != {but}" if but else "1"
            case t.TaskGroup(group):
                test = f"{scope.names[f'GROUP {group}']}[{task}]"
            case _:
                test = ""
        with self.block(everyone):
            if test:
                with self.block(f"if ({test})"):
                    yield task, inner
            else:
                yield task, inner

    def pairs(self, source: t.Tasks, target: t.Tasks | None, scope: TextScope, turned: bool = False) -> str:
        """Collect who sends to whom; `turned`: the first ones receive. The C name of the pairs."""
        pairs = self.fresh("pairs")
        self.line(f"struct pairs {pairs} = {{0}};")
        with self.each(source, scope) as (a, inner):
            self.line(f"nc_source(&{pairs}, {a});")
            if target is not None:
                with self.each(target, inner, but=a) as (b, _):
                    first, second = (b, a) if turned else (a, b)
                    self.line(f"nc_pair(&{pairs}, {first}, {second});")
        return pairs

    # messages

    def size(self, measure: t.UnitAmount | None, scope: TextScope, negative: bool = False) -> str:
        return self._measured("nc_size", measure, scope, str(int(negative)))

    def _measured(
        self, function: str, measure: t.UnitAmount | None, scope: TextScope, *arguments: str
    ) -> str:
        if measure is None:
            return "0"
        amount = "1" if measure.amount is None else integer(measure.amount, scope)
        unit = "0" if measure.unit == "BITS" else self._unit(measure.unit)
        return f"{function}({', '.join((c_place(measure.place), amount, unit, *arguments))})"

    def _unit(self, unit: str) -> str:
        return "sysconf(_SC_PAGESIZE)" if unit == "PAGES" else str(UNIT_BYTES[unit])

    def count(self, count: t.Expr | None, scope: TextScope) -> str:
        return "1" if count is None else f"nc_count({integer(count, scope)})"

    def tag(self, tag: t.Expr | str | None, scope: TextScope) -> str:
        if tag is None or isinstance(tag, str):
            return "0" if tag is None else str(string_tag(tag))
        return f"nc_tag({c_place(tag.place)}, {integer(tag, scope)})"

    def memory(self, node: Any, scope: TextScope, under: Any = None) -> str:
        alignment, touching, buffer, unique = memory_of(node, under)
        parts = []
        if buffer is not None and buffer.number is not None:
            parts += [".has_buffer = 1", f".buffer = {integer(buffer.number, scope)}"]
        if buffer is not None and buffer.offset is not None:
            parts.append(f".offset = {self.size(buffer.offset, scope)}")
        if unique:
            parts.append(".unique = 1")
        if alignment is not None and alignment.measure is not None:
            parts.append(f".alignment = {self.size(alignment.measure, scope, negative=True)}")
            parts.append(f".misaligned = {int(alignment.kind == 'MISALIGNED')}")
        if touching is not None and touching.wanted:
            parts.append(".verified = 1" if touching.verification else ".touched = 1")
        return f"{{{', '.join(parts) or '0'}}}"

    def spec(
        self, node: Any, scope: TextScope, asynchronous: bool | None, tag: str, size: str, under: Any = None
    ) -> str:
        memory = self.memory(node, scope, under)
        flag = int(bool(asynchronous))
        return f"(struct spec){{.size = {size}, .tag = {tag}, .async = {flag}, .memory = {memory}}}"


FORMS = {"": "ALL", "EACH": "ALL", "THE": "ONLY", "OF": "COLLAPSED", "HISTOGRAM": "HISTOGRAM"}
FUNCTIONS = {
    "MEDIAN ABSOLUTE DEVIATION": "SPREAD",
    "STANDARD DEVIATION": "DEVIATION",
    "HARMONIC MEAN": "HARMONIC_MEAN",
    "GEOMETRIC MEAN": "GEOMETRIC_MEAN",
}
MAX_COLUMN_FUNCTIONS = 32


class LocalStatements(CompilerWriting):
    """Statements that do not communicate."""

    def _local(self, node: Any, scope: TextScope) -> None:
        with self.each(node.tasks, scope) as (task, inner):
            parts = [child for child in _parts(node) if isinstance(child, t.SyntaxNode)]
            variables, inner_scope = inner.captured(parts)
            act = self._act(node, TextScope(inner_scope.names, inner_scope.functions, running=True))
            count = variables.count(",") + 1
            self.line(f"nc_local({c_place(node.place)}, {task}, {act}, {count}, {variables});")
            change = {"STORES": 1, "RESTORES": -1}.get(getattr(node, "action", ""))
            if change is not None:
                self.line(f"nc_stored({task}, {change});")

    def _act(self, node: Any, scope: TextScope) -> str:
        kind = type(node).__name__.lower()
        lines = getattr(self, f"_act_{kind}")(node, scope)
        name = self.functions.name(f"act_{kind}")
        body = "".join(f"    {line}\n" for line in ["(void)v;", *lines])
        self.functions.texts.append(f"static void {name}(const num *v)\n{{\n{body}}}\n")
        if isinstance(node, t.Log):
            self.loggers.append(name)
        return name

    def _act_delay(self, node: t.Delay, scope: TextScope) -> list[str]:
        call = "nc_sleep" if node.sleeps else "nc_compute"
        return [f"{call}(nc_mul(nc_count({integer(node.duration, scope)}), {TIME_UNITS[node.unit]}));"]

    def _act_touchmemory(self, node: t.TouchMemory, scope: TextScope) -> list[str]:
        step = self._unit(node.amount.unit) if node.amount else "1"
        amount = f"{self._bytes(node.amount, scope)} / {step}" if node.amount and node.amount.amount else "-1"
        stride = self._bytes(node.stride, scope) if node.stride else step
        times = self.count(node.times, scope)
        size = self._bytes(node.region, scope)
        return [f"nc_touch_memory({size}, {step}, {amount}, {times}, {int(node.random_stride)}, {stride});"]

    def _bytes(self, measure: t.UnitAmount | None, scope: TextScope) -> str:
        """Return a size of memory, which may be larger than a message."""
        return self._measured("nc_bytes", measure, scope)

    def _act_touchbuffers(self, node: t.TouchBuffers, scope: TextScope) -> list[str]:
        if node.current:
            return ["nc_touch_current();"]
        number = "0" if node.number is None else integer(node.number, scope)
        return [f"nc_touch_buffers({int(node.number is None)}, {number});"]

    def _act_counters(self, node: t.Counters, scope: TextScope) -> list[str]:
        return [{"RESETS": "nc_reset();", "STORES": "nc_store();"}.get(node.action, "nc_restore(nc.at);")]

    def _act_computeaggregates(self, node: t.ComputeAggregates, scope: TextScope) -> list[str]:
        return ["nc_compute_aggregates();"]

    def _act_output(self, node: t.Output, scope: TextScope) -> list[str]:
        return [
            "if (nc_aside())",
            "    return;",
            *(self._item(i, scope) for i in node.items),
            "nc_print_end();",
        ]

    def _item(self, item: t.Item, scope: TextScope) -> str:
        if isinstance(item, (str, t.ValueOf)):
            return f"nc_print_text((struct text){_label(item)});"
        return f"nc_print({real(item, scope)});"

    def _act_backendexecute(self, node: t.BackendExecute, scope: TextScope) -> list[str]:
        parts = []
        for item in node.items:
            if isinstance(item, t.ValueOf):
                parts.append(f"nc_fact({c_string(item.key)})")
            else:
                parts.append(item if isinstance(item, str) else real(item, scope))
        return "".join(parts).split("\n")

    def _act_log(self, node: t.Log, scope: TextScope) -> list[str]:
        columns = self.fresh("columns")
        self._columns(node, columns)
        values = ", ".join(real(column.value, scope) for column in node.columns)
        percents = [
            f"nc_percent(&{columns}[{n}], {k}, {real(function.percentile, scope)});"
            for n, column in enumerate(node.columns)
            for k, function in enumerate(column.functions)
            if function.percentile is not None
        ]
        row = f"nc_log_row({columns}, {len(node.columns)}, values);"
        return ["if (nc_aside())", "    return;", f"const double values[] = {{{values}}};", *percents, row]

    def _columns(self, node: t.Log, name: str) -> None:
        rows = []
        for column in node.columns:
            if len(column.functions) > MAX_COLUMN_FUNCTIONS:
                raise ProgramError(f"a column has at most {MAX_COLUMN_FUNCTIONS} functions", column.place)
            functions = ", ".join(_function(function) for function in column.functions) or "MEAN"
            place = f"{{{column.place.line}, {column.place.column}}}"
            rows.append(
                f"    {{.label = {_label(column.label)}, .form = {FORMS[column.form]}, "
                f".nfunctions = {len(column.functions)}, .functions = {{{functions}}}, .at = {place}}},\n"
            )
        self.functions.texts.append(f"static struct column {name}[] = {{\n{''.join(rows)}}};\n")


def _function(aggregate: t.Aggregate) -> str:
    return FUNCTIONS.get(aggregate.function, aggregate.function)


def _label(label: str | t.ValueOf) -> str:
    text = label if isinstance(label, str) else label.key
    return f"{{{c_string(text)}, {int(not isinstance(label, str))}}}"


def _parts(node: Any) -> Iterator[Any]:
    yield from (child for child in children(node) if child is not node.tasks)
