"""A call that ranks make for a list of neighbours: each neighbour a call of its own, where it is.

In a trace a halo exchange is one call, four times in the interior, three times at a border, with peers that
go round. Written one after the other, with conditions, it is what the program's author wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scalatrace.codegen.builders.pieces import FieldPiece
from scalatrace.codegen.builders.places import RankPlaces
from scalatrace.codegen.builders.sample import Mask
from scalatrace.formula import Cond, Value, either

__all__ = ["MAX_UNROLLED_CALLS", "RowLine", "TableRow", "align_rows"]

MAX_UNROLLED_CALLS = 32
"""Calls that are written one after the other at most."""


@dataclass(frozen=True, eq=False)
class TableRow:
    """What some ranks do: the parameters of each of a few calls."""

    ranks: Mask
    cond: Cond
    calls: tuple[tuple[Value, ...], ...]


@dataclass(eq=False)
class RowLine:
    """A call of several rows."""

    pieces: list[tuple[Mask, Cond, tuple[Value, ...]]] = field(default_factory=list)

    @property
    def ranks(self) -> Mask:
        """Who makes it."""
        ranks, *more = (ranks for ranks, _, _ in self.pieces)
        for row in more:
            ranks = ranks | row
        return ranks

    @property
    def cond(self) -> Cond:
        """Who makes it, as the trace says it."""
        return either(*(cond for _, cond, _ in self.pieces))

    def parameter(self, n: int) -> list[FieldPiece]:
        """The n-th parameter of all who make it."""
        return [FieldPiece(ranks, values[n], cond) for ranks, cond, values in self.pieces]


def align_rows(places: RankPlaces, rows: Sequence[TableRow]) -> list[RowLine]:
    """The calls of all rows in an order that each of them keeps, equal ones together."""
    lines: list[RowLine] = []
    for row in sorted(rows, key=lambda row: -len(row.calls)):
        merged: list[RowLine] = []
        pairs = _common(places, lines, row)
        i = 0
        for j, values in enumerate(row.calls):
            if j in pairs:
                merged += lines[i : pairs[j]]
                lines[pairs[j]].pieces.append((row.ranks, row.cond, values))
                merged.append(lines[pairs[j]])
                i = pairs[j] + 1
            else:
                merged.append(RowLine([(row.ranks, row.cond, values)]))
        lines = merged + lines[i:]
    return lines


def _common(places: RankPlaces, lines: Sequence[RowLine], row: TableRow) -> dict[int, int]:
    """A longest common subsequence: number in the row -> number of the line."""
    n, m = len(lines), len(row.calls)
    equal = [[_alike(places, line, row, values) for values in row.calls] for line in lines]
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + 1 if equal[i][j] else 0)
    result, i, j = {}, 0, 0
    while i < n and j < m:
        if equal[i][j] and best[i][j] == best[i + 1][j + 1] + 1:
            result[j] = i
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return result


def _alike(places: RankPlaces, line: RowLine, row: TableRow, values: tuple[Value, ...]) -> bool:
    """Whether a call of the row is that of the line, said with one formula for each parameter."""
    equal = places.sample.agree
    for n, e in enumerate(values):
        if not any(equal(exprs[n], e, row.ranks) for _, _, exprs in line.pieces) and not all(
            equal(e, exprs[n], ranks) for ranks, _, exprs in line.pieces
        ):
            return False
    return True
