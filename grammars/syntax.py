"""Convert syntax errors of lark to `TextError`: file, line, column, unexpected and expected text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from scalatrace.errors import TextError

__all__ = ["syntax_error"]

MAX_EXPECTED_NAMES = 12
"""Names of expected terminals in a message."""


def syntax_error(error: UnexpectedInput, text: str, path: str, names: Mapping[str, str]) -> TextError:
    """Return the error to raise instead of lark's.

    Args:
        text: the whole text that was parsed.
        path: its file, for the message.
        names: terminal of the grammar -> readable name; others appear as lower-case words.
    """
    line, column = error.line, error.column
    terminals: Iterable[str] | None = None
    unexpected = "the text ends"
    if isinstance(error, UnexpectedCharacters):
        unexpected, terminals = f"unexpected {error.char!r}", error.allowed
    elif isinstance(error, UnexpectedToken):
        terminals = error.accepts or error.expected
        if error.token.type == "$END":
            lines = text.split("\n")
            line, column = len(lines), len(lines[-1]) + 1
        else:
            unexpected = f"unexpected {str(error.token)!r}"
    expected = sorted({names.get(terminal, terminal.lower()) for terminal in terminals or ()})
    return TextError(f"{unexpected}; expected {_listed(expected)}", path, line, column)


def _listed(names: list[str]) -> str:
    if len(names) > MAX_EXPECTED_NAMES:
        return ", ".join([*names[:MAX_EXPECTED_NAMES], "..."])
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0] if names else "the end"
