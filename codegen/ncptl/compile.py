"""Tree -> one C file that needs MPI and nothing else.

The file is the run-time system (runtime/*.c) and, in its middle, the program: nc_program() goes through the
statements as lower.py does, for any number of tasks and with loops as loops, and collects what one rank does.
What is evaluated each time a task comes by (LOG, OUTPUT, COMPUTE ...) are functions that events point to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from codegen.ncptl import tree as t
from codegen.ncptl.c_text import Functions, Scope, c_place, c_string, condition, integer, ranges, real
from codegen.ncptl.errors import ProgramError
from codegen.ncptl.lower import UNIT_BYTES, string_tag
from codegen.ncptl.names import bound, children, source_first
from codegen.ncptl.show import show
from codegen.ncptl.words import TIME_UNITS

__all__ = ["compile_program"]

FORMS = {"": "ALL", "EACH": "ALL", "THE": "ONLY", "OF": "COLLAPSED", "HISTOGRAM": "HISTOGRAM"}
FUNCTIONS = {
    "MEDIAN ABSOLUTE DEVIATION": "SPREAD",
    "STANDARD DEVIATION": "DEVIATION",
    "HARMONIC MEAN": "HARMONIC_MEAN",
    "GEOMETRIC MEAN": "GEOMETRIC_MEAN",
}
MOST_FUNCTIONS = 32
INCLUDES = (
    "ctype errno inttypes math mpi stdarg stdint stdio stdlib string sys/resource sys/utsname time unistd"
)
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


def compile_program(program: t.Program, path: str) -> str:
    """Return the C text of a checked program; `path` is for its messages. Raises ProgramError."""
    try:
        return _Compiler(program, path).text()
    except ProgramError as error:
        error.path = path
        raise


def _runtime(name: str) -> str:
    return files(__package__).joinpath("runtime", f"{name}.c").read_text(encoding="utf-8")


class _Compiler:
    """Writes C, statement by statement."""

    def __init__(self, program: t.Program, path: str) -> None:
        self.program, self.path = program, path
        self.functions = Functions()
        self.lines: list[str] = []
        self.depth = 1
        self.made = 0
        self.loggers: list[str] = []

    # the file

    def text(self) -> str:
        parameters = [header for header in self.program.headers if isinstance(header, t.Parameter)]
        scope = Scope({header.name: f"p_{header.name}" for header in parameters}, self.functions)
        for sentence in self.program.sentences:
            for statement in sentence.statements:
                self.statement(statement, scope)
            self.line(f"nc_end_of_table({c_place(sentence.place)});")
        return "\n".join([*self._head(parameters), *self._middle(parameters), _runtime("main")])

    def _head(self, parameters: Sequence[t.Parameter]) -> list[str]:
        source = (self.program.text or show(self.program)).rstrip().split("\n")
        head = HEAD.format(
            includes="\n".join(f"#include <{name}.h>" for name in INCLUDES.split()),
            program=c_string(PurePath(self.path).name),
            logfile=c_string(f"{PurePath(self.path).stem}-%p.log"),
            source="\n".join(f"    {c_string('    ' + line)}," for line in source),
        )
        table = [f"static int64_t p_{each.name};" for each in parameters]
        table += [
            "static const struct {",
            "    const char *name, *help, *option, *brief;",
            "    int64_t *value;",
            "} nc_parameters[] = {",
        ]
        for each in parameters:
            words = ", ".join(map(c_string, (each.name, each.help, each.long, each.short)))
            table.append(f"    {{{words}, &p_{each.name}}},")
        table.append("    {0, 0, 0, 0, 0}};\n")
        parts = ("numbers", "events", "checks", "log", "execute")
        return [head, "\n".join(table), *map(_runtime, parts)]

    def _middle(self, parameters: Sequence[t.Parameter]) -> list[str]:
        declared = [h.text for h in self.program.headers if isinstance(h, t.BackendDeclares)]
        empty = Scope({}, Functions())
        defaults = [f"    p_{each.name} = {integer(each.default, empty)};" for each in parameters]
        loggers = ", ".join([*self.loggers, "NULL"])
        return [
            "/* What the program says */\n",
            *declared,
            *self.functions.texts,
            f"static void (*const nc_loggers[])(const num *) = {{{loggers}}};\n",
            "static void nc_defaults(void)\n{\n" + "".join(line + "\n" for line in defaults) + "}\n",
            "static void nc_program(void)\n{\n" + "".join(line + "\n" for line in self.lines) + "}\n",
        ]

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
    def each(self, tasks: t.Tasks, scope: Scope, but: str | None = None) -> Iterator[tuple[str, Scope]]:
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

    def pairs(self, source: t.Tasks, target: t.Tasks | None, scope: Scope, turned: bool = False) -> str:
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

    def size(self, measure: t.Measure | None, scope: Scope, negative: bool = False) -> str:
        if measure is None:
            return "0"
        amount = "1" if measure.amount is None else integer(measure.amount, scope)
        unit = "0" if measure.unit == "BITS" else self._unit(measure.unit)
        return f"nc_size({c_place(measure.place)}, {amount}, {unit}, {int(negative)})"

    def _unit(self, unit: str) -> str:
        return "sysconf(_SC_PAGESIZE)" if unit == "PAGES" else str(UNIT_BYTES[unit])

    def count(self, count: t.Expr | None, scope: Scope) -> str:
        return "1" if count is None else f"nc_count({integer(count, scope)})"

    def tag(self, tag: t.Expr | str | None, scope: Scope) -> str:
        if tag is None or isinstance(tag, str):
            return "0" if tag is None else str(string_tag(tag))
        return f"nc_tag({c_place(tag.place)}, {integer(tag, scope)})"

    def memory(self, node: Any, scope: Scope, under: Any = None) -> str:
        def said(name: str) -> Any:
            own = getattr(node, name, None)
            return own if own is not None or under is None else getattr(under, name)

        alignment, touching, buffer = said("alignment"), said("touching"), said("buffer")
        parts = []
        if buffer is not None and buffer.number is not None:
            parts += [".has_buffer = 1", f".buffer = {integer(buffer.number, scope)}"]
        if buffer is not None and buffer.offset is not None:
            parts.append(f".offset = {self.size(buffer.offset, scope)}")
        if said("unique"):
            parts.append(".unique = 1")
        if alignment is not None and alignment.measure is not None:
            parts.append(f".alignment = {self.size(alignment.measure, scope, negative=True)}")
            parts.append(f".misaligned = {int(alignment.kind == 'MISALIGNED')}")
        if touching is not None and touching.wanted:
            parts.append(".verified = 1" if touching.verification else ".touched = 1")
        return f"{{{', '.join(parts) or '0'}}}"

    def spec(
        self, node: Any, scope: Scope, asynchronous: bool | None, tag: str, size: str, under: Any = None
    ) -> str:
        memory = self.memory(node, scope, under)
        flag = int(bool(asynchronous))
        return f"(struct spec){{.size = {size}, .tag = {tag}, .async = {flag}, .memory = {memory}}}"

    # statements

    def statement(self, node: t.Statement, scope: Scope) -> None:
        if not isinstance(node, t.Block):
            self.line(f"/* {node.place.line}: {_comment(node)} */")
        name = type(node).__name__.lower()
        getattr(self, f"_{name}", self._local)(node, scope)

    def _send(self, node: t.Send, scope: Scope) -> None:
        message, reception = node.message, node.reception or t.Reception()
        with self.block():
            pairs = self.pairs(node.source, node.target, scope)
            size = self.number("size", self.size(message.size, scope))
            count = self.number("count", self.count(message.count, scope))
            tag = self.number("tag", self.tag(message.tag, scope))
            here = self.spec(message, scope, node.asynchronous, tag, size)
            there = "NULL"
            if not node.unsuspecting:
                how = node.asynchronous if reception.asynchronous is None else reception.asynchronous
                their = tag if reception.tag is None else self.tag(reception.tag, scope)
                there = "&" + self.spec(reception, scope, how, their, size, message)
            self.line(f"nc_send({c_place(node.place)}, &{pairs}, {count}, {here}, {there});")

    def _receive(self, node: t.Receive, scope: Scope) -> None:
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

    def _untagged(self, node: Any, scope: Scope) -> None:
        if node is not None and node.tag is not None:
            self.line(f"nc_untagged({c_place(node.place)}, {self.tag(node.tag, scope)});")

    def _multicast(self, node: t.Multicast, scope: Scope) -> None:
        with self.block():
            self._untagged(node.message, scope)
            pairs = self.pairs(node.source, node.target, scope)
            spec = self.spec(node.message, scope, False, "0", self.size(node.message.size, scope))
            count = self.count(node.message.count, scope)
            self.line(f"nc_multicast({c_place(node.place)}, &{pairs}, {count}, {spec});")

    def _reduce(self, node: t.Reduce, scope: Scope) -> None:
        with self.block():
            for part in (node.values, node.to, node.result):
                self._untagged(part, scope)
            count = self.number("count", self.count(node.values.count, scope))
            for other in (node.to, node.result.values if node.result else None):
                if other is not None:
                    self._same_count(count, other, scope)
            pairs = self.pairs(node.source, node.target, scope)
            rest = f"{count}, {node.values.unit}, (struct memory){self.memory(node.values, scope)}"
            self.line(f"nc_reduce({c_place(node.place)}, &{pairs}, {int(node.target is None)}, {rest});")

    def _same_count(self, count: str, other: t.Values, scope: Scope) -> None:
        with self.block(f"if ({count} != {self.count(other.count, scope)})"):
            said = c_string("the numbers of values reduced and received differ")
            self.line(f"nc_fail({c_place(other.place)}, {said});")

    def _await(self, node: t.Await, scope: Scope) -> None:
        with self.each(node.tasks, scope) as (task, _):
            self.line(f"nc_await({c_place(node.place)}, {task});")

    def _synchronize(self, node: t.Synchronize, scope: Scope) -> None:
        with self.block():
            pairs = self.pairs(node.tasks, None, scope)
            self.line(f"nc_synchronize({c_place(node.place)}, &{pairs});")

    def _assign(self, node: t.Assign, scope: Scope) -> None:
        with self.each(node.tasks, scope) as (task, inner):
            where = "nc_below(nc.tasks)" if node.processor is None else integer(node.processor, inner)
            self.line(f"nc_assign({c_place(node.place)}, {task}, {where});")

    def _assert(self, node: t.Assert, scope: Scope) -> None:
        with self.block(f"if (!{condition(node.condition, scope)})"):
            said = c_string(f"the program asserts: {node.text}")
            self.line(f'nc_fail({c_place(node.place)}, "%s", {said});')

    def _foreach(self, node: t.ForEach, scope: Scope) -> None:
        with self.block():
            numbers, index, name = (self.fresh(n) for n in ("numbers", "i", f"v_{node.variable}"))
            function, variables = ranges(node.ranges, scope)
            self.line(f"struct numbers {numbers} = {{0}};")
            self.line(f"{function}(&{numbers}, {variables});")
            with self.block(f"for (size_t {index} = 0; {index} < {numbers}.count; {index}++)"):
                self.line(f"const num {name} = {numbers}.values[{index}];")
                self.line(f"(void){name};")
                self.statement(node.body, scope.bind(node.variable, name))
            self.line(f"free({numbers}.values);")

    def _forcount(self, node: t.ForCount, scope: Scope) -> None:
        warmup = "0" if node.warmup is None else self.count(node.warmup, scope)
        with self.block():
            turns = self.number("turns", self.count(node.count, scope))
            before = self.number("warmup", warmup)
            self._loop("REPEAT", node, turns, before, f"{turns} || {before}", scope)

    def _fortime(self, node: t.ForTime, scope: Scope) -> None:
        def usecs(duration: t.Expr, unit: str) -> str:
            return f"nc_mul({self.count(duration, scope)}, {TIME_UNITS[unit]})"

        warmup = "0" if node.warmup is None else usecs(node.warmup, node.warmup_unit or "")
        with self.block():
            turns = self.number("usecs", usecs(node.duration, node.unit))
            before = self.number("warmup", warmup)
            self._loop("TIMED", node, turns, before, "1", scope)

    def _loop(
        self, kind: str, node: t.ForCount | t.ForTime, turns: str, warmup: str, test: str, scope: Scope
    ) -> None:
        serial, outer = self.fresh("serial"), self.fresh("outer")
        self.line(f"const int {serial} = ++in.serial;")
        self.line(f"struct list {outer} = nc_begin_body();")
        with self.block(f"if ({test})"):
            self.statement(node.body, scope)
        rest = f"{turns}, {warmup}, {int(node.synchronized)}, nc_end_body({outer}), {serial}"
        self.line(f"nc_loop({kind}, {c_place(node.place)}, {rest});")

    def _let(self, node: t.Let, scope: Scope) -> None:
        with self.block():
            for binding in node.bindings:
                scope = self._binding(binding, scope)
            self.statement(node.body, scope)

    def _binding(self, binding: t.Binding, scope: Scope) -> Scope:
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

    def _random(self, node: t.LetRandom, scope: Scope) -> str:
        low = "0" if node.low is None else integer(node.low, scope)
        high = "nc.tasks - 1" if node.high is None else integer(node.high, scope)
        low = f"nc_add({low}, 1)" if node.form == "GREATER" else low
        high = f"nc_sub({high}, 1)" if node.form == "LESS" else high
        but = "NULL" if node.but is None else f"(const num[]){{{integer(node.but, scope)}}}"
        return f"nc_random_task({c_place(node.place)}, {c_string(node.name)}, {low}, {high}, {but})"

    def _if(self, node: t.If, scope: Scope) -> None:
        if _mentions_me(node.condition):
            self._if_mine(node, scope)
            return
        with self.block(f"if {condition(node.condition, scope)}"):
            self.statement(node.then, scope)
        if node.otherwise is not None:
            with self.block("else"):
                self.statement(node.otherwise, scope)

    def _if_mine(self, node: t.If, scope: Scope) -> None:
        """Each rank goes through both branches, and executes its own."""
        with self.block():
            before, mine = self.fresh("active"), self.fresh("mine")
            self.line(f"const int {before} = in.active, {mine} = {condition(node.condition, scope)};")
            for sign, branch in (("", node.then), ("!", node.otherwise)):
                if branch is not None:
                    self.line(f"in.active = {before} && {sign}{mine};")
                    self.statement(branch, scope)
            self.line(f"in.active = {before};")

    def _block(self, node: t.Block, scope: Scope) -> None:
        for statement in node.statements:
            self.statement(statement, scope)

    # what a task does by itself: a function that its event points to

    def _local(self, node: Any, scope: Scope) -> None:
        with self.each(node.tasks, scope) as (task, inner):
            parts = [child for child in _parts(node) if isinstance(child, t.Node)]
            variables, own = inner.captured(parts)
            act = self._act(node, Scope(own.names, own.functions, running=True))
            count = variables.count(",") + 1
            self.line(f"nc_local({c_place(node.place)}, {task}, {act}, {count}, {variables});")
            change = {"STORES": 1, "RESTORES": -1}.get(getattr(node, "action", ""))
            if change is not None:
                self.line(f"nc_stored({task}, {change});")

    def _act(self, node: Any, scope: Scope) -> str:
        kind = type(node).__name__.lower()
        lines = getattr(self, f"_act_{kind}")(node, scope)
        name = self.functions.name(f"act_{kind}")
        body = "".join(f"    {line}\n" for line in ["(void)v;", *lines])
        self.functions.texts.append(f"static void {name}(const num *v)\n{{\n{body}}}\n")
        if isinstance(node, t.Log):
            self.loggers.append(name)
        return name

    def _act_delay(self, node: t.Delay, scope: Scope) -> list[str]:
        call = "nc_sleep" if node.sleeps else "nc_compute"
        return [f"{call}(nc_mul(nc_count({integer(node.duration, scope)}), {TIME_UNITS[node.unit]}));"]

    def _act_touchmemory(self, node: t.TouchMemory, scope: Scope) -> list[str]:
        step = self._unit(node.amount.unit) if node.amount else "1"
        amount = integer(node.amount.amount, scope) if node.amount and node.amount.amount else "-1"
        stride = self.size(node.stride, scope) if node.stride else step
        times = self.count(node.times, scope)
        size = self.size(node.region, scope)
        return [f"nc_touch_memory({size}, {step}, {amount}, {times}, {int(node.random_stride)}, {stride});"]

    def _act_touchbuffers(self, node: t.TouchBuffers, scope: Scope) -> list[str]:
        if node.current:
            return ["nc_touch_current();"]
        number = "0" if node.number is None else integer(node.number, scope)
        return [f"nc_touch_buffers({int(node.number is None)}, {number});"]

    def _act_counters(self, node: t.Counters, scope: Scope) -> list[str]:
        return [{"RESETS": "nc_reset();", "STORES": "nc_store();"}.get(node.action, "nc_restore(nc.at);")]

    def _act_computeaggregates(self, node: t.ComputeAggregates, scope: Scope) -> list[str]:
        return ["nc_compute_aggregates();"]

    def _act_output(self, node: t.Output, scope: Scope) -> list[str]:
        return [
            "if (nc_aside())",
            "    return;",
            *(self._item(i, scope) for i in node.items),
            "nc_print_end();",
        ]

    def _item(self, item: t.Item, scope: Scope) -> str:
        if isinstance(item, (str, t.ValueOf)):
            return f"nc_print_text((struct text){_label(item)});"
        return f"nc_print({real(item, scope)});"

    def _act_backendexecute(self, node: t.BackendExecute, scope: Scope) -> list[str]:
        parts = []
        for item in node.items:
            if isinstance(item, t.ValueOf):
                parts.append(f"nc_fact({c_string(item.key)})")
            else:
                parts.append(item if isinstance(item, str) else real(item, scope))
        return "".join(parts).split("\n")

    def _act_log(self, node: t.Log, scope: Scope) -> list[str]:
        columns = self.fresh("columns")
        self._columns(node, columns)
        values = ", ".join(real(column.value, scope) for column in node.columns)
        percents = [
            f"{columns}[{n}].percents[{k}] = {real(each.percentile, scope)};"
            for n, column in enumerate(node.columns)
            for k, each in enumerate(column.functions)
            if each.percentile is not None
        ]
        row = f"nc_log_row({columns}, {len(node.columns)}, values);"
        return ["if (nc_aside())", "    return;", f"const double values[] = {{{values}}};", *percents, row]

    def _columns(self, node: t.Log, name: str) -> None:
        rows = []
        for column in node.columns:
            if len(column.functions) > MOST_FUNCTIONS:
                raise ProgramError(f"a column has at most {MOST_FUNCTIONS} functions", column.place)
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


def _mentions_me(node: t.Node) -> bool:
    return isinstance(node, t.MyTask) or any(map(_mentions_me, children(node)))


def _comment(node: t.Statement) -> str:
    """The first line of a statement, fit for a comment."""
    text = show(node).split("\n")[0]
    safe = "".join(c if 32 <= ord(c) < 127 and c not in "\\?" else " " for c in text)
    return safe.replace("*/", "* /").replace("/*", "/ *")[:90]
