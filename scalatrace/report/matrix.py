"""`matrix`: the communication matrix as a table of numbers, a heat map, or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.style import DIM, columns, nbytes, number, table

COLUMN = 7
"""Width of a number; where the columns do not fit, a heat map is drawn."""

HEAT = ("grey11", "#2c105c", "#6b1d81", "#b5367a", "#f0605d", "#feae76", "#fcfdbf")
"""From nothing to the most, the logarithm of the amount."""


SHADES = " ·░░▒▓█"
"""The same without colours."""


MAX_TABLE_RANKS = 1024
"""Ranks up to which the JSON form has the whole table; of more ranks it lists the pairs that have any."""


class MatrixReporter:
    """Shows the communication matrix.

    Args:
        pairs: (sender, receiver) -> amount.
        nprocs: ranks.
        what: "bytes" or "messages".
        notes: limits of the numbers, such as estimates.
    """

    def __init__(
        self, pairs: Mapping[tuple[int, int], int], nprocs: int, what: str, notes: Sequence[str] = ()
    ) -> None:
        self.pairs = {pair: n for pair, n in sorted(pairs.items()) if n}
        self.nprocs, self.what, self.notes = nprocs, what, list(notes)

    def rows(self) -> Iterator[dict[str, int]]:
        """Yield sender, receiver and amount of each pair that has any."""
        for (sender, receiver), n in self.pairs.items():
            yield {"sender": sender, "receiver": receiver, self.what: n}

    def plain(self) -> dict[str, Any]:
        """Return the matrix as plain data: "matrix" with all entries, "pairs" if it is large."""
        facts: dict[str, Any] = {"what": self.what, "notes": self.notes}
        if self.nprocs > MAX_TABLE_RANKS:
            return {**facts, "nprocs": self.nprocs, "pairs": [[*pair, n] for pair, n in self.pairs.items()]}
        return {**facts, "matrix": self._table()}

    def _table(self, step: int = 1) -> list[list[int]]:
        """Return all entries, those of `step` times `step` ranks in one."""
        n = -(-self.nprocs // step)
        rows = [[0] * n for _ in range(n)]
        for (i, j), amount in self.pairs.items():
            rows[i // step][j // step] += amount
        return rows

    def render(self, console: Console) -> None:
        """Print numbers for few ranks, a heat map for many, and the totals."""
        if COLUMN * (self.nprocs + 2) <= columns(console):
            self._numbers(console)
        else:
            self._heat(console)
        flat = list(self.pairs.values())
        shown = nbytes if self.what == "bytes" else number
        text = f"{len(flat)} pairs, {shown(sum(flat))} in all"
        if flat:
            text += f", {shown(min(flat))} to {shown(max(flat))} a pair"
        console.print(Text(text, style="bold"))
        for note in self.notes:
            console.print(Text(f"note: {clean(note)}", style=DIM), soft_wrap=True)

    def _numbers(self, console: Console) -> None:
        names = [str(i) for i in range(self.nprocs)]
        rows = table("from \u2192", *names, right=names)
        most = max(self.pairs.values(), default=0)
        for i, row in enumerate(self._table()):
            rows.add_row(str(i), *(self._number(n, most) for n in row))
        console.print(rows)

    def _number(self, n: int, most: int) -> Text:
        if not n:
            return Text("·", style=DIM)
        return Text(nbytes(n).replace(" ", "").removesuffix("B"), style=_colour(n, most), no_wrap=True)

    def _heat(self, console: Console) -> None:
        """Print pixels, two rows of them a line; ranks share a pixel when there are more than columns."""
        pixels = self._pixels(max(8, columns(console) - 8))
        step = -(-self.nprocs // len(pixels))
        most = max((n for row in pixels for n in row), default=0)
        if console.color_system is None:
            lines = [(top, [(SHADES[_heat(n, most)], "") for n in row]) for top, row in enumerate(pixels)]
        else:
            lines = [(top, _two_rows(pixels[top : top + 2], most)) for top in range(0, len(pixels), 2)]
        for top, cells in lines:
            console.print(Text.assemble((f"{top * step:>6} ", DIM), *cells), no_wrap=True)

    def _pixels(self, width: int) -> list[list[int]]:
        return self._table(-(-self.nprocs // width))


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
