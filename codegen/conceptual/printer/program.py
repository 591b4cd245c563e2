"""Tree -> text, as a person would write it and as the language's first compiler reads it.

Pitfalls of that compiler that the text avoids: a hyphen before a reserved word vanishes, so what would start
with one stands in parentheses; a number swallows letters behind it, so a space follows; of two expressions
side by side the second must not start with a sign; `-(F(1))` means F(-1) there, so it is written 0 - (F(1)).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.printer.parts import ADD, PartsPrinter, indent, join_words, quote

__all__ = ["show"]


def show(node: t.SyntaxNode) -> str:
    """Return the text of a program, or of any part of one."""
    return _ProgramPrinter().any(node)


def _is_open(stmt: t.Statement | None) -> bool:
    """Whether an OTHERWISE behind the statement would be taken to be its own."""
    if isinstance(stmt, t.If):
        return stmt.otherwise is None or _is_open(stmt.otherwise)
    return _is_open(getattr(stmt, "body", None)) if stmt is not None else False


def _add_comments(lines: Iterable[str]) -> list[str]:
    return [f"# {line}" for line in lines]


class _ProgramPrinter(PartsPrinter):
    """Messages, statements and programs, too."""

    # messages

    def unit_amount(self, node: t.UnitAmount) -> str:
        unit = node.unit.removesuffix("S")
        return unit if node.amount is None else f"{self.atom(node.amount)} {unit}"

    def _count(self, count: t.Expr | None) -> str:
        return "A" if count is None else self.atom(count)

    def _size(self, size: t.UnitAmount | None) -> str:
        if size is None:
            return ""
        return self.unit_amount(size) + (" SIZED" if size.amount is None else "")

    def alignment(self, node: t.Alignment | None) -> str:
        if node is None:
            return ""
        return join_words(self.unit_amount(node.measure) if node.measure else "", node.kind)

    def _unique(self, unique: bool | None) -> str:
        return {None: "", True: "UNIQUE", False: "NONUNIQUE"}[unique]

    def touching(self, node: t.Touching) -> str:
        keyword = "VERIFICATION" if node.verification else "DATA TOUCHING"
        return f"{'WITH' if node.wanted else 'WITHOUT'} {keyword}"

    def message_buffer(self, node: t.MessageBuffer) -> str:
        name = "THE DEFAULT BUFFER" if node.number is None else f"BUFFER {self.atom(node.number)}"
        return f"{self.unit_amount(node.offset)} INTO {name}" if node.offset else name

    def _clauses(self, node: Any, preposition: str) -> str:
        """Touching, tag and buffer."""
        tag = quote(node.tag) if isinstance(node.tag, str) else node.tag and self.atom(node.tag)
        return join_words(
            self.any(node.touching) if node.touching else "",
            f"USING TAG {tag}" if tag else "",
            f"{preposition} {self.any(node.buffer)}" if node.buffer else "",
        )

    def message_spec(self, node: t.MessageSpec, preposition: str = "FROM") -> str:
        return join_words(
            self._count(node.count),
            self._unique(node.unique),
            self._size(node.size),
            self.alignment(node.alignment),
            "MESSAGE" if node.count in (None, t.Integer(1)) else "MESSAGES",
            self._clauses(node, preposition),
        )

    def reception(self, node: t.Reception) -> str:
        form = join_words(self._unique(node.unique), self.alignment(node.alignment))
        clauses = join_words(self._async(node.asynchronous), self._clauses(node, "INTO"))
        shown = f"AS A {form} MESSAGE" if form else "" if clauses else "AS A MESSAGE"
        return join_words(self._async(node.asynchronous), shown, self._clauses(node, "INTO"))

    def _async(self, asynchronous: bool | None) -> str:
        return {None: "", True: "ASYNCHRONOUSLY", False: "SYNCHRONOUSLY"}[asynchronous]

    def reduction_values(self, node: t.ReductionValues) -> str:
        unit = node.unit if node.count not in (None, t.Integer(1)) else node.unit.removesuffix("S")
        form = join_words(
            self._count(node.count), self._unique(node.unique), self.alignment(node.alignment), unit
        )
        return join_words(form, self._clauses(node, "FROM"))

    def reduction_result(self, node: t.ReductionResult) -> str:
        form = f"AS {self.reduction_values(node.values)}" if node.values else ""
        return join_words(form, self._clauses(node, "INTO"))

    # statements

    def _does_async(self, node: Any, tasks: t.Tasks, verb: str) -> str:
        word = self._async(node.asynchronous)
        return self.does(tasks, f"{word} {verb}" if word else verb)

    def send(self, node: t.Send) -> str:
        text = f"{self._does_async(node, node.source, 'SEND')} {self.message_spec(node.message)} TO"
        text += f" {'UNSUSPECTING ' * node.unsuspecting}{self.any(node.target)}"
        if node.reception:
            text += (
                f" WHO {self.does(node.target, 'RECEIVE').rpartition(' ')[2]} IT {self.any(node.reception)}"
            )
        return text

    def receive(self, node: t.Receive) -> str:
        does = self._does_async(node, node.target, "RECEIVE")
        return f"{does} {self.message_spec(node.message, 'INTO')} FROM {self.any(node.source)}"

    def multicast(self, node: t.Multicast) -> str:
        does = self._does_async(node, node.source, "MULTICAST")
        return f"{does} {self.message_spec(node.message)} TO {self.any(node.target)}"

    def reduce(self, node: t.Reduce) -> str:
        text = f"{self.does(node.source, 'REDUCE')} {self.reduction_values(node.values)}"
        if node.to:
            return f"{text} TO {self.reduction_values(node.to)}"
        if node.target:
            text += f" TO {self.any(node.target)}"
        if node.result:
            who = "RECEIVES" if isinstance(node.target, t.OneTask) else "RECEIVE"
            text = join_words(f"{text} WHO {who} THE RESULT", self.reduction_result(node.result))
        return text

    def await_(self, node: t.Await) -> str:
        return f"{self.does(node.tasks, 'AWAIT')} COMPLETION"

    def synchronize(self, node: t.Synchronize) -> str:
        return self.does(node.tasks, "SYNCHRONIZE")

    def delay(self, node: t.Delay) -> str:
        does = self.does(node.tasks, "SLEEP" if node.sleeps else "COMPUTE")
        unit = node.unit.removesuffix("S") if node.duration == t.Integer(1) else node.unit
        return f"{does} FOR {self.atom(node.duration)} {unit}"

    def touch_memory(self, node: t.TouchMemory) -> str:
        amount = f"{self._typed(node.amount)} OF" if node.amount else ""
        times = f"{self.atom(node.times)} TIMES" if node.times else ""
        stride = f"WITH STRIDE {self._typed(node.stride)}" if node.stride else ""
        return join_words(
            self.does(node.tasks, "TOUCH"),
            amount,
            "A",
            self._size(node.region),
            "MEMORY REGION",
            times,
            "WITH RANDOM STRIDE" if node.random_stride else stride,
        )

    def _typed(self, measure: t.UnitAmount) -> str:
        assert measure.amount is not None
        return f"{self.atom(measure.amount)} {measure.unit}"

    def touch_buffers(self, node: t.TouchBuffers) -> str:
        does = self.does(node.tasks, "TOUCH")
        if node.current:
            return f"{does} THE CURRENT MESSAGE BUFFER"
        if node.number is None:
            return f"{does} ALL MESSAGE BUFFERS"
        return f"{does} MESSAGE BUFFER {self.atom(node.number)}"

    def value_of(self, node: t.ValueOf) -> str:
        return f"THE VALUE OF {quote(node.key)}"

    def item(self, item: t.Item) -> str:
        return quote(item) if isinstance(item, str) else self.any(item)

    def aggregate(self, node: t.Aggregate) -> str:
        if node.percentile is not None:
            return f"{self.atom(node.percentile)} PERCENTILE"
        return node.function

    def log_column(self, node: t.LogColumn) -> str:
        functions = " AND ".join(map(self.any, node.functions))
        form = {"OF": f"THE {functions} OF", "HISTOGRAM": "A HISTOGRAM OF"}.get(node.form, node.form)
        return f"{join_words(form, self.at(node.value, ADD))} AS {self.item(node.label)}"

    def log(self, node: t.Log) -> str:
        columns = [self.any(column) for column in node.columns]
        does = self.does(node.tasks, "LOG")
        if len(columns) == 1:
            return f"{does} {columns[0]}"
        return f"{does}\n" + indent(" AND\n".join(columns))

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
        where = "A RANDOM PROCESSOR" if node.processor is None else f"PROCESSOR {self.atom(node.processor)}"
        return f"{self.any(node.tasks)} {be} ASSIGNED TO {where}"

    def assert_(self, node: t.Assert) -> str:
        return f"ASSERT THAT {quote(node.text)} WITH {self.any(node.condition)}"

    def _body(self, head: str, body: t.Statement) -> str:
        text = self.any(body)
        same_line = isinstance(body, t.Block) or "\n" not in text
        return f"{head} {text}" if same_line else f"{head}\n{indent(text)}"

    def for_each(self, node: t.ForEach) -> str:
        return self._body(f"FOR EACH {node.variable} IN {self._list(node.ranges)}", node.body)

    def _warmup(self, node: t.ForCount | t.ForTime, unit: str) -> str:
        if node.warmup is None:
            return ""
        also = " AND A SYNCHRONIZATION" * node.synchronized
        return f"PLUS {self.atom(node.warmup)} WARMUP {unit}{also}"

    def for_count(self, node: t.ForCount) -> str:
        head = f"FOR {self.atom(node.count)} REPETITIONS"
        return self._body(join_words(head, self._warmup(node, "REPETITIONS")), node.body)

    def for_time(self, node: t.ForTime) -> str:
        head = f"FOR {self.atom(node.duration)} {node.unit}"
        return self._body(join_words(head, self._warmup(node, node.warmup_unit or "")), node.body)

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
        return join_words(f"{node.name} BE A RANDOM TASK", form, but)

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
        return "{\n" + indent(self._sequence(node.statements, "")) + "\n}"

    def _sequence(self, statements: Sequence[t.Statement], end: str) -> str:
        """Print statements in order, each with its comments: THEN between them, `end` behind the last."""
        lines: list[str] = []
        for number, statement in enumerate(statements, 1):
            comments = statement.comments
            behind = f"  # {comments.behind}" if comments.behind else ""
            lines += _add_comments(comments.above)
            lines.append(f"{self.any(statement)}{' THEN' if number < len(statements) else end}{behind}")
            lines += _add_comments(comments.below)
        return "\n".join(lines)

    # the program

    def version(self, node: t.Version) -> str:
        return f"REQUIRE LANGUAGE VERSION {quote(node.text)}."

    def program_parameter(self, node: t.ProgramParameter) -> str:
        options = f"{quote(node.long)} OR {quote(node.short)}"
        default = self.any(node.default)
        return f"{node.name} IS {quote(node.help)} AND COMES FROM {options} WITH DEFAULT {default}."

    def backend_declares(self, node: t.BackendDeclares) -> str:
        return f"THE BACKEND DECLARES {quote(node.text)}."

    def sentence(self, node: t.Sentence) -> str:
        return self._sequence(node.statements, ".")

    def program_tree(self, node: t.ProgramTree) -> str:
        comments = "\n".join(_add_comments(node.comments.above))
        headers, sentences = ("\n".join(map(self.any, parts)) for parts in (node.headers, node.sentences))
        return "\n\n".join(part for part in (comments, headers, sentences) if part) + "\n"
