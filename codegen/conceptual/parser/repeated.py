"""Parse a text in which lines are repeated: generated programs state the same messages many times.

A line that was read before, in the same state of the parser, leaves the same rows on the parser's stack and
the same values, with other places. A function made for the line builds these values, which takes a fraction
of the time of parsing.

    stack    | ... row |            the line starts          TASK 0 SENDS A 4 BYTE MESSAGE TO TASK 1 THEN
             | ... row | row row |  the line ends            values: <send>, THEN
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lark import Tree
from lark.exceptions import VisitError

from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.parser.action_values import Clause, Word
from scalatrace.codegen.conceptual.parser.driver import Driver, UnexpectedTokenError
from scalatrace.codegen.conceptual.parser.lexer import SourceToken, scan, token
from scalatrace.codegen.conceptual.tree.node import Comments, SyntaxNode

__all__ = ["NotByLinesError", "is_repetitive", "parse_lines"]

MIN_REPETITIONS = 8
"""Of a line for which a function is made; that takes as long as parsing a few such lines."""
MIN_REPEATED_SHARE = 0.5
"""Of a text that is parsed by lines."""
OPEN_ENDS = ("HYPHEN", "STAR")
"""Terminals whose meaning depends on the next one."""
_ATOMS = (str, int, bool, type(None))


class NotByLinesError(Exception):
    """A text cannot be parsed line by line, or has an error."""


class _Read(NamedTuple):
    """What a line leaves behind: rows, and the values by number of the line."""

    rows: Sequence[Any]
    values: Callable[[int], list[Any]]


def is_repetitive(text: str) -> bool:
    """Return whether most of a text is lines that are repeated often."""
    counts = Counter(text.split("\n"))
    repeated = sum(len(line) * n for line, n in counts.items() if n >= MIN_REPETITIONS)
    return repeated >= MIN_REPEATED_SHARE * len(text)


def parse_lines(driver: Driver, text: str, end: SourcePlace) -> Any:
    """Return the value of the start rule.

    Raises:
        NotByLinesError: a string goes over lines, or there is something to complain of in the text.
    """
    try:
        return _RepeatedLines(driver, text.split("\n")).parse(end)
    except (LookupError, ProgramError, VisitError, UnexpectedTokenError) as error:
        # The usual way through the text reports what is wrong.
        raise NotByLinesError from error


class _RepeatedLines:
    def __init__(self, driver: Driver, lines: list[str]) -> None:
        self.driver, self.lines = driver, lines
        self.state = driver.begin()
        self.counts = Counter(lines)
        self.tokens: dict[str, list[SourceToken]] = {}
        self.read: dict[tuple[int, str], _Read | None] = {}

    def parse(self, end: SourcePlace) -> Any:
        stack, values = self.state
        for number, line in enumerate(self.lines, 1):
            tokens = self._tokens(line)
            if not tokens:
                continue
            row = self.driver.before(self.state, tokens[0].type)
            clauses = self.read.get((id(row), line))
            if clauses is None:
                self._feed(row, line, number, tokens)
            else:
                stack.extend(clauses.rows)
                values.extend(clauses.values(number))
        self.driver.feed(self.state, [token("$END", "", *end)])
        return values[-1]

    def _tokens(self, line: str) -> list[SourceToken]:
        """Return the tokens of a line, whose number is that of another one."""
        tokens = self.tokens.get(line)
        if tokens is None:
            notes: list[Any] = []
            tokens = scan(line, notes)
            if notes or (tokens and tokens[-1].type in OPEN_ENDS):
                raise NotByLinesError
            self.tokens[line] = tokens
        return tokens

    def _feed(self, row: Any, line: str, number: int, tokens: list[SourceToken]) -> None:
        stack, values = self.state
        depth = len(values)
        line_tokens = [token(lexed.type, lexed, number, lexed.column) for lexed in tokens]
        least = self.driver.feed(self.state, line_tokens)
        key = id(row), line
        if least >= depth and self.counts[line] >= MIN_REPETITIONS and key not in self.read:
            # Made at once: lists among the values grow while more of the text is read.
            maker = _maker(values[depth:])
            self.read[key] = maker and _Read(stack[depth + 1 :], maker)


def _maker(values: list[Any]) -> Callable[[int], list[Any]] | None:
    """Return a function of a line's number that makes copies of values with places in that line."""
    names: dict[str, Any] = {"place": _place, "token": token, "node": _node, "word": Word, "clause": Clause}
    names["tree"] = Tree
    try:
        text = _source(values, names)
        maker: Callable[[int], list[Any]] = eval(f"lambda line: {text}", names)
    except (RecursionError, MemoryError, SyntaxError):  # nested too deeply
        return None
    return maker


def _place(line: int, column: int) -> SourcePlace:
    return tuple.__new__(SourcePlace, (line, column))


def _node(kind: type[SyntaxNode], fields: dict[str, Any]) -> SyntaxNode:
    node = object.__new__(kind)
    node.__dict__.update(fields)
    return node


def _constant(value: Any, names: dict[str, Any]) -> str:
    name = f"c{len(names)}"
    names[name] = value
    return name


def _source(value: Any, names: dict[str, Any]) -> str:
    """Return an expression for a copy of a value; what it names goes to `names`."""

    def several(parts: Sequence[Any]) -> str:
        return "".join(f"{_source(part, names)}, " for part in parts)

    kind = type(value)
    if kind in _ATOMS:
        return repr(value)
    if kind is SourcePlace:
        return f"place(line, {value.column})" if value.line else _constant(value, names)
    if kind is SourceToken:
        return f"token({value.type!r}, {str(value)!r}, line, {value.column})"
    if kind is list:
        return f"[{several(value)}]"
    if kind is tuple:
        return f"({several(value)})"
    if isinstance(value, SyntaxNode):
        fields = "".join(
            f"{name!r}: {_source(member, names)}, " for name, member in value.__getstate__().items()
        )
        return f"node({_constant(kind, names)}, {{{fields}}})"
    if kind is Comments:
        return _constant(value, names)
    return _other(value, names)


def _other(value: Any, names: dict[str, Any]) -> str:
    if isinstance(value, Clause):
        parts = (value.field, value.value, value.place)
        return f"clause({', '.join(_source(part, names) for part in parts)})"
    if isinstance(value, Word):
        return f"word({str(value)!r}, {_source(value.place, names)})"
    if isinstance(value, Tree):
        return f"tree({str(value.data)!r}, {_source(value.children, names)})"
    raise NotByLinesError
