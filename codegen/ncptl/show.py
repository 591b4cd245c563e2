"""Tree -> text, as a person would write it and as the language's first compiler reads it.

Pitfalls of that compiler that the text avoids: a hyphen before a reserved word vanishes, so what would start
with one stands in parentheses; a number swallows letters behind it, so a space follows; of two expressions
side by side the second must not start with a sign; `-(F(1))` means F(-1) there, so it is written 0 - (F(1)).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any

from codegen.ncptl import tree as t
from codegen.ncptl.words import KEYWORDS

__all__ = ["show"]

EXPR, ADD, MUL, UNARY, POWER, PRIM = range(6)
_LEVELS = {"+": ADD, "-": ADD, "|": ADD, "XOR": ADD, "**": POWER}
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_WORD = re.compile(r"[A-Za-z]\w*")
INDENT = "  "


def show(node: t.Node) -> str:
    """Return the text of a program, or of any part of one."""
    return _Printer().any(node)


def _string(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _words(*words: str) -> str:
    return " ".join(word for word in words if word)


def _indented(text: str) -> str:
    return "\n".join(INDENT + line for line in text.split("\n"))


def _starts_with_word(text: str) -> bool:
    found = _WORD.match(text)
    return found is not None and found.group().lower() in KEYWORDS


def _is_open(stmt: t.Statement | None) -> bool:
    """Whether an OTHERWISE behind the statement would be taken to be its own."""
    if isinstance(stmt, t.If):
        return stmt.otherwise is None or _is_open(stmt.otherwise)
    return _is_open(getattr(stmt, "body", None)) if stmt is not None else False


class _Printer:
    """One method per node kind, called by its name in lower case."""

    def any(self, node: t.Node) -> str:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).lower()
        return str(getattr(self, f"{name}_" if iskeyword(name) else name)(node))

    # expressions

    def at(self, node: t.Expr, level: int) -> str:
        """An expression, in parentheses if it would be torn apart there."""
        text = self.any(node)
        return text if self._level(node) >= level else f"({text})"

    def _level(self, node: t.Expr) -> int:
        if isinstance(node, t.Conditional):
            return EXPR
        if isinstance(node, t.Binary):
            return _LEVELS.get(node.operator, MUL)
        if isinstance(node, t.Unary):
            return ADD if node.operator == "-" and isinstance(node.operand, t.Call) else UNARY
        return UNARY if isinstance(node, t.Integer) and node.value < 0 else PRIM

    def _minus(self, text: str) -> str:
        return f"({text})" if _starts_with_word(text) else text

    def unsigned(self, node: t.Expr, level: int = ADD) -> str:
        """An expression that may stand behind another."""
        text = self.at(node, level)
        return f"({text})" if text[0] in "+-" else text

    def integer(self, node: t.Integer) -> str:
        return str(node.value)

    def variable(self, node: t.Variable) -> str:
        return node.name

    def my_task(self, node: t.MyTask) -> str:
        return "MY TASK"

    def unary(self, node: t.Unary) -> str:
        operand = self.at(node.operand, UNARY)
        if node.operator == "NOT":
            return f"NOT {operand}"
        if node.operator == "-" and isinstance(node.operand, t.Call):
            return f"0 - ({operand})"
        return node.operator + (self._minus(operand) if node.operator == "-" else operand)

    def binary(self, node: t.Binary) -> str:
        level = _LEVELS.get(node.operator, MUL)
        if node.operator == "**":
            return f"{self.at(node.left, PRIM)}**{self.at(node.right, UNARY)}"
        left, right = self.at(node.left, level), self.at(node.right, level + 1)
        return f"{left} {node.operator} {self._minus(right) if node.operator == '-' else right}"

    def conditional(self, node: t.Conditional) -> str:
        value, otherwise = self.at(node.value, ADD), self.at(node.otherwise, EXPR)
        return f"{value} IF {self.any(node.condition)} OTHERWISE {otherwise}"

    def _list(self, nodes: Iterable[t.Node]) -> str:
        return ", ".join(map(self.any, nodes))

    def call(self, node: t.Call) -> str:
        return f"{node.function}({self._list(node.arguments)})"

    def real(self, node: t.Real) -> str:
        return f"REAL({self.any(node.operand)})"

    def dimension(self, node: t.Dimension) -> str:
        return self.any(node.size) + "*" * node.wraps

    def mesh_neighbor(self, node: t.MeshNeighbor) -> str:
        mesh, offsets = self._list(node.mesh), self._list(node.offsets)
        return f"MESH_NEIGHBOR(({mesh}), {self.any(node.task)}, ({offsets}))"

    def mesh_coordinate(self, node: t.MeshCoordinate) -> str:
        return f"MESH_COORDINATE(({self._list(node.mesh)}), {self.any(node.task)}, {self.any(node.axis)})"

    def mesh_distance(self, node: t.MeshDistance) -> str:
        return f"MESH_DISTANCE(({self._list(node.mesh)}), {self.any(node.first)}, {self.any(node.second)})"

    def file_data(self, node: t.FileData) -> str:
        parts = [_string(node.path)]
        parts += [self.any(expr) for expr in (node.column, node.row) if expr is not None]
        separators = (node.column_separators, node.row_separators)
        parts += [_string(text) for text in separators if text is not None]
        return f"{'STATIC_' * node.static}FILE_DATA({', '.join(parts)})"

    # relations and ranges

    def compare(self, node: t.Compare) -> str:
        return f"{self.any(node.left)} {node.operator} {self.any(node.right)}"

    def parity(self, node: t.Parity) -> str:
        return f"{self.any(node.operand)} IS {'ODD' if node.odd else 'EVEN'}"

    def within(self, node: t.Within) -> str:
        return f"{self.any(node.operand)} IS {'NOT ' * node.negated}IN {self._list(node.ranges)}"

    def between(self, node: t.Between) -> str:
        interval = f"[{self.any(node.low)}, {self.any(node.high)}]"
        return f"{self.any(node.operand)} IS {'NOT ' * node.negated}IN {interval}"

    def logical(self, node: t.Logical) -> str:
        def side(rel: t.Rel, right: bool) -> str:
            text = self.any(rel)
            if not isinstance(rel, t.Logical) or (rel.conjunction and not node.conjunction):
                return text
            return text if rel.conjunction == node.conjunction and not right else f"({text})"

        word = "/\\" if node.conjunction else "\\/"
        return f"{side(node.left, False)} {word} {side(node.right, True)}"

    def listing(self, node: t.Listing) -> str:
        return f"{{{self._list(node.values)}}}"

    def progression(self, node: t.Progression) -> str:
        return f"{{{self._list(node.leading)}, ..., {self.any(node.final)}}}"

    def generator(self, node: t.Generator) -> str:
        return f"FOR EACH {node.variable} IN {self._list(node.ranges)}"

    def comprehension(self, node: t.Comprehension) -> str:
        generators = " ".join(map(self.any, node.generators))
        where = f" WHERE {self.any(node.condition)}" if node.condition else ""
        return f"{{{self.any(node.head)} {generators}{where}}}"

    # task descriptions

    def all_tasks(self, node: t.AllTasks) -> str:
        return _words("ALL TASKS", node.variable or "")

    def all_others(self, node: t.AllOthers) -> str:
        return "ALL OTHER TASKS"

    def one_task(self, node: t.OneTask) -> str:
        return f"TASK {self.at(node.task, ADD)}"

    def such_that(self, node: t.SuchThat) -> str:
        return f"TASKS {node.variable} SUCH THAT {self.any(node.condition)}"

    def task_ranges(self, node: t.TaskRanges) -> str:
        return f"TASKS {self._list(node.ranges)}"

    def task_group(self, node: t.TaskGroup) -> str:
        return f"TASK GROUP {node.name}"

    def does(self, tasks: t.Tasks, verb: str) -> str:
        """Tasks and what they do: TASK 0 SENDS, but ALL TASKS SEND."""
        one = isinstance(tasks, t.OneTask)
        ending = "" if not one else "ES" if verb.endswith("TOUCH") else "S"
        return f"{self.any(tasks)} {verb}{ending}"

    # messages

    def measure(self, node: t.Measure) -> str:
        unit = node.unit.removesuffix("S")
        return unit if node.amount is None else f"{self.unsigned(node.amount)} {unit}"

    def _count(self, count: t.Expr | None) -> str:
        return "A" if count is None else self.at(count, ADD)

    def _size(self, size: t.Measure | None) -> str:
        if size is None:
            return ""
        return self.measure(size) + (" SIZED" if size.amount is None else "")

    def alignment(self, node: t.Alignment | None) -> str:
        if node is None:
            return ""
        return _words(self.measure(node.measure) if node.measure else "", node.kind)

    def _unique(self, unique: bool | None) -> str:
        return {None: "", True: "UNIQUE", False: "NONUNIQUE"}[unique]

    def touching(self, node: t.Touching) -> str:
        what = "VERIFICATION" if node.verification else "DATA TOUCHING"
        return f"{'WITH' if node.wanted else 'WITHOUT'} {what}"

    def buffer(self, node: t.Buffer) -> str:
        name = "THE DEFAULT BUFFER" if node.number is None else f"BUFFER {self.at(node.number, ADD)}"
        return f"{self.measure(node.offset)} INTO {name}" if node.offset else name

    def _clauses(self, node: Any, preposition: str) -> str:
        """Touching, tag and buffer."""
        tag = _string(node.tag) if isinstance(node.tag, str) else node.tag and self.at(node.tag, ADD)
        return _words(
            self.any(node.touching) if node.touching else "",
            f"USING TAG {tag}" if tag else "",
            f"{preposition} {self.any(node.buffer)}" if node.buffer else "",
        )

    def message(self, node: t.Message, preposition: str = "FROM") -> str:
        return _words(
            self._count(node.count),
            self._unique(node.unique),
            self._size(node.size),
            self.alignment(node.alignment),
            "MESSAGE" if node.count in (None, t.Integer(1)) else "MESSAGES",
            self._clauses(node, preposition),
        )

    def reception(self, node: t.Reception) -> str:
        form = _words(self._unique(node.unique), self.alignment(node.alignment))
        rest = _words(self._async(node.asynchronous), self._clauses(node, "INTO"))
        shown = f"AS A {form} MESSAGE" if form else "" if rest else "AS A MESSAGE"
        return _words(self._async(node.asynchronous), shown, self._clauses(node, "INTO"))

    def _async(self, asynchronous: bool | None) -> str:
        return {None: "", True: "ASYNCHRONOUSLY", False: "SYNCHRONOUSLY"}[asynchronous]

    def values(self, node: t.Values) -> str:
        unit = node.unit if node.count not in (None, t.Integer(1)) else node.unit.removesuffix("S")
        form = _words(
            self._count(node.count), self._unique(node.unique), self.alignment(node.alignment), unit
        )
        return _words(form, self._clauses(node, "FROM"))

    def result(self, node: t.Result) -> str:
        form = f"AS {self.values(node.values)}" if node.values else ""
        return _words(form, self._clauses(node, "INTO"))

    # statements

    def _does_async(self, node: Any, tasks: t.Tasks, verb: str) -> str:
        word = self._async(node.asynchronous)
        return self.does(tasks, f"{word} {verb}" if word else verb)

    def send(self, node: t.Send) -> str:
        text = f"{self._does_async(node, node.source, 'SEND')} {self.message(node.message)} TO"
        text += f" {'UNSUSPECTING ' * node.unsuspecting}{self.any(node.target)}"
        if node.reception:
            text += (
                f" WHO {self.does(node.target, 'RECEIVE').rpartition(' ')[2]} IT {self.any(node.reception)}"
            )
        return text

    def receive(self, node: t.Receive) -> str:
        does = self._does_async(node, node.target, "RECEIVE")
        return f"{does} {self.message(node.message, 'INTO')} FROM {self.any(node.source)}"

    def multicast(self, node: t.Multicast) -> str:
        does = self._does_async(node, node.source, "MULTICAST")
        return f"{does} {self.message(node.message)} TO {self.any(node.target)}"

    def reduce(self, node: t.Reduce) -> str:
        text = f"{self.does(node.source, 'REDUCE')} {self.values(node.values)}"
        if node.to:
            return f"{text} TO {self.values(node.to)}"
        if node.target:
            text += f" TO {self.any(node.target)}"
        if node.result:
            who = "RECEIVES" if isinstance(node.target, t.OneTask) else "RECEIVE"
            text = _words(f"{text} WHO {who} THE RESULT", self.result(node.result))
        return text

    def await_(self, node: t.Await) -> str:
        return f"{self.does(node.tasks, 'AWAIT')} COMPLETION"

    def synchronize(self, node: t.Synchronize) -> str:
        return self.does(node.tasks, "SYNCHRONIZE")

    def delay(self, node: t.Delay) -> str:
        does = self.does(node.tasks, "SLEEP" if node.sleeps else "COMPUTE")
        return f"{does} FOR {self.at(node.duration, ADD)} {node.unit}"

    def touch_memory(self, node: t.TouchMemory) -> str:
        some = f"{self._typed(node.amount)} OF" if node.amount else ""
        times = f"{self.at(node.times, ADD)} TIMES" if node.times else ""
        stride = f"WITH STRIDE {self._typed(node.stride)}" if node.stride else ""
        return _words(
            self.does(node.tasks, "TOUCH"),
            some,
            "A",
            self._size(node.region),
            "MEMORY REGION",
            times,
            "WITH RANDOM STRIDE" if node.random_stride else stride,
        )

    def _typed(self, measure: t.Measure) -> str:
        assert measure.amount is not None
        return f"{self.at(measure.amount, ADD)} {measure.unit}"

    def touch_buffers(self, node: t.TouchBuffers) -> str:
        does = self.does(node.tasks, "TOUCH")
        if node.current:
            return f"{does} THE CURRENT MESSAGE BUFFER"
        if node.number is None:
            return f"{does} ALL MESSAGE BUFFERS"
        return f"{does} MESSAGE BUFFER {self.at(node.number, ADD)}"

    def value_of(self, node: t.ValueOf) -> str:
        return f"THE VALUE OF {_string(node.key)}"

    def item(self, item: t.Item) -> str:
        return _string(item) if isinstance(item, str) else self.any(item)

    def aggregate(self, node: t.Aggregate) -> str:
        if node.percentile is not None:
            return f"{self.at(node.percentile, ADD)} PERCENTILE"
        return node.function

    def column(self, node: t.Column) -> str:
        functions = " AND ".join(map(self.any, node.functions))
        form = {"OF": f"THE {functions} OF", "HISTOGRAM": "A HISTOGRAM OF"}.get(node.form, node.form)
        return f"{_words(form, self.at(node.value, ADD))} AS {self.item(node.label)}"

    def log(self, node: t.Log) -> str:
        columns = [self.any(column) for column in node.columns]
        does = self.does(node.tasks, "LOG")
        if len(columns) == 1:
            return f"{does} {columns[0]}"
        return f"{does}\n" + _indented(" AND\n".join(columns))

    def compute_aggregates(self, node: t.ComputeAggregates) -> str:
        return f"{self.does(node.tasks, 'COMPUTE')} AGGREGATES"

    def counters(self, node: t.Counters) -> str:
        owner = "ITS" if isinstance(node.tasks, t.OneTask) else "THEIR"
        return f"{self.does(node.tasks, node.action.removesuffix('S'))} {owner} COUNTERS"

    def _items(self, items: Iterable[t.Item]) -> str:
        return " AND ".join(map(self.item, items))

    def output(self, node: t.Output) -> str:
        return f"{self.does(node.tasks, 'OUTPUT')} {self._items(node.items)}"

    def backend_execute(self, node: t.BackendExecute) -> str:
        return f"{self.does(node.tasks, 'BACKEND EXECUTE')} {self._items(node.items)}"

    def assign(self, node: t.Assign) -> str:
        be = "IS" if isinstance(node.tasks, t.OneTask) else "ARE"
        where = (
            "A RANDOM PROCESSOR" if node.processor is None else f"PROCESSOR {self.at(node.processor, ADD)}"
        )
        return f"{self.any(node.tasks)} {be} ASSIGNED TO {where}"

    def assert_(self, node: t.Assert) -> str:
        return f"ASSERT THAT {_string(node.text)} WITH {self.any(node.condition)}"

    def _body(self, head: str, body: t.Statement) -> str:
        text = self.any(body)
        return f"{head} {text}" if isinstance(body, t.Block) else f"{head}\n{_indented(text)}"

    def for_each(self, node: t.ForEach) -> str:
        return self._body(f"FOR EACH {node.variable} IN {self._list(node.ranges)}", node.body)

    def _warmup(self, node: t.ForCount | t.ForTime, unit: str) -> str:
        if node.warmup is None:
            return ""
        also = " AND A SYNCHRONIZATION" * node.synchronized
        return f"PLUS {self.at(node.warmup, ADD)} WARMUP {unit}{also}"

    def for_count(self, node: t.ForCount) -> str:
        head = f"FOR {self.at(node.count, ADD)} REPETITIONS"
        return self._body(_words(head, self._warmup(node, "REPETITIONS")), node.body)

    def for_time(self, node: t.ForTime) -> str:
        head = f"FOR {self.at(node.duration, ADD)} {node.unit}"
        return self._body(_words(head, self._warmup(node, node.warmup_unit or "")), node.body)

    def let_value(self, node: t.LetValue) -> str:
        return f"{node.name} BE {self.any(node.value)}"

    def let_tasks(self, node: t.LetTasks) -> str:
        return f"{node.name} BE {self.any(node.tasks)}"

    def let_random(self, node: t.LetRandom) -> str:
        bounds = {
            "OTHER": lambda: f"OTHER THAN {self.any(node.but)}",  # type: ignore[arg-type]
            "LESS": lambda: f"LESS THAN {self.any(node.high)}",  # type: ignore[arg-type]
            "GREATER": lambda: f"GREATER THAN {self.any(node.low)}",  # type: ignore[arg-type]
            "IN": lambda: f"IN [{self.any(node.low)}, {self.any(node.high)}]",  # type: ignore[arg-type]
        }
        form = bounds[node.form]() if node.form else ""
        but = f"BUT NOT {self.any(node.but)}" if node.but and node.form != "OTHER" else ""
        return _words(f"{node.name} BE A RANDOM TASK", form, but)

    def let(self, node: t.Let) -> str:
        return self._body(f"LET {' AND '.join(map(self.any, node.bindings))} WHILE", node.body)

    def if_(self, node: t.If) -> str:
        then = node.then
        if node.otherwise is not None and _is_open(then):
            then = t.Block((then,))
        text = self._body(f"IF {self.any(node.condition)} THEN", then)
        if node.otherwise is None:
            return text
        gap = " " if isinstance(then, t.Block) else "\n"
        if isinstance(node.otherwise, t.If):
            return f"{text}{gap}OTHERWISE {self.any(node.otherwise)}"
        return text + gap + self._body("OTHERWISE", node.otherwise)

    def block(self, node: t.Block) -> str:
        if not node.statements:
            return "{ }"
        return "{\n" + _indented(" THEN\n".join(map(self.any, node.statements))) + "\n}"

    # the program

    def version(self, node: t.Version) -> str:
        return f"REQUIRE LANGUAGE VERSION {_string(node.text)}."

    def parameter(self, node: t.Parameter) -> str:
        options = f"{_string(node.long)} OR {_string(node.short)}"
        default = self.any(node.default)
        return f"{node.name} IS {_string(node.help)} AND COMES FROM {options} WITH DEFAULT {default}."

    def backend_declares(self, node: t.BackendDeclares) -> str:
        return f"THE BACKEND DECLARES {_string(node.text)}."

    def sentence(self, node: t.Sentence) -> str:
        return " THEN\n".join(map(self.any, node.statements)) + "."

    def program(self, node: t.Program) -> str:
        headers = "".join(self.any(header) + "\n" for header in node.headers)
        sentences = "\n".join(self.any(sentence) + "\n" for sentence in node.sentences)
        return headers + ("\n" if headers and sentences else "") + sentences
