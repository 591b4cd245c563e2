"""C text in the making: blocks and names, task descriptions, messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.text import (
    Functions,
    TextScope,
    c_place,
    condition,
    integer,
    ranges,
)
from scalatrace.codegen.conceptual.lowering.collecting import UNIT_BYTES, string_tag
from scalatrace.codegen.conceptual.names import bound

__all__ = ["CompilerWriting"]


class CompilerWriting:
    """Lines, and functions beside them."""

    def __init__(self, program: t.Program, path: str) -> None:
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

    def size(self, measure: t.Measure | None, scope: TextScope, negative: bool = False) -> str:
        if measure is None:
            return "0"
        amount = "1" if measure.amount is None else integer(measure.amount, scope)
        unit = "0" if measure.unit == "BITS" else self._unit(measure.unit)
        return f"nc_size({c_place(measure.place)}, {amount}, {unit}, {int(negative)})"

    def _unit(self, unit: str) -> str:
        return "sysconf(_SC_PAGESIZE)" if unit == "PAGES" else str(UNIT_BYTES[unit])

    def count(self, count: t.Expr | None, scope: TextScope) -> str:
        return "1" if count is None else f"nc_count({integer(count, scope)})"

    def tag(self, tag: t.Expr | str | None, scope: TextScope) -> str:
        if tag is None or isinstance(tag, str):
            return "0" if tag is None else str(string_tag(tag))
        return f"nc_tag({c_place(tag.place)}, {integer(tag, scope)})"

    def memory(self, node: Any, scope: TextScope, under: Any = None) -> str:
        def reason(name: str) -> Any:
            own = getattr(node, name, None)
            return own if own is not None or under is None else getattr(under, name)

        alignment, touching, buffer = reason("alignment"), reason("touching"), reason("buffer")
        parts = []
        if buffer is not None and buffer.number is not None:
            parts += [".has_buffer = 1", f".buffer = {integer(buffer.number, scope)}"]
        if buffer is not None and buffer.offset is not None:
            parts.append(f".offset = {self.size(buffer.offset, scope)}")
        if reason("unique"):
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
