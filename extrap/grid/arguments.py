"""The arguments of the traced programs: whether they differ by sizes only, and grids that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from scalatrace.extrap.errors import InputError
from scalatrace.extrap.grid.space import Run
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["check_arguments", "grids_in_arguments"]

_INTEGER = re.compile(r"\d{1,18}")


def grids_in_arguments(traces: Sequence[Trace]) -> Iterator[tuple[Grid, ...]]:
    """Grids, one per trace, whose sides follow each other among the integers of the command lines.

    Of `-P 4 3 1` and `--npx 4 --npy 3` each order of the sides is one; sides that are 1 everywhere are none.
    """
    words = [trace.meta.get("program", "").split()[1:] for trace in traces]
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


def check_arguments(traces: Sequence[Trace], runs: Sequence[Run]) -> list[str]:
    """Compare the command lines, word by word.

    A word may differ in integers that are the number of ranks, a side of the grid, a multiple of one of these
    (weak scaling: the problem grows with the machine), or a parameter.

    Returns:
        The multiples, as `5*X`.

    Raises:
        InputError: they differ in anything else.
    """
    lines = [trace.meta.get("program", "").split() for trace in traces]
    if not all(lines):
        return []  # made by hand, or by something else than `record`
    if len({len(words) for words in lines}) > 1:
        shown = "; ".join(
            f"{trace.nprocs} ranks: {' '.join(words)}" for trace, words in zip(traces, lines, strict=True)
        )
        raise InputError(f"the traces were recorded with different arguments: {shown}")
    known, multiples = dict(_sizes(runs)), dict[str, None]()
    for at, column in enumerate(zip(*lines, strict=True)):
        words = [word.rpartition("/")[2] for word in column] if _is_program(at, column) else list(column)
        if len(set(words)) > 1:
            multiples |= dict.fromkeys(_check_word(words, known, traces))
    return list(multiples)


def _is_program(at: int, column: Sequence[str]) -> bool:
    """Whether words name the program itself, which may lie in different folders."""
    return at == 0 or all(word.endswith(".py") for word in column)


def _sizes(runs: Sequence[Run]) -> Iterator[tuple[tuple[int, ...], str]]:
    """The values of each parameter and size in all runs, with its name."""
    for name in runs[0].inputs:
        yield tuple(run.inputs[name] for run in runs), ""
    yield from zip(zip(*(run.grid.dims for run in runs), strict=True), runs[0].grid.sizes, strict=True)
    yield tuple(run.grid.nprocs for run in runs), "P"


def _check_word(
    words: Sequence[str], known: Mapping[tuple[int, ...], str], traces: Sequence[Trace]
) -> Iterator[str]:
    """The multiples of sizes in one word of all command lines."""
    texts = {_INTEGER.sub("#", word) for word in words}
    columns = list(zip(*(map(int, _INTEGER.findall(word)) for word in words), strict=False))
    open_columns = [column for column in columns if len(set(column)) > 1 and column not in known]
    multiples = [_multiple(column, known) for column in open_columns]
    if len(texts) == 1 and all(multiples):
        yield from filter(None, multiples)
        return
    shown = "; ".join(f"{trace.nprocs} ranks: {word}" for trace, word in zip(traces, words, strict=True))
    hint = ""
    if texts == {"#"}:
        hint = "\nIf it is a size of the problem, note its value in each trace: --inputs n=V,V,..."
    raise InputError(f"the traces were recorded with different arguments: {shown}{hint}")


def _multiple(column: Sequence[int], known: Mapping[tuple[int, ...], str]) -> str | None:
    """The size of which numbers are a multiple, with the factor; None: of no size."""
    for sizes, name in known.items():
        factor = column[0] // sizes[0] if name else 0
        if factor > 1 and all(number == factor * size for number, size in zip(column, sizes, strict=True)):
            return f"{factor}*{name}"
    return None
