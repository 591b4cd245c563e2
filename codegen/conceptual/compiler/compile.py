"""Tree -> one C file that needs MPI and nothing else.

The file is the run-time system (runtime/*.c) and, in its middle, the program: nc_program() goes through the
statements as lower.py does, for any number of tasks and with loops as loops, and collects what one rank does.
What is evaluated each time a task comes by (LOG, OUTPUT, COMPUTE ...) are functions that events point to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.acts import LocalStatements
from scalatrace.codegen.conceptual.compiler.operators import array
from scalatrace.codegen.conceptual.compiler.text import (
    Functions,
    TextScope,
    c_place,
    c_string,
    condition,
    integer,
    ranges,
)
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering.steady import inner_statements, is_steady
from scalatrace.codegen.conceptual.names import mentions_me, source_first
from scalatrace.codegen.conceptual.printer.program import show
from scalatrace.codegen.conceptual.words import TIME_UNITS

__all__ = ["compile_program"]

INCLUDES = """
ctype errno inttypes math mpi sched stdarg stdint stdio stdlib string sys/resource sys/utsname time unistd
"""
HEAD = """\
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
{includes}

extern char **environ;

/* The program */

#define NC_PROGRAM {program}
#define NC_LOGFILE {logfile}

static const char *const nc_source_lines[] = {{
{source}
}};

"""


def compile_program(program: t.ProgramTree, path: str, hosted: bool = False) -> str:
    """Return the C text of a checked program.

    Args:
        path: for its messages.
        hosted: it is a library for a process that checks the program, not a program of its own.

    Raises:
        ProgramError: the program is nested too deeply, or a column has too many functions.
    """
    try:
        return _Compiler(program, path).text(hosted)
    except RecursionError:
        raise ProgramError("the program is nested too deeply", program.place, path=path) from None
    except ProgramError as error:
        error.path = path
        raise


def _runtime(name: str) -> str:
    return files(__package__).joinpath("runtime", f"{name}.c").read_text(encoding="utf-8")


class _Compiler(LocalStatements):
    """Writes C, statement by statement."""

    # the file

    def text(self, hosted: bool) -> str:
        parameters = [header for header in self.program.headers if isinstance(header, t.ProgramParameter)]
        scope = TextScope({header.name: f"p_{header.name}" for header in parameters}, self.functions)
        for sentence in self.program.sentences:
            for statement in sentence.statements:
                self.statement(statement, scope)
            self.line(f"nc_end_of_table({c_place(sentence.place)});")
        end = map(_runtime, ("start", "hosted" if hosted else "main"))
        return "\n".join([*self._head(parameters, hosted), *self._middle(parameters), *end])

    def _head(self, parameters: Sequence[t.ProgramParameter], hosted: bool) -> list[str]:
        # A library does not show the source: its text does not depend on comments and blanks.
        source = [""] if hosted else (self.program.text or show(self.program)).rstrip().split("\n")
        head = HEAD.format(
            includes="\n".join(f"#include <{name}.h>" for name in INCLUDES.split()),
            program=c_string("" if hosted else PurePath(self.path).name),
            logfile=c_string("" if hosted else f"{PurePath(self.path).stem}-%p.log"),
            source="\n".join(f"    {c_string('    ' + line)}," for line in source),
        )
        table = [f"static int64_t p_{parameter.name};" for parameter in parameters]
        table += [
            "static const struct {",
            "    const char *name, *help, *option, *brief;",
            "    int64_t *value;",
            "} nc_parameters[] = {",
        ]
        for parameter in parameters:
            words = ", ".join(
                map(c_string, (parameter.name, parameter.help, parameter.long, parameter.short))
            )
            table.append(f"    {{{words}, &p_{parameter.name}}},")
        table.append("    {0, 0, 0, 0, 0}};\n")
        parts = ("numbers", "events", "checks", "log", "execute")
        return [head, "\n".join(table), *map(_runtime, parts)]

    def _middle(self, parameters: Sequence[t.ProgramParameter]) -> list[str]:
        declared = [h.text for h in self.program.headers if isinstance(h, t.BackendDeclares)]
        empty = TextScope({}, Functions())
        defaults = [
            f"    p_{parameter.name} = {integer(parameter.default, empty)};" for parameter in parameters
        ]
        loggers = ", ".join([*self.loggers, "NULL"])
        return [
            "/* What the program says */\n",
            *declared,
            *self.functions.texts,
            f"static void (*const nc_loggers[])(const num *) = {{{loggers}}};\n",
            "static void nc_defaults(void)\n{\n" + "".join(line + "\n" for line in defaults) + "}\n",
            "static void nc_program(void)\n{\n" + "".join(line + "\n" for line in self.lines) + "}\n",
        ]

    # statements

    def statement(self, node: t.Statement, scope: TextScope) -> None:
        if not isinstance(node, t.Block):
            self.line(f"/* {node.place.line}: {_comment(node)} */")
        name = type(node).__name__.lower()
        getattr(self, f"_{name}", self._local)(node, scope)

    def _send(self, node: t.Send, scope: TextScope) -> None:
        message, reception = node.message, node.reception or t.Reception()
        with self.block():
            pairs = self.pairs(node.source, node.target, scope)
            size = self.number("size", self.size(message.size, scope))
            count = self.number("count", self.count(message.count, scope))
            tag = self.number("tag", self.tag(message.tag, scope))
            send_spec = self.spec(message, scope, node.asynchronous, tag, size)
            receive_spec = "NULL"
            if not node.unsuspecting:
                how = node.asynchronous if reception.asynchronous is None else reception.asynchronous
                their = tag if reception.tag is None else self.tag(reception.tag, scope)
                receive_spec = "&" + self.spec(reception, scope, how, their, size, message)
            self.line(f"nc_send({c_place(node.place)}, &{pairs}, {count}, {send_spec}, {receive_spec});")

    def _receive(self, node: t.Receive, scope: TextScope) -> None:
        message = node.message
        with self.block():
            if source_first(node, [name for name in scope.names if not name.startswith("GROUP ")]):
                pairs = self.pairs(node.source, node.target, scope)
            else:
                pairs = self.pairs(node.target, node.source, scope, turned=True)
            size, tag = self.size(message.size, scope), self.tag(message.tag, scope)
            spec = self.spec(message, scope, node.asynchronous, tag, size)
            self.line(
                f"nc_receive({c_place(node.place)}, &{pairs}, {self.count(message.count, scope)}, {spec});"
            )

    def _untagged(self, node: Any, scope: TextScope) -> None:
        if node is not None and node.tag is not None:
            self.line(f"nc_untagged({c_place(node.place)}, {self.tag(node.tag, scope)});")

    def _multicast(self, node: t.Multicast, scope: TextScope) -> None:
        with self.block():
            self._untagged(node.message, scope)
            pairs = self.pairs(node.source, node.target, scope)
            spec = self.spec(node.message, scope, False, "0", self.size(node.message.size, scope))
            count = self.count(node.message.count, scope)
            self.line(f"nc_multicast({c_place(node.place)}, &{pairs}, {count}, {spec});")

    def _reduce(self, node: t.Reduce, scope: TextScope) -> None:
        with self.block():
            for part in (node.values, node.to, node.result):
                self._untagged(part, scope)
            count = self.number("count", self.count(node.values.count, scope))
            for values in (node.to, node.result.values if node.result else None):
                if values is not None:
                    self._same_count(count, values, scope)
            pairs = self.pairs(node.source, node.target, scope)
            arguments = f"{count}, {node.values.unit}, (struct memory){self.memory(node.values, scope)}"
            self.line(f"nc_reduce({c_place(node.place)}, &{pairs}, {int(node.target is None)}, {arguments});")

    def _same_count(self, count: str, values: t.ReductionValues, scope: TextScope) -> None:
        with self.block(f"if ({count} != {self.count(values.count, scope)})"):
            reason = c_string("the numbers of values reduced and received differ")
            self.line(f"nc_fail({c_place(values.place)}, {reason});")

    def _await(self, node: t.Await, scope: TextScope) -> None:
        with self.each(node.tasks, scope) as (task, _):
            self.line(f"nc_await({c_place(node.place)}, {task});")

    def _synchronize(self, node: t.Synchronize, scope: TextScope) -> None:
        with self.block():
            pairs = self.pairs(node.tasks, None, scope)
            self.line(f"nc_synchronize({c_place(node.place)}, &{pairs});")

    def _assign(self, node: t.Assign, scope: TextScope) -> None:
        with self.each(node.tasks, scope) as (task, inner):
            where = "nc_below(nc.tasks)" if node.processor is None else integer(node.processor, inner)
            self.line(f"nc_assign({c_place(node.place)}, {task}, {where});")

    def _assert(self, node: t.Assert, scope: TextScope) -> None:
        with self.block(f"if (!{condition(node.condition, scope)})"):
            reason = c_string(f"the program asserts: {node.text}")
            self.line(f'nc_fail({c_place(node.place)}, "%s", {reason});')

    def _foreach(self, node: t.ForEach, scope: TextScope) -> None:
        with self.block():
            series = self._series(node, scope)
            if self._is_steady(node, scope):
                count, variables, iteration = self._iteration(node, scope)
                self.line(f"nc_each({c_place(node.place)}, {series}, {iteration}, {count}, {variables});")
                return
            index, name = self.fresh("i"), self.fresh(f"v_{node.variable}")
            with self.block(f"for (size_t {index} = 0; {index} < {series}.count; {index}++)"):
                self.line(f"const num {name} = nc_term(&{series}, {index});")
                self.line(f"(void){name};")
                self.statement(node.body, scope.bind(node.variable, name))
            self.line(f"free({series}.values);")

    def _series(self, node: t.ForEach, scope: TextScope) -> str:
        """Write the numbers of a loop; the C name of the series. A progression is not written out."""
        name = self.fresh("series")
        match node.ranges:
            case (t.OpenRange(leading, final) as only,):
                terms = array("num", [integer(value, scope) for value in leading])
                self.line(f"struct series {name};")
                self.line(f"nc_at({only.place.line}, {only.place.column});")
                self.line(f"nc_series(&{name}, {len(leading)}, {terms}, {integer(final, scope)});")
            case _:
                numbers = self.fresh("numbers")
                function, variables = ranges(node.ranges, scope)
                self.line(f"struct numbers {numbers} = {{0}};")
                self.line(f"{function}(&{numbers}, {variables});")
                self.line(f"struct series {name} = {{0, 0, {numbers}.count, {numbers}.values}};")
        return name

    def _is_steady(self, node: t.ForEach, scope: TextScope) -> bool:
        """Return whether a function can collect each iteration when it is executed."""
        if any(name.startswith("GROUP ") for name in scope.names):
            return False
        return not self._assigns() and not _binds_groups(node) and is_steady(node)

    def _assigns(self) -> bool:
        """Return whether the program changes processors: later iterations would see others."""
        sentences = [inner for sentence in self.program.sentences for inner in sentence.statements]
        return any(isinstance(inner, t.Assign) for statement in sentences for inner in _flat(statement))

    def _iteration(self, node: t.ForEach, scope: TextScope) -> tuple[int, str, str]:
        """Write the body of a loop as a C function; number of variables, the variables, its name."""
        variables, inner = scope.captured([node.body])
        outer, self.lines = self.lines, []
        depth, self.depth = self.depth, 1
        self.statement(node.body, inner.bind(node.variable, "value"))
        body, self.lines, self.depth = self.lines, outer, depth
        name = self.functions.name("iteration")
        text = "\n".join(["    (void)v;", "    (void)value;", *body])
        self.functions.texts.append(f"static void {name}(const num *v, num value)\n{{\n{text}\n}}\n")
        return variables.count(",") + 1, variables, name

    def _forcount(self, node: t.ForCount, scope: TextScope) -> None:
        warmup = "0" if node.warmup is None else self.count(node.warmup, scope)
        with self.block():
            turns = self.number("turns", self.count(node.count, scope))
            before = self.number("warmup", warmup)
            self._loop("REPEAT", node, turns, before, f"{turns} || {before}", scope)

    def _fortime(self, node: t.ForTime, scope: TextScope) -> None:
        def usecs(duration: t.Expr, unit: str) -> str:
            return f"nc_mul({self.count(duration, scope)}, {TIME_UNITS[unit]})"

        warmup = "0" if node.warmup is None else usecs(node.warmup, node.warmup_unit or "")
        with self.block():
            turns = self.number("usecs", usecs(node.duration, node.unit))
            before = self.number("warmup", warmup)
            self._loop("TIMED", node, turns, before, "1", scope)

    def _loop(
        self, kind: str, node: t.ForCount | t.ForTime, turns: str, warmup: str, test: str, scope: TextScope
    ) -> None:
        serial, outer = self.fresh("serial"), self.fresh("outer")
        self.line(f"const int {serial} = ++in.serial;")
        self.line(f"struct list {outer} = nc_begin_body();")
        with self.block(f"if ({test})"):
            self.statement(node.body, scope)
        arguments = f"{turns}, {warmup}, {int(node.synchronized)}, nc_end_body({outer}), {serial}"
        self.line(f"nc_loop({kind}, {c_place(node.place)}, {arguments});")

    def _let(self, node: t.Let, scope: TextScope) -> None:
        with self.block():
            for binding in node.bindings:
                scope = self._binding(binding, scope)
            self.statement(node.body, scope)

    def _binding(self, binding: t.Binding, scope: TextScope) -> TextScope:
        name = self.fresh(f"v_{binding.name}")
        if isinstance(binding, t.LetTasks):
            self.line(f"char *{name} = nc_new((size_t)nc.tasks, 1);")
            with self.each(binding.tasks, scope) as (task, _):
                self.line(f"{name}[{task}] = 1;")
            return scope.bind(f"GROUP {binding.name}", name)
        value = (
            integer(binding.value, scope) if isinstance(binding, t.LetValue) else self._random(binding, scope)
        )
        self.line(f"const num {name} = {value};")
        self.line(f"(void){name};")
        return scope.bind(binding.name, name)

    def _random(self, node: t.LetRandom, scope: TextScope) -> str:
        low = "0" if node.low is None else integer(node.low, scope)
        high = "nc.tasks - 1" if node.high is None else integer(node.high, scope)
        low = f"nc_add({low}, 1)" if node.form == "GREATER" else low
        high = f"nc_sub({high}, 1)" if node.form == "LESS" else high
        but = "NULL" if node.but is None else f"(const num[]){{{integer(node.but, scope)}}}"
        return f"nc_random_task({c_place(node.place)}, {c_string(node.name)}, {low}, {high}, {but})"

    def _if(self, node: t.If, scope: TextScope) -> None:
        if mentions_me(node.condition):
            self._if_mine(node, scope)
            return
        with self.block(f"if {condition(node.condition, scope)}"):
            self.statement(node.then, scope)
        if node.otherwise is not None:
            with self.block("else"):
                self.statement(node.otherwise, scope)

    def _if_mine(self, node: t.If, scope: TextScope) -> None:
        """Each rank goes through both branches, and executes its own."""
        with self.block():
            before, mine = self.fresh("active"), self.fresh("mine")
            self.line(f"const int {before} = in.active, {mine} = {condition(node.condition, scope)};")
            for sign, branch in (("", node.then), ("!", node.otherwise)):
                if branch is not None:
                    self.line(f"in.active = {before} && {sign}{mine};")
                    self.statement(branch, scope)
            self.line(f"in.active = {before};")

    def _block(self, node: t.Block, scope: TextScope) -> None:
        for statement in node.statements:
            self.statement(statement, scope)


def _flat(node: t.Statement) -> Iterator[t.Statement]:
    yield node
    for inner in inner_statements(node):
        yield from _flat(inner)


def _binds_groups(node: t.Statement) -> bool:
    lets = [inner for inner in _flat(node) if isinstance(inner, t.Let)]
    return any(isinstance(binding, t.LetTasks) for inner in lets for binding in inner.bindings)


def _comment(node: t.Statement) -> str:
    """The first line of a statement, fit for a comment."""
    text = show(node).split("\n")[0]
    safe = "".join(c if 32 <= ord(c) < 127 and c not in "\\?" else " " for c in text)
    return safe.replace("*/", "* /").replace("/*", "/ *")[:90]
