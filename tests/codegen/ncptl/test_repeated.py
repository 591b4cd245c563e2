"""Programs with repeated lines: the same tree and places, the same errors, as without a look for repetitions."""

from __future__ import annotations

from typing import Any

import pytest

from scalatrace.codegen.conceptual.checks.program import examine
from scalatrace.codegen.conceptual.errors import Note, ProgramError
from scalatrace.codegen.conceptual.parser import parse as parsing
from scalatrace.codegen.conceptual.parser.lexer import scan
from scalatrace.codegen.conceptual.parser.repeated import NotByLinesError, is_repetitive, parse_lines
from scalatrace.codegen.conceptual.tree import SyntaxNode
from support.ncptl_programs import PROGRAMS

BODIES = [text for text in PROGRAMS.values() if '"--' not in text and "ASSERT" not in text]
"""Programs without headers, which stand at the beginning of a text only."""


def flat(value: Any) -> Any:
    """All fields of a tree, also those that are not compared."""
    if isinstance(value, (tuple, list)):
        return [flat(each) for each in value]
    if isinstance(value, SyntaxNode):
        return type(value).__name__, [flat(each) for each in vars(value).values()]
    return value


def both(text: str) -> tuple[Any, Any]:
    """Parsed by lines and at once."""
    end = parsing._end(text)
    return parse_lines(parsing._driver(), text, end), parsing._tree(text, scan(text, []))


@pytest.mark.parametrize("text", BODIES)
def test_the_same_tree_and_places(text: str) -> None:
    by_lines, at_once = both("\n".join([text.rstrip()] * 12))
    assert flat(by_lines) == flat(at_once)


def test_lines_in_blocks_and_between_sentences() -> None:
    step = "TASK 0 SENDS A 4 BYTE MESSAGE TO TASK 1 THEN\n"
    text = (
        f"{step * 9}ALL TASKS SYNCHRONIZE.\nFOR 3 REPETITIONS {{\n{step * 9}ALL TASKS SYNCHRONIZE\n}} THEN\n"
    )
    by_lines, at_once = both(text * 10 + "ALL TASKS SYNCHRONIZE.")
    assert flat(by_lines) == flat(at_once)


@pytest.mark.parametrize(
    "last", ["TASK 0 SENDS A BYTE MESSAGES.", "TASK x SYNCHRONIZES.", "TASK 0 'SYNCHRONIZES."]
)
def test_errors_have_their_places(last: str) -> None:
    many = "ALL TASKS t SEND A 4 BYTE MESSAGE TO TASK t+1.\n"
    text = many * (parsing.MAX_AT_ONCE // len(many) + 1)
    assert is_repetitive(text)
    (alone,), (error,) = examine(last).errors, examine(text + last).errors
    assert error.reason == alone.reason
    assert error.place == (text.count("\n") + 1, alone.place.column)


def test_notes_and_strings_over_lines() -> None:
    many = 'TASK 0 OUTPUTS "a\\qb".\n' * 9
    with pytest.raises(NotByLinesError):
        parse_lines(parsing._driver(), many, parsing._end(many))
    notes: list[Note] = []
    parsing.parse(many, "", notes)
    assert [note.place.line for note in notes] == list(range(1, 10))
    over = 'TASK 0 OUTPUTS "a\nb".\n' * 9
    with pytest.raises(NotByLinesError):
        parse_lines(parsing._driver(), over, parsing._end(over))


def test_deep_lines_are_parsed() -> None:
    text = f"TASK 0 OUTPUTS {'(' * 150}1{')' * 150}.\n" * 9
    by_lines, at_once = both(text)
    assert flat(by_lines) == flat(at_once)


def test_a_minus_sign_before_a_word_of_the_next_line() -> None:
    text = "TASK 0 SENDS A 64-\nBYTE MESSAGE TO TASK 1.\n" * 9
    with pytest.raises(NotByLinesError):
        parse_lines(parsing._driver(), text, parsing._end(text))
    assert not examine(text).errors
    with pytest.raises(ProgramError):
        parsing.parse(text + "-")
