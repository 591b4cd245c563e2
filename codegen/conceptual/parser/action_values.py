"""The grammar's callbacks for expressions, relations and ranges; and how a rule's parts are taken apart."""

from __future__ import annotations

from typing import Any, NamedTuple

from lark import Transformer

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import CompileStage, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.parser.lexer import SourceToken

__all__ = [
    "Clause", "Parts", "ValuesBuilder", "Word", "clauses_of", "has_word", "nodes_of", "spot", "texts_of",
]  # fmt: skip

Parts = list[Any]


class Clause(NamedTuple):
    """A part of a message that may be absent: the field it fills, its value, where it stands."""

    field: str
    value: Any
    place: SourcePlace


class Word(str):
    """A unit, with the place where it stands."""

    place: SourcePlace

    def __new__(cls, text: str, place: SourcePlace) -> Word:
        word = super().__new__(cls, text)
        word.place = place
        return word


def spot(parts: Parts) -> SourcePlace:
    first = parts[0] if parts else None
    if type(first) is SourceToken:
        return SourcePlace(first.line, first.column)
    for part in parts:
        if isinstance(part, SourceToken):
            return SourcePlace(part.line, part.column)
        if isinstance(part, list):
            return spot(part)
        place: SourcePlace | None = getattr(part, "place", None)
        if place is not None:
            return place
    return SourcePlace()


def nodes_of(parts: Parts) -> Parts:
    """What is no word of the language."""
    return [part for part in parts if not isinstance(part, SourceToken)]


def has_word(parts: Parts, terminal: str) -> bool:
    return any(isinstance(part, SourceToken) and part.type == terminal for part in parts)


def texts_of(parts: Parts, terminal: str) -> list[str]:
    return [str(part) for part in parts if isinstance(part, SourceToken) and part.type == terminal]


def clauses_of(parts: Parts) -> dict[str, Any]:
    return {part.field: part.value for part in parts if isinstance(part, Clause)}


class ValuesBuilder(Transformer[Any, Any]):
    """One method per rule or alternative; words of the language come as tokens, parts as what was built."""

    # expressions

    def conditional(self, parts: Parts) -> t.Conditional:
        return t.Conditional(*nodes_of(parts), place=spot(parts))

    def binary(self, parts: Parts) -> t.BinaryOperation:
        left, operator, right = parts
        return t.BinaryOperation(str(operator).upper(), left, right, place=spot(parts))

    def sign(self, parts: Parts) -> t.Expr:
        operator, operand = parts
        place = spot(parts)
        if operator.type == "HYPHEN" and isinstance(operand, t.FunctionCall):
            # As a difference it means the same, and can be written where a hyphen before a word would vanish.
            return t.BinaryOperation("-", t.Integer(0, place=place), operand, place=place)
        return t.Unary(str(operator).upper(), operand, place=place)

    def parenthesised(self, parts: Parts) -> Any:
        return parts[1]

    def variable(self, parts: Parts) -> t.Variable:
        (name,) = parts
        return t.Variable(str(name), place=SourcePlace(name.line, name.column))

    def integer(self, parts: Parts) -> t.Integer:
        (digits,) = parts
        return t.Integer(int(digits), place=SourcePlace(digits.line, digits.column))

    def my_task(self, parts: Parts) -> t.MyTask:
        return t.MyTask(place=spot(parts))

    def fn(self, parts: Parts) -> SourceToken:
        return parts[0]  # type: ignore[no-any-return]

    file_word = fn
    comparison = fn

    def exprs(self, parts: Parts) -> Parts:
        return [*parts[0], parts[2]] if len(parts) == 3 else [parts[0]]

    def call(self, parts: Parts) -> t.FunctionCall:
        return t.FunctionCall(parts[0].type, tuple(parts[2]), place=spot(parts))

    def real(self, parts: Parts) -> t.Real:
        return t.Real(parts[2], place=spot(parts))

    def mesh(self, parts: Parts) -> Parts:
        return nodes_of(parts)

    def dimension(self, parts: Parts) -> t.Dimension:
        return t.Dimension(parts[0], len(parts) == 2, place=spot(parts))

    def offsets(self, parts: Parts) -> Parts:
        return list(parts[1])

    def mesh_neighbor(self, parts: Parts) -> t.MeshNeighbor:
        mesh, task, offsets = nodes_of(parts)
        if len(mesh) != len(offsets):
            reason = f"{len(offsets)} offsets for a mesh of {len(mesh)} dimensions; expected as many"
            raise ProgramError(reason, spot(offsets), CompileStage.SYNTAX)
        return t.MeshNeighbor(tuple(mesh), task, tuple(offsets), place=spot(parts))

    def mesh_coordinate(self, parts: Parts) -> t.MeshCoordinate:
        mesh, task, axis = nodes_of(parts)
        return t.MeshCoordinate(tuple(mesh), task, axis, place=spot(parts))

    def mesh_distance(self, parts: Parts) -> t.MeshDistance:
        mesh, first, second = nodes_of(parts)
        return t.MeshDistance(tuple(mesh), first, second, place=spot(parts))

    def file_data(self, parts: Parts) -> t.FileData:
        separators = parts[3] if isinstance(parts[3], list) else []
        return t.FileData(parts[0].type == "STATIC_FILE_DATA", str(parts[2]), *separators, place=spot(parts))

    def file_rest(self, parts: Parts) -> Parts:
        wanted = [part for part in parts if not (isinstance(part, SourceToken) and part.type == "COMMA")]
        return [str(part) if isinstance(part, SourceToken) else part for part in wanted]

    # relations and ranges

    def _logical(self, parts: Parts, conjunction: bool) -> t.Logical:
        left, _, right = parts
        return t.Logical(conjunction, left, right, place=spot(parts))

    def disjunction(self, parts: Parts) -> t.Logical:
        return self._logical(parts, conjunction=False)

    def conjunction(self, parts: Parts) -> t.Logical:
        return self._logical(parts, conjunction=True)

    def compare(self, parts: Parts) -> t.NumberComparison:
        left, operator, right = parts
        return t.NumberComparison(str(operator).upper(), left, right, place=spot(parts))

    def parity(self, parts: Parts) -> t.Parity:
        return t.Parity(parts[0], has_word(parts, "ODD"), place=spot(parts))

    def within(self, parts: Parts) -> t.Within:
        return t.Within(parts[0], parts[-1], has_word(parts, "NOT"), place=spot(parts))

    def between(self, parts: Parts) -> t.Between:
        operand, low, high = nodes_of(parts)
        return t.Between(operand, low, high, has_word(parts, "NOT"), place=spot(parts))

    def ranges(self, parts: Parts) -> tuple[t.Range, ...]:
        return tuple(nodes_of(parts))

    def listing(self, parts: Parts) -> t.Listing:
        return t.Listing(tuple(parts[1]), place=spot(parts))

    def progression(self, parts: Parts) -> t.OpenRange:
        return t.OpenRange(tuple(parts[1]), parts[-2], place=spot(parts))

    def comprehension(self, parts: Parts) -> t.Comprehension:
        head, *following = nodes_of(parts)
        generators = tuple(part for part in following if isinstance(part, t.Generator))
        return t.Comprehension(head, generators, clauses_of(following).get("condition"), place=spot(parts))

    def generator(self, parts: Parts) -> t.Generator:
        return t.Generator(str(parts[2]), parts[-1], place=spot(parts))

    def condition(self, parts: Parts) -> Clause:
        return Clause("condition", parts[-1], spot(parts))
