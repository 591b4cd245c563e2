"""Expressions, relations, ranges and task descriptions as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from keyword import iskeyword
from typing import cast

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.words import KEYWORDS

__all__ = ["ADD", "PartsPrinter", "indent", "join_words", "quote"]

EXPR, ADD, MUL, UNARY, POWER, PRIM = range(6)
_LEVELS = {"+": ADD, "-": ADD, "**": POWER}
_BITWISE = frozenset({"|", "XOR", "&", ">>", "<<"})
"""Operators that always stand in parentheses: their precedence is not that of C."""

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_WORD = re.compile(r"[A-Za-z]\w*")
INDENT = "  "


def quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def join_words(*words: str) -> str:
    return " ".join(word for word in words if word)


def indent(text: str) -> str:
    return "\n".join(INDENT + line for line in text.split("\n"))


def _starts_with_word(text: str) -> bool:
    result = _WORD.match(text)
    return result is not None and result.group().lower() in KEYWORDS


@cache
def _method(kind: str) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
    return f"{name}_" if iskeyword(name) else name


class PartsPrinter:
    """One method per node kind, called by its name in lower case."""

    def any(self, node: t.SyntaxNode) -> str:
        return str(getattr(self, _method(type(node).__name__))(node))

    # expressions

    def at(self, node: t.Expr, level: int) -> str:
        """Return an expression, in parentheses if it binds less tightly than a level."""
        text = self.any(node)
        return text if self._level(node) >= level else f"({text})"

    def _level(self, node: t.Expr) -> int:
        if isinstance(node, t.Conditional):
            return EXPR
        if isinstance(node, t.BinaryOperation):
            return PRIM if node.operator in _BITWISE else _LEVELS.get(node.operator, MUL)
        if isinstance(node, t.Unary):
            return ADD if node.operator == "-" and isinstance(node.operand, t.FunctionCall) else UNARY
        return UNARY if isinstance(node, t.Integer) and node.value < 0 else PRIM

    def _minus(self, text: str) -> str:
        return f"({text})" if _starts_with_word(text) else text

    def atom(self, node: t.Expr) -> str:
        """Return an expression that other words may follow or precede."""
        return self.at(node, PRIM)

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
        if node.operator == "-" and isinstance(node.operand, t.FunctionCall):
            return f"0 - ({operand})"
        return node.operator + (self._minus(operand) if node.operator == "-" else operand)

    def binary_operation(self, node: t.BinaryOperation) -> str:
        if node.operator == "**":
            return f"{self.at(node.left, PRIM)}**{self.at(node.right, UNARY)}"
        if node.operator in _BITWISE:
            return f"({self.atom(node.left)} {node.operator} {self.atom(node.right)})"
        level, terms = self._level(node), []
        left: t.Expr = node
        while isinstance(left, t.BinaryOperation) and self._level(left) == level:  # a long sum in one go
            right = self.at(left.right, level + 1)
            terms.append(f"{left.operator} {self._minus(right) if left.operator == '-' else right}")
            left = left.left
        return " ".join((self.at(left, level), *reversed(terms)))

    def conditional(self, node: t.Conditional) -> str:
        text, expr = "", cast(t.Expr, node)
        while isinstance(expr, t.Conditional):  # a long chain in one go
            text += f"{self.at(expr.value, ADD)} IF {self.any(expr.condition)} OTHERWISE "
            expr = expr.otherwise
        return text + self.any(expr)

    def _list(self, nodes: Iterable[t.SyntaxNode]) -> str:
        return ", ".join(map(self.any, nodes))

    def function_call(self, node: t.FunctionCall) -> str:
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
        parts = [quote(node.path)]
        parts += [self.any(expr) for expr in (node.column, node.row) if expr is not None]
        separators = (node.column_separators, node.row_separators)
        parts += [quote(text) for text in separators if text is not None]
        return f"{'STATIC_' * node.static}FILE_DATA({', '.join(parts)})"

    # relations and ranges

    def number_comparison(self, node: t.NumberComparison) -> str:
        return f"{self.at(node.left, ADD)} {node.operator} {self.at(node.right, ADD)}"

    def parity(self, node: t.Parity) -> str:
        return f"{self.at(node.operand, ADD)} IS {'ODD' if node.odd else 'EVEN'}"

    def within(self, node: t.Within) -> str:
        return f"{self.at(node.operand, ADD)} IS {'NOT ' * node.negated}IN {self._list(node.ranges)}"

    def between(self, node: t.Between) -> str:
        interval = f"[{self.any(node.low)}, {self.any(node.high)}]"
        return f"{self.at(node.operand, ADD)} IS {'NOT ' * node.negated}IN {interval}"

    def logical(self, node: t.Logical) -> str:
        """Print a chain of one kind flat, and parts of the other kind in parentheses."""
        parts: list[str] = []
        left: t.Rel = node
        while isinstance(left, t.Logical) and left.conjunction == node.conjunction:
            parts.append(self._operand(left.right))
            left = left.left
        return (" /\\ " if node.conjunction else " \\/ ").join((self._operand(left), *reversed(parts)))

    def _operand(self, rel: t.Rel) -> str:
        return f"({self.any(rel)})" if isinstance(rel, t.Logical) else self.any(rel)

    def listing(self, node: t.Listing) -> str:
        return f"{{{self._list(node.values)}}}"

    def open_range(self, node: t.OpenRange) -> str:
        return f"{{{self._list(node.leading)}, ..., {self.any(node.final)}}}"

    def generator(self, node: t.Generator) -> str:
        return f"FOR EACH {node.variable} IN {self._list(node.ranges)}"

    def comprehension(self, node: t.Comprehension) -> str:
        generators = " ".join(map(self.any, node.generators))
        where = f" WHERE {self.any(node.condition)}" if node.condition else ""
        return f"{{{self.any(node.head)} {generators}{where}}}"

    # task descriptions

    def all_tasks(self, node: t.AllTasks) -> str:
        return join_words("ALL TASKS", node.variable or "")

    def all_others(self, node: t.AllOthers) -> str:
        return "ALL OTHER TASKS"

    def one_task(self, node: t.OneTask) -> str:
        return f"TASK {self.atom(node.task)}"

    def such_that(self, node: t.SuchThat) -> str:
        return f"TASKS {node.variable} SUCH THAT {self.any(node.condition)}"

    def task_ranges(self, node: t.TaskRanges) -> str:
        return f"TASKS {self._list(node.ranges)}"

    def task_group(self, node: t.TaskGroup) -> str:
        return f"TASK GROUP {node.name}"

    def does(self, tasks: t.Tasks, verb: str) -> str:
        """Tasks and what they do: TASK 0 SENDS, but ALL TASKS SEND."""
        single = isinstance(tasks, t.OneTask)
        ending = "" if not single else "ES" if verb.endswith("TOUCH") else "S"
        return f"{self.any(tasks)} {verb}{ending}"
