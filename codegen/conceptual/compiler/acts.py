"""What a task does by itself, in C: functions that its events point to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.text import TextScope, c_place, c_string, integer, real
from scalatrace.codegen.conceptual.compiler.writing import CompilerWriting
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.names import children
from scalatrace.codegen.conceptual.words import TIME_UNITS

__all__ = ["LocalStatements"]

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
            parts = [child for child in _parts(node) if isinstance(child, t.Node)]
            variables, own = inner.captured(parts)
            act = self._act(node, TextScope(own.names, own.functions, running=True))
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

    def _bytes(self, measure: t.Measure | None, scope: TextScope) -> str:
        """Return a size of memory, which may be larger than a message."""
        if measure is None:
            return "0"
        amount = "1" if measure.amount is None else integer(measure.amount, scope)
        unit = "0" if measure.unit == "BITS" else self._unit(measure.unit)
        return f"nc_bytes({c_place(measure.place)}, {amount}, {unit})"

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
            f"nc_percent(&{columns}[{n}], {k}, {real(each.percentile, scope)});"
            for n, column in enumerate(node.columns)
            for k, each in enumerate(column.functions)
            if each.percentile is not None
        ]
        row = f"nc_log_row({columns}, {len(node.columns)}, values);"
        return ["if (nc_aside())", "    return;", f"const double values[] = {{{values}}};", *percents, row]

    def _columns(self, node: t.Log, name: str) -> None:
        rows = []
        for column in node.columns:
            if len(column.functions) > MAX_COLUMN_FUNCTIONS:
                raise ProgramError(f"a column has at most {MAX_COLUMN_FUNCTIONS} functions", column.place)
            functions = ", ".join(_function(each) for each in column.functions) or "MEAN"
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
