"""Command lines of the traced programs, aligned: each argument with its value in all runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["PROGRAM", "Argument", "aligned", "split_command"]

PROGRAM = "program"
"""The name of the word that names the program itself."""

_RANKS = re.compile(r"(?:^|(?<= : ))-n \d+ ")
"""Numbers of ranks where these run different programs: `-n 4 ./ocean : -n 2 ./atmosphere`."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a program.

    Attributes:
        name: its option, such as `--nx`; else its number, such as `argument 2`.
        words: its word in each run; None where it is not given.
    """

    name: str
    words: tuple[str | None, ...]


def split_command(program: str) -> list[str]:
    """Return the words of a trace's command line, without the numbers of ranks of each program."""
    return _RANKS.sub("", program).split()


def aligned(lines: Sequence[Sequence[str]]) -> list[Argument]:
    """Return the arguments that differ between command lines of equal programs.

    Lines of equally many words with the same options are compared word by word, others by their options.
    """
    shapes = {tuple(word if _is_option(word) else "" for word in line) for line in lines}
    if len(shapes) == 1:
        columns = list(zip(*lines, strict=True))
        names = _names(lines[0])
        found = [Argument(names[at], _without_folders(at, column)) for at, column in enumerate(columns)]
    else:
        parsed = [dict(_parsed(_arguments(line))) for line in lines]
        keys = dict.fromkeys(key for one in parsed for key in one)
        found = [Argument(PROGRAM, tuple(_program(line) for line in lines))]
        found += [Argument(key, tuple(one.get(key) for one in parsed)) for key in keys]
    return [argument for argument in found if len(set(argument.words)) > 1]


def _is_option(word: str) -> bool:
    """Return whether a word is an option, and no negative number."""
    return word.startswith("-") and len(word) > 1 and not (word[1].isdigit() or word[1] == ".")


def _without_folders(at: int, column: Sequence[str]) -> tuple[str, ...]:
    """Words; of those that name the program itself, which may lie in different folders, the last part."""
    if at == 0 or all(word.endswith(".py") for word in column):
        return tuple(word.rpartition("/")[2] for word in column)
    return tuple(column)


def _names(line: Sequence[str]) -> list[str]:
    """Return the name of each word: the option before it or in it, or its number among the other words."""
    result, number, option = [], 0, ""
    for at, word in enumerate(line):
        if _is_option(word):
            option, _, value = word.partition("=")
            result.append(option)
            option = "" if value else option
            continue
        number += not option and at > 0
        result.append(option or (f"argument {number}" if at else PROGRAM))
        option = ""
    return result


def _script(line: Sequence[str]) -> int:
    """The place of the word that names the program: a Python file after the interpreter, or the first one."""
    return next((at for at, word in enumerate(line) if word.endswith(".py")), 0)


def _program(line: Sequence[str]) -> str:
    return line[_script(line)].rpartition("/")[2]


def _arguments(line: Sequence[str]) -> Sequence[str]:
    return line[_script(line) + 1 :]


def _parsed(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arguments of one line, by name: options with the word after them, and other words by number."""
    number, at = 0, 0
    while at < len(words):
        word, following = words[at], words[at + 1 : at + 2]
        if not _is_option(word):
            number += 1
            yield f"argument {number}", word
        elif "=" in word:
            option, _, value = word.partition("=")
            yield option, value
        elif following and not _is_option(following[0]):
            yield word, following[0]
            at += 1
        else:
            yield word, "given"
        at += 1
