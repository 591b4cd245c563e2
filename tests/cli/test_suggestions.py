"""A misspelt command, option or choice is answered by the one that is meant, in every command."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.parsing import Parser, subparsers_of
from scalatrace.cli.registry import COMMANDS, MODES
from scalatrace.spelling import did_you_mean
from support.drawing import complaint_of


def parsers() -> Iterator[tuple[list[str], Parser]]:
    """Words that lead to each parser: commands, and the actions of commands that have some."""
    for command in (*COMMANDS, *MODES):
        _, parser = parser_of(command)
        yield command.name.split(), parser
        for name, each in subparsers_of(parser).items():
            yield [command.name, name], each


def misspelt(word: str) -> str:
    """A word without its next to last letter, which is no option's name."""
    return word[:-2] + word[-1]


EVERY = list(parsers())
IDS = [" ".join(words) for words, _ in EVERY]


@pytest.mark.parametrize(("words", "parser"), EVERY, ids=IDS)
def test_options(words: list[str], parser: Parser, capsys: pytest.CaptureFixture[str]) -> None:
    options = [option for option in parser._option_string_actions if len(option) > 5]
    assert options
    for option in options:
        wrong = misspelt(option)
        if wrong not in options:
            shown = complaint_of(capsys, *words, wrong)
            assert f"no option {wrong}" in shown
            assert "did you mean --" in shown
    longest = max(options, key=len)
    assert f"did you mean {longest}?" in complaint_of(capsys, *words, f"{misspelt(longest)}=1")


@pytest.mark.parametrize(("words", "parser"), EVERY, ids=IDS)
def test_choices(words: list[str], parser: Parser, capsys: pytest.CaptureFixture[str]) -> None:
    for action in parser._actions:
        choices = [str(choice) for choice in action.choices or ()]
        for choice in (choice for choice in choices if len(choice) > 3):
            option = action.option_strings[-1:]
            shown = complaint_of(capsys, *words, *option, misspelt(choice))
            assert f"did you mean {choice}?" in shown


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_commands(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    name = command.name  # type: ignore[attr-defined]
    shown = complaint_of(capsys, misspelt(name))
    assert "did you mean " in shown
    assert "did you mean --version?" in complaint_of(capsys, "--versoin")


def test_options_of_the_traced_program_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    shown = complaint_of(capsys, "record", "--stacks", "nnoe", "--", "app", "--steps", "10")
    assert "did you mean none?" in shown
    assert "--steps" not in shown


def test_several_names_and_none() -> None:
    assert did_you_mean("Sned", ["Send", "Ssend", "Bcast"], count=3) == "; did you mean Send or Ssend?"
    assert did_you_mean("xyz", ["Send"]) == ""
