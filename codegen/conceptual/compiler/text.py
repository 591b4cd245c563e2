"""Expressions, relations and ranges in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.compiler.operators import (
    array,
    integer_function,
    integer_operator,
    real_function,
    real_operator,
)
from scalatrace.codegen.conceptual.errors import SourcePlace
from scalatrace.codegen.conceptual.names import free
from scalatrace.codegen.conceptual.words import PREDECLARED

__all__ = ["Functions", "Names", "TextScope", "c_place", "c_string", "condition", "integer", "ranges", "real"]

COUNTERS = {name: f"run.now.{name}" for name in PREDECLARED} | {
    "elapsed_usecs": "nc_elapsed_usecs()",
    "total_bytes": "(run.now.bytes_sent + run.now.bytes_received)",
    "total_msgs": "(run.now.msgs_sent + run.now.msgs_received)",
}
COMPARISONS = {"=": "==", "<>": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}

Names = Mapping[str, str]


@dataclass
class Functions:
    """C functions made along the way."""

    texts: list[str] = field(default_factory=list)

    def name(self, kind: str) -> str:
        """Return a new name."""
        return f"{kind}_{len(self.texts) + 1}"


@dataclass(frozen=True)
class TextScope:
    """What names mean at a place.

    Attributes:
        names: variable -> C text; task groups by "GROUP name".
        functions: where helpers go.
        running: whether this is executed when the program runs, so that counters have values.
    """

    names: Names
    functions: Functions
    running: bool = False

    def bind(self, name: str | None, text: str) -> TextScope:
        """Return this with one more name."""
        return self if name is None else TextScope({**self.names, name: text}, self.functions, self.running)

    def captured(self, nodes: Iterable[t.SyntaxNode]) -> tuple[str, TextScope]:
        """Return C text for the variables that some nodes use, and what these are inside a function."""
        used = sorted({name for node in nodes for name in free(node)} & set(self.names))
        local = [name for name in used if not self.names[name].startswith("p_")]
        inner = {name: f"v[{n}]" for n, name in enumerate(local)}
        outer = {name: text for name, text in self.names.items() if text.startswith("p_")}
        values = ", ".join([*(self.names[name] for name in local), "0"])
        return f"(const num[]){{{values}}}", TextScope({**outer, **inner}, self.functions, self.running)


def c_string(text: str) -> str:
    """Return a string literal, whatever the text holds."""
    plain = {ord("\n"): "\\n", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    shown = (plain.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode())
    return '"' + "".join(shown) + '"'


def c_place(place: SourcePlace) -> str:
    """Return a struct place."""
    return f"(struct place){{{place.line}, {place.column}}}"


def _at(node: t.SyntaxNode, text: str) -> str:
    return f"(nc_at({node.place.line}, {node.place.column}), {text})"


def integer(node: t.Expr, scope: TextScope) -> str:
    """Return a value in integers, with its place for when it has none."""
    text = _int(node, scope)
    return text if isinstance(node, (t.Integer, t.Variable)) else _at(node, text)


def real(node: t.Expr, scope: TextScope) -> str:
    """Return a value in floating point."""
    text = _real(node, scope)
    return text if isinstance(node, (t.Integer, t.Variable)) else _at(node, text)


def condition(node: t.Rel, scope: TextScope) -> str:
    """Return whether a relation is true."""
    return _at(node, _rel(node, scope, _int))


def _variable(name: str, scope: TextScope) -> str:
    if name in scope.names:
        return scope.names[name]
    if name == "num_tasks":
        return "(num)nc.tasks"
    return COUNTERS[name] if scope.running else "(num)0"


def _int(node: t.Expr, scope: TextScope) -> str:
    match node:
        case t.Integer(value):
            return str(value) if value < 2**31 else f"INT64_C({value})"
        case t.Variable(name):
            return _variable(name, scope)
        case t.Unary(operator, operand):
            text = _int(operand, scope)
            return {"-": f"nc_neg({text})", "+": text}.get(operator, f"(~(num){text})")
        case t.BinaryOperation(operator, left, right):
            return integer_operator(operator, _int(left, scope), _int(right, scope))
        case t.Conditional(value, test, otherwise):
            chosen, alternative = _int(value, scope), _int(otherwise, scope)
            return f"({_rel(test, scope, _int)} ? {chosen} : {alternative})"
        case t.FunctionCall(name, arguments):
            return _int_call(name, arguments, scope)
        case t.Real(operand):
            return f"nc_rounded({_real(operand, scope)})"
        case t.MyTask():
            return "nc_task_of(in.rank)"
        case t.FileData():
            return f"nc_trunc({_file_data(node, scope)})"
        case _:
            return _mesh(node, scope)


def _int_call(name: str, arguments: Sequence[t.Expr], scope: TextScope) -> str:
    if name.startswith("RANDOM_") and name != "RANDOM_UNIFORM":
        return f"nc_rounded({real_function(name, [f'(double){_int(a, scope)}' for a in arguments])})"
    return integer_function(name, [_int(argument, scope) for argument in arguments])


def _real(node: t.Expr, scope: TextScope) -> str:
    match node:
        case t.Integer(value):
            return f"{value}.0"
        case t.Variable(name):
            return f"(double){_variable(name, scope)}"
        case t.Unary("NOT", operand):
            return f"(double)(~nc_trunc({_real(operand, scope)}))"
        case t.Unary(operator, operand):
            return f"(-{_real(operand, scope)})" if operator == "-" else _real(operand, scope)
        case t.BinaryOperation(operator, left, right):
            return real_operator(operator, _real(left, scope), _real(right, scope))
        case t.Conditional(value, test, otherwise):
            chosen, alternative = _real(value, scope), _real(otherwise, scope)
            return f"({_rel(test, scope, _real)} ? {chosen} : {alternative})"
        case t.FunctionCall(name, arguments):
            return real_function(name, [_real(argument, scope) for argument in arguments])
        case t.Real(operand):
            return _real(operand, scope)
        case t.FileData():
            return _file_data(node, scope)
        case _:
            return f"(double){_int(node, scope)}"


def _mesh(node: t.Expr, scope: TextScope) -> str:
    assert isinstance(node, (t.MeshNeighbor, t.MeshCoordinate, t.MeshDistance))
    sizes = f"{len(node.mesh)}, {array('num', [_int(d.size, scope) for d in node.mesh])}"
    wraps = array("int", [str(int(d.wraps)) for d in node.mesh])
    match node:
        case t.MeshNeighbor(_, task, offsets):
            moved = array("num", [_int(offset, scope) for offset in offsets])
            return f"nc_mesh_neighbor({sizes}, {wraps}, {_int(task, scope)}, {moved})"
        case t.MeshCoordinate(_, task, axis):
            return f"nc_mesh_coordinate({sizes}, {_int(task, scope)}, {_int(axis, scope)})"
        case t.MeshDistance(_, first, second):
            return f"nc_mesh_distance({sizes}, {wraps}, {_int(first, scope)}, {_int(second, scope)})"


def _file_data(node: t.FileData, scope: TextScope) -> str:
    column = "1" if node.column is None else _int(node.column, scope)
    row = "1" if node.row is None else _int(node.row, scope)
    columns = c_string(" \t" if node.column_separators is None else node.column_separators)
    rows = c_string("\n" if node.row_separators is None else node.row_separators)
    return f"nc_file_data({c_string(node.path)}, {column}, {row}, {columns}, {rows})"


# Relations and ranges

Value = Callable[[t.Expr, TextScope], str]


def _rel(node: t.Rel, scope: TextScope, value: Value) -> str:
    def whole(expr: t.Expr) -> str:
        return _int(expr, scope) if value is _int else f"nc_trunc({_real(expr, scope)})"

    match node:
        case t.NumberComparison("DIVIDES", left, right):
            return f"(nc_mod({whole(right)}, {whole(left)}) == 0)"
        case t.NumberComparison(operator, left, right):
            return f"({value(left, scope)} {COMPARISONS[operator]} {value(right, scope)})"
        case t.Parity(operand, odd):
            return f"(nc_mod({whole(operand)}, 2) == {int(odd)})"
        case t.Within():
            return "!" * node.negated + _within(node, scope, value)
        case t.Between(operand, low, high, negated):
            name = "nc_between" if value is _int else "nc_dbetween"
            texts = (value(operand, scope), value(low, scope), value(high, scope))
            return "!" * negated + f"{name}({', '.join(texts)})"
        case t.Logical(conjunction, left, right):
            word = "&&" if conjunction else "||"
            return f"({_rel(left, scope, value)} {word} {_rel(right, scope, value)})"


def _within(node: t.Within, scope: TextScope, value: Value) -> str:
    operand = value(node.operand, scope)
    if value is _int and len(node.ranges) == 1:
        match node.ranges[0]:
            case t.Listing(values):
                return f"nc_among({operand}, {len(values)}, {array('num', [_int(v, scope) for v in values])})"
            case t.OpenRange((first,), final):
                return f"nc_between({operand}, {_int(first, scope)}, {_int(final, scope)})"
    function, variables = ranges(node.ranges, scope)
    return f"{'nc_within' if value is _int else 'nc_dwithin'}({operand}, {function}, {variables})"


def ranges(nodes: Sequence[t.Range], scope: TextScope) -> tuple[str, str]:
    """Return a C function that appends the numbers in ranges to `numbers`, and the variables it wants."""
    variables, inner = scope.captured(nodes)
    lines = [line for node in nodes for line in _range(node, inner)]
    name = scope.functions.name("ranges")
    head = f"static void {name}(struct numbers *numbers, const num *v)\n{{\n    (void)v;\n"
    scope.functions.texts.append(head + "\n".join("    " + line for line in lines) + "\n}\n")
    return name, variables


def _range(node: t.Range, scope: TextScope) -> list[str]:
    match node:
        case t.Listing(values):
            return [f"nc_append(numbers, {integer(value, scope)});" for value in values]
        case t.OpenRange(leading, final):
            terms = array("num", [integer(value, scope) for value in leading])
            place = f"nc_at({node.place.line}, {node.place.column});"
            end = f"nc_progression(numbers, {len(leading)}, {terms}, {integer(final, scope)});"
            return [place, end]
        case t.Comprehension(head, generators, test):
            lines = _comprehension(head, generators, test, scope, 0)
            return ["{", *("    " + line for line in lines), "}"]


def _comprehension(
    head: t.Expr, generators: Sequence[t.Generator], test: t.Rel | None, scope: TextScope, depth: int
) -> list[str]:
    if not generators:
        add = f"nc_append(numbers, {integer(head, scope)});"
        return [f"if ({condition(test, scope)})", f"    {add}"] if test else [add]
    first, *inner_generators = generators
    function, variables = ranges(first.ranges, scope)
    range_name, index, variable = f"r{depth}", f"i{depth}", f"c_{first.variable}_{depth}"
    inner = _comprehension(head, inner_generators, test, scope.bind(first.variable, variable), depth + 1)
    return [
        f"struct numbers {range_name} = {{0}};",
        f"{function}(&{range_name}, {variables});",
        f"for (size_t {index} = 0; {index} < {range_name}.count; {index}++) {{",
        f"    const num {variable} = {range_name}.values[{index}];",
        f"    (void){variable};",
        *("    " + line for line in inner),
        "}",
        f"free({range_name}.values);",
    ]
