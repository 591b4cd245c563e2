"""`matrix`: the communication matrix as a table of numbers, a heat map, or CSV."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.errors import LimitError
from scalatrace.escapes import clean
from scalatrace.report.columns import PAIRS
from scalatrace.report.page.blocks import summed
from scalatrace.report.style import DIM, columns, nbytes, number, text_table
from scalatrace.report.tables import CommandTable, TableColumn
from scalatrace.trace.exchange.matrix import (
    COLLECTIVE,
    POINT_TO_POINT,
    PairTable,
    has_collectives,
    pair_table,
)
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.trace import Trace

COLUMN = 7
"""Width of a number; where the columns do not fit, a heat map is drawn."""

HEAT = ("grey11", "#2c105c", "#6b1d81", "#b5367a", "#f0605d", "#feae76", "#fcfdbf")
"""From nothing to the most, the logarithm of the amount."""


SHADES = " ·░░▒▓█"
"""The same without colours."""


TITLES = {POINT_TO_POINT: "point to point", COLLECTIVE: "collectives"}
PREFIXES = {POINT_TO_POINT: "", COLLECTIVE: "collective_"}
"""Of the names of amounts in tables for scripts."""

MAX_TABLE_RANKS = 1024
"""Ranks up to which the JSON form has the whole table; of more ranks it lists the pairs that have any."""


@dataclass(frozen=True)
class MatrixPart:
    """What some calls send.

    Attributes:
        title: which calls.
        prefix: of the names of their amounts in tables for scripts.
        pairs: None: they are too many to list.
        blocks: sums of blocks of ranks, or of pairs: row (sender), column (receiver) -> amount.
    """

    title: str
    prefix: str
    pairs: PairTable | None
    blocks: Mapping[tuple[int, int], int]


class MatrixReporter:
    """Shows the communication matrix, point to point and of collectives.

    Args:
        parts: those that are shown.
        nprocs: ranks.
        block: ranks of a block.
        what: "bytes" or "messages".
        notes: limits of the numbers, such as estimates.
    """

    def __init__(
        self, parts: Sequence[MatrixPart], nprocs: int, block: int, what: str, notes: Sequence[str] = ()
    ) -> None:
        self.parts, self.nprocs, self.block = parts, nprocs, block
        self.what, self.notes = what, list(notes)

    @property
    def table(self) -> CommandTable:
        """Columns of the amounts of these parts."""
        return PAIRS.only("sender", "receiver", *self._amounts)

    @property
    def _amounts(self) -> list[str]:
        return [part.prefix + self.what for part in self.parts]

    def rows(self) -> Iterator[dict[str, int]]:
        """Yield sender, receiver and amounts of each pair that has any."""
        for pair, amounts in self._merge_pairs():
            yield {"sender": pair[0], "receiver": pair[1], **dict(zip(self._amounts, amounts, strict=True))}

    def _merge_pairs(self) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """Yield the pairs of all parts in order, with the amount in each part."""
        listed = [
            [((sender, receiver), i, n) for sender, receiver, n in part.pairs or ()]
            for i, part in enumerate(self.parts)
        ]
        for pair, entries in groupby(heapq.merge(*listed), key=lambda entry: entry[0]):
            amounts = [0] * len(self.parts)
            for _, i, n in entries:
                amounts[i] = n
            yield pair, amounts

    def plain(self) -> dict[str, Any]:
        """Return plain data: "matrix" with all entries, "pairs" if it is large; None: not listed."""
        facts: dict[str, Any] = {"what": self.what, "notes": self.notes, "nprocs": self.nprocs}
        for part in self.parts:
            name = f"{part.prefix}{'pairs' if self.nprocs > MAX_TABLE_RANKS else 'matrix'}"
            if part.pairs is None:
                facts[name] = None
            elif self.nprocs > MAX_TABLE_RANKS:
                facts[name] = [list(entry) for entry in part.pairs]
            else:
                facts[name] = self._table({(i, j): n for i, j, n in part.pairs}, self.nprocs)
        return facts

    def _table(self, cells: Mapping[tuple[int, int], int], n: int) -> list[list[int]]:
        rows = [[0] * n for _ in range(n)]
        for (i, j), amount in cells.items():
            rows[i][j] = amount
        return rows

    def render(self, console: Console) -> None:
        """Print numbers for few ranks, a heat map for many, and the totals, of each part."""
        for part in self.parts:
            if len(self.parts) > 1 or part.prefix:
                console.print(Text(part.title, style="bold"))
            if self.block == 1 and COLUMN * (self.nprocs + 2) <= columns(console):
                self._numbers(console, part)
            else:
                self._heat(console, part)
            console.print(Text(self._totals(part), style="bold"))
        for note in self.notes:
            console.print(Text(f"note: {clean(note)}", style=DIM), soft_wrap=True)

    def _totals(self, part: MatrixPart) -> str:
        shown = nbytes if self.what == "bytes" else number
        if part.pairs is None:
            return f"{shown(sum(part.blocks.values()))} in all"
        text = f"{number(len(part.pairs))} pairs, {shown(part.pairs.total)} in all"
        if len(part.pairs):
            least, most = int(part.pairs.amounts.min()), int(part.pairs.amounts.max())
            text += f", {shown(least)} to {shown(most)} a pair"
        return text

    def _numbers(self, console: Console, part: MatrixPart) -> None:
        names = [str(i) for i in range(self.nprocs)]
        receivers = (TableColumn(name, name, "count") for name in names)
        table = CommandTable("sender", (TableColumn("sender", "from \u2192"), *receivers))
        most = max(part.blocks.values(), default=0)
        amounts = self._table(part.blocks, self.nprocs)
        rows = (
            {"sender": name, **dict(zip(names, (self._number(n, most) for n in row), strict=True))}
            for name, row in zip(names, amounts, strict=True)
        )
        console.print(text_table(table, rows))

    def _number(self, n: int, most: int) -> Text:
        if not n:
            return Text("·", style=DIM)
        return Text(nbytes(n).replace(" ", "").removesuffix("B"), style=_colour(n, most), no_wrap=True)

    def _heat(self, console: Console, part: MatrixPart) -> None:
        """Print pixels, two rows of them a line, each a block of ranks."""
        pixels = self._table(part.blocks, -(-self.nprocs // self.block))
        most = max((n for row in pixels for n in row), default=0)
        if console.color_system is None:
            lines = [(top, [(SHADES[_heat(n, most)], "") for n in row]) for top, row in enumerate(pixels)]
        else:
            lines = [(top, _two_rows(pixels[top : top + 2], most)) for top in range(0, len(pixels), 2)]
        for top, cells in lines:
            console.print(Text.assemble((f"{top * self.block:>7} ", DIM), *cells), no_wrap=True)


def parts_of(trace: Trace, what: str, calls: str, block: int) -> tuple[list[MatrixPart], list[str]]:
    """Return what each kind of calls sends, and notes on it.

    Args:
        what, calls: as in `trace.exchange.matrix.pair_table`; messages and collectives of "all" are apart.
        block: ranks of a block.

    Raises:
        UsageError, FormatError: as `pair_table`.
    """
    wanted = [calls]
    if calls == "all":
        wanted = [POINT_TO_POINT, *([COLLECTIVE] if has_collectives(trace) else [])]
    notes = list[str]()
    return [_part(trace, what, kind, block, notes) for kind in wanted], notes


def _part(trace: Trace, what: str, calls: str, block: int, notes: list[str]) -> MatrixPart:
    title, prefix = TITLES[calls], PREFIXES[calls]
    try:
        pairs = pair_table(trace, what, calls)
        return MatrixPart(title, prefix, pairs, pairs.blocks(block, trace.nprocs))
    except LimitError as error:
        notes.append(f"{title}: pairs are not listed: {error}")
    budget = Budget()
    blocks = summed(trace, budget, block, what, calls)
    if not budget.exact:
        notes.append(f"{title}: amounts are estimated from a sample of the ranks or calls")
    return MatrixPart(title, prefix, None, blocks)


def block_size(console: Console, nprocs: int) -> int:
    """Return how many ranks share a row and column of the drawing; 1: numbers or pixels of single ranks."""
    if COLUMN * (nprocs + 2) <= columns(console):
        return 1
    return -(-nprocs // max(8, columns(console) - 9))


def _two_rows(rows: list[list[int]], most: int) -> list[tuple[str, str]]:
    """Return a character for each column, its upper half the first row, its lower half the second."""
    lower = rows[1] if len(rows) > 1 else [0] * len(rows[0])
    return [("▀", f"{_colour(a, most)} on {_colour(b, most)}") for a, b in zip(rows[0], lower, strict=True)]


def _heat(n: int, most: int) -> int:
    """Return the level of an amount, 0 for none: bits of it over bits of the most."""
    if not n:
        return 0
    top = len(HEAT) - 1
    return max(1, min(top, round(n.bit_length() / max(1, most.bit_length()) * top)))


def _colour(n: int, most: int) -> str:
    return HEAT[_heat(n, most)]
