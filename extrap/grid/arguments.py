"""Arguments of the traced programs, aligned: whether only sizes differ, and the grids that arguments name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import TYPE_CHECKING

from scalatrace.extrap.errors import InputError
from scalatrace.extrap.grid.space import Run
from scalatrace.trace.symbolic.counters import RESERVED
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = [
    "PROGRAM",
    "Argument",
    "align_command_lines",
    "check_arguments",
    "grids_in_arguments",
    "numbers_in_arguments",
    "split_command",
]

_INTEGER = re.compile(r"\d{1,18}")


MAX_NUMBERS = 3
"""Arguments that are tried as sizes of the problem, the largest ones."""

PROGRAM = "program"
"""The name of the word that names the program itself."""


def grids_in_arguments(traces: Sequence[Trace]) -> Iterator[tuple[Grid, ...]]:
    """Yield grids, one per trace, whose sides are consecutive integers of the command lines.

    Of `-P 4 3 1` and `--npx 4 --npy 3` each order of the sides is one; sides that are 1 everywhere are none.
    """
    words = [split_command(trace.meta.get("program", ""))[1:] for trace in traces]
    rows = [[int(number) for word in line for number in _INTEGER.findall(word)] for line in words]
    if len({len(row) for row in rows}) > 1:
        return
    columns = list(zip(*rows, strict=True))
    for ndims in (3, 2):
        for at in range(len(columns) - ndims + 1):
            chosen = columns[at : at + ndims]
            if all(
                prod(sides) == trace.nprocs
                for sides, trace in zip(zip(*chosen, strict=True), traces, strict=True)
            ):
                sides_of = [column for column in chosen if set(column) != {1}]
                for ordered in (sides_of[::-1], sides_of) if len(sides_of) > 1 else ():
                    yield tuple(Grid(dims) for dims in zip(*ordered, strict=True))


def numbers_in_arguments(traces: Sequence[Trace], grids: Sequence[Grid]) -> list[int]:
    """Return numbers that are arguments in all traces, the largest first.

    A problem that is divided among ranks is larger than the sides of the grids.
    """
    lines = [split_command(trace.meta.get("program", ""))[1:] for trace in traces]
    texts = [{word.rpartition("=")[2] for word in line} for line in lines]
    least = max(side for grid in grids for side in grid.dims)
    common = {int(text) for text in set.intersection(*texts) if _INTEGER.fullmatch(text)}
    return sorted((number for number in common if number > least), reverse=True)[:MAX_NUMBERS]


def check_arguments(traces: Sequence[Trace], runs: Sequence[Run], order: Sequence[int] = ()) -> list[str]:
    """Compare the command lines, argument by argument.

    An argument may differ in integers that are the number of ranks, a side of the grid, a multiple of one of
    these (weak scaling: the problem grows with the machine), or a parameter. Where an argument is not given,
    a parameter has its default. Words that are no numbers follow from a parameter that differs where they do.

    Args:
        order: the places of the traces on the user's command line.

    Returns:
        The multiples, as `5*X`.

    Raises:
        InputError: they differ in anything else.
    """
    lines = [split_command(trace.meta.get("program", "")) for trace in traces]
    if not all(lines):
        return []  # made by hand, or by something else than `record`
    known, multiples, unknown = dict(_sizes(runs)), dict[str, None](), []
    for argument in align_command_lines(lines):
        factors = _multiples_in(argument, known, runs)
        if factors is None:
            unknown.append(argument)
        else:
            multiples |= dict.fromkeys(factors)
    if unknown:
        raise _other_arguments(unknown, traces, order or range(len(traces)))
    return list(multiples)


def _sizes(runs: Sequence[Run]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the values of each parameter and size in all runs, with its name."""
    for name in runs[0].inputs:
        yield tuple(run.inputs[name] for run in runs), ""
    yield from zip(zip(*(run.grid.dims for run in runs), strict=True), runs[0].grid.sizes, strict=True)
    yield tuple(run.grid.nprocs for run in runs), "P"


def _multiples_in(
    argument: Argument, known: Mapping[tuple[int, ...], str], runs: Sequence[Run]
) -> list[str] | None:
    """The multiples of sizes in an argument; None if something in it follows from nothing that is known."""
    if None in argument.words:
        known_default = _is_a_default(argument, runs) or _follows_from_a_parameter(argument.words, runs)
        return [] if known_default else None
    words = [word for word in argument.words if word is not None]
    texts = {_INTEGER.sub("#", word) for word in words}
    if len(texts) > 1:
        return [] if _follows_from_a_parameter(words, runs) else None
    columns = list(zip(*(map(int, _INTEGER.findall(word)) for word in words), strict=True))
    open_columns = [column for column in columns if len(set(column)) > 1 and column not in known]
    multiples = [_multiple(column, known) for column in open_columns]
    if not all(multiples):
        return [] if _follows_from_a_parameter(words, runs) and texts != {"#"} else None
    return list(filter(None, multiples))


def _is_a_default(argument: Argument, runs: Sequence[Run]) -> bool:
    """Return whether an argument has the value of a parameter wherever it is given."""
    given = [(run, word) for run, word in zip(runs, argument.words, strict=True) if word is not None]
    return any(all(str(run.inputs[name]) == word for run, word in given) for name in runs[0].inputs)


def _follows_from_a_parameter(words: Sequence[str | None], runs: Sequence[Run]) -> bool:
    """Return whether a parameter differs where words do: of each of its values there is one word."""
    for name in runs[0].inputs:
        pairs = set(zip((run.inputs[name] for run in runs), words, strict=True))
        if len(pairs) == len({value for value, _ in pairs}) == len(set(words)):
            return True
    return False


def _other_arguments(
    arguments: Sequence[Argument], traces: Sequence[Trace], order: Sequence[int]
) -> InputError:
    """Return the error that names the arguments that differ, and how to go on."""
    texts = []
    for argument in arguments:
        shown = "; ".join(
            f"{trace.nprocs} ranks: {'not given' if word is None else word}"
            for trace, word in zip(traces, argument.words, strict=True)
        )
        if argument.name == PROGRAM:
            return InputError(f"the traces are of different programs: {shown}")
        texts.append(f"{argument.name} ({shown})")
    values = list(_input_values(arguments, order))
    options = " ".join(f"--inputs {name}={text}" for name, text in values)
    names = " ".join(f"--param {name}=V" for name, _ in values)
    default = "; DEFAULT: the value that the program has without the argument" if "DEFAULT" in options else ""
    return InputError(
        f"the traces were recorded with different arguments: {', '.join(texts)}\n"
        f"Record with equal ones, or make them parameters, with a value for each trace: {options} "
        f"(and one for the result: {names}{default})"
    )


def _input_values(arguments: Sequence[Argument], order: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield a parameter for each argument, and its values: its numbers, or numbers for its words."""
    names = iter(f"n{number}" if number else "n" for number in count())
    for argument in arguments:
        words = dict.fromkeys(argument.words)
        are_numbers = all(word is None or _INTEGER.fullmatch(word) for word in words)
        values = {word: (word or "DEFAULT") if are_numbers else str(n) for n, word in enumerate(words, 1)}
        by_run = dict(zip(order, (values[word] for word in argument.words), strict=True))
        name = argument.name.strip("-").replace("-", "_")
        is_name = argument.name[0] == "-" and name.isascii() and name.isidentifier() and name not in RESERVED
        yield name if is_name else next(names), ",".join(by_run[at] for at in sorted(by_run))


def _multiple(column: Sequence[int], known: Mapping[tuple[int, ...], str]) -> str | None:
    """Return the size of which numbers are a multiple, with the factor; None: of no size."""
    for sizes, name in known.items():
        factor = column[0] // sizes[0] if name else 0
        if factor > 1 and all(number == factor * size for number, size in zip(column, sizes, strict=True)):
            return f"{factor}*{name}"
    return None


_RANKS = re.compile(r"(?:^|(?<= : ))-n \d+ ")
"""Numbers of ranks where these run different programs: `-n 4 ./ocean : -n 2 ./atmosphere`."""


def split_command(program: str) -> list[str]:
    """Return the words of a trace's command line, without the numbers of ranks of each program."""
    return _RANKS.sub("", program).split()


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a program.

    Attributes:
        name: its option, such as `--nx`; else its number, such as `argument 2`.
        words: its word in each run; None where it is not given.
    """

    name: str
    words: tuple[str | None, ...]


def align_command_lines(lines: Sequence[Sequence[str]]) -> list[Argument]:
    """Return the arguments that differ between command lines of equal programs.

    Lines of equally many words with the same options are compared word by word, others by their options.
    """
    shapes = {tuple(word if _is_option(word) else "" for word in line) for line in lines}
    if len(shapes) == 1:
        columns = list(zip(*lines, strict=True))
        names = _names(lines[0])
        candidates = [Argument(names[at], _without_folders(at, column)) for at, column in enumerate(columns)]
    else:
        parsed = [dict(_parse_options(_arguments(line))) for line in lines]
        keys = dict.fromkeys(key for options in parsed for key in options)
        candidates = [Argument(PROGRAM, tuple(_program(line) for line in lines))]
        candidates += [Argument(key, tuple(options.get(key) for options in parsed)) for key in keys]
    return [argument for argument in candidates if len(set(argument.words)) > 1]


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


def _parse_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
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
