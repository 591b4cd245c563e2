"""Drive lark's LALR(1) tables over a list of tokens.

lark's own loop looks up the length and the origin of a rule at each reduction, and calls a function for each
token and for each rule that only passes its one part on. Most reductions of this grammar are such rules: an
integer is a primary, a power, a term and a sum. Here tables hold what the loop needs. A chain of such rules
is one step: the state after it depends on the state before, on the first rule and on the next terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lark import Lark
from lark.parse_tree_builder import ExpandSingleChild
from lark.parsers.lalr_analysis import Shift

from scalatrace.codegen.conceptual.parser.lexer import SourceToken

__all__ = ["Driver", "ParserState", "UnexpectedTokenError"]

Reduction = tuple[Callable[[list[Any]], Any] | None, int, str]
"""What makes the value (None: it is the value of the one part), number of parts, rule."""


class UnexpectedTokenError(Exception):
    """The token with this index does not fit; `accepted` are the terminals that do."""

    def __init__(self, token: SourceToken, index: int, accepted: set[str]) -> None:
        super().__init__(token)
        self.token, self.index, self.accepted = token, index, accepted


class _Goto(dict[str, "_ParserRow"]):
    """The rows after a reduction, by the next terminal: rules that only pass a part on are reduced, too."""

    def __init__(self, before: _ParserRow, row: _ParserRow) -> None:
        super().__init__()
        self.before, self.row = before, row

    def __missing__(self, kind: str) -> _ParserRow:
        row = self.row
        while True:
            action = row.get(kind)
            if type(action) is not tuple or action[0] is not None:
                break
            row = self.before[action[2]].row
        self[kind] = row
        return row


class _ParserRow(dict[str, Any]):
    """A state: terminal -> row after it, or the reduction it asks for; rule -> rows after it."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state


class ParserState(NamedTuple):
    """Rows and values of a text as far as it is read; there is one row more."""

    stack: list[_ParserRow]
    values: list[Any]


class Driver:
    """Parses lists of tokens."""

    def __init__(self, parser: Lark) -> None:
        self.parser = parser
        conf = parser.parse_interactive().parser_state.parse_conf
        reductions: dict[Any, Reduction] = {}
        rows = {state: _ParserRow(state) for state in conf.states}
        self.start, self.end = rows[conf.start_state], rows[conf.end_state]
        rules = {rule.origin.name for rule in parser.rules}
        for state, actions in conf.states.items():
            row = rows[state]
            for name, (action, argument) in actions.items():
                if action is Shift:
                    row[name] = _Goto(row, rows[argument]) if name in rules else rows[argument]
                    continue
                if argument not in reductions:
                    size, make = len(argument.expansion), conf.callbacks[argument]
                    passes = size == 1 and isinstance(make, ExpandSingleChild)
                    reductions[argument] = (None if passes else make, size, argument.origin.name)
                row[name] = reductions[argument]

    def parse(self, tokens: Iterable[SourceToken], end: SourceToken) -> Any:
        """Return the value of the start rule. Raises UnexpectedTokenError."""
        state = self.begin()
        self.feed(state, (*tokens, end))
        return state.values[-1]

    def begin(self) -> ParserState:
        """Return the state before the first token."""
        return ParserState([self.start], [])

    def feed(self, state: ParserState, tokens: Iterable[SourceToken]) -> int:
        """Go on with some tokens; the smallest number of values on the way. Raises UnexpectedTokenError."""
        stack, values = state.stack, state.values
        row, final = stack[-1], self.end
        least = len(stack)
        for index, token in enumerate(tokens):
            kind = token.type
            while True:
                action = row.get(kind)
                if type(action) is _ParserRow:
                    row = action
                    stack.append(row)
                    values.append(token)
                    break
                if action is None:
                    raise UnexpectedTokenError(token, index, self._accepted(stack, values))
                make, size, rule = action
                if make is None:
                    stack.pop()
                elif size:
                    parts = values[-size:]
                    del stack[-size:], values[-size:]
                    values.append(make(parts))
                else:
                    values.append(make([]))
                if len(stack) < least:
                    least = len(stack)
                row = stack[-1][rule][kind]
                stack.append(row)
                if row is final and kind == "$END":
                    return least - 1
        return least - 1

    def before(self, state: ParserState, kind: str) -> _ParserRow:
        """Make the reductions that a terminal asks for; the row that takes it. Raises LookupError."""
        stack, values = state.stack, state.values
        while True:
            row = stack[-1]
            action = row[kind]
            if type(action) is _ParserRow:
                return row
            make, size, rule = action
            if make is None:
                stack.pop()
            elif size:
                parts = values[-size:]
                del stack[-size:], values[-size:]
                values.append(make(parts))
            else:
                values.append(make([]))
            stack.append(stack[-1][rule][kind])

    def _accepted(self, stack: list[_ParserRow], values: list[Any]) -> set[str]:
        parsing = self.parser.parse_interactive()
        parsing.parser_state.state_stack[:] = [row.state for row in stack]
        parsing.parser_state.value_stack[:] = values
        accepted: set[str] = parsing.accepts()  # type: ignore[no-untyped-call]
        return accepted
