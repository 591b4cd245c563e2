"""Drive lark's LALR(1) tables over a list of tokens.

lark's own loop looks up the length and the origin of a rule at each reduction, and calls a function for each
token and for each rule that only passes its one part on. Most reductions of this grammar are such rules: an
integer is a primary, a power, a term and a sum. Here tables hold what the loop needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lark import Lark
from lark.parse_tree_builder import ExpandSingleChild
from lark.parsers.lalr_analysis import Shift

from scalatrace.codegen.conceptual.parser.lexer import Token

__all__ = ["Driver", "UnexpectedTokenError"]

Reduction = tuple[Callable[[list[Any]], Any] | None, int, str]
"""What makes the value (None: it is the value of the one part), number of parts, rule."""


class UnexpectedTokenError(Exception):
    """The token with this index does not fit; `accepted` are the terminals that do."""

    def __init__(self, token: Token, index: int, accepted: set[str]) -> None:
        super().__init__(token)
        self.token, self.index, self.accepted = token, index, accepted


class Driver:
    """Parses lists of tokens."""

    def __init__(self, parser: Lark) -> None:
        self.parser = parser
        conf = parser.parse_interactive().parser_state.parse_conf
        self.start, self.end = conf.start_state, conf.end_state
        reductions: dict[Any, Reduction] = {}
        self.states: dict[Any, dict[str, Any]] = {}
        for state, actions in conf.states.items():
            row: dict[str, Any] = {}
            for name, (action, argument) in actions.items():
                if action is Shift:
                    row[name] = argument
                    continue
                if argument not in reductions:
                    size, make = len(argument.expansion), conf.callbacks[argument]
                    passes = size == 1 and isinstance(make, ExpandSingleChild)
                    reductions[argument] = (None if passes else make, size, argument.origin.name)
                row[name] = reductions[argument]
            self.states[state] = row

    def parse(self, tokens: Iterable[Token], end: Token) -> Any:
        """Return the value of the start rule. Raises UnexpectedTokenError."""
        states, final = self.states, self.end
        stack: list[Any] = [self.start]
        values: list[Any] = []
        row = states[self.start]
        for index, token in enumerate((*tokens, end)):
            kind = token.type
            while True:
                action = row.get(kind)
                if action is None:
                    raise UnexpectedTokenError(token, index, self._accepted(stack, values))
                if type(action) is not tuple:
                    stack.append(action)
                    values.append(token)
                    row = states[action]
                    break
                make, size, rule = action
                if make is None:
                    stack.pop()
                elif size:
                    parts = values[-size:]
                    del stack[-size:], values[-size:]
                    values.append(make(parts))
                else:
                    values.append(make([]))
                after = states[stack[-1]][rule]
                stack.append(after)
                row = states[after]
                if after == final and token is end:
                    return values[-1]
        raise AssertionError("the end is always reduced")

    def _accepted(self, stack: list[Any], values: list[Any]) -> set[str]:
        parsing = self.parser.parse_interactive()
        parsing.parser_state.state_stack[:] = stack
        parsing.parser_state.value_stack[:] = values
        accepted: set[str] = parsing.accepts()  # type: ignore[no-untyped-call]
        return accepted
