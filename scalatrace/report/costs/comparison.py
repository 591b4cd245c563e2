"""`diff`: two traces side by side, per operation or call site: calls, bytes, time in MPI, and their ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.errors import LimitError
from scalatrace.report.costs.rows import KEYS, Row, by_node
from scalatrace.report.style import (
    DIM,
    SITE,
    duration,
    more_columns,
    nbytes,
    number,
    op_text,
    or_dash,
    short_site,
    table,
)
from scalatrace.trace.model.trace import Trace

WIDE, MEDIUM = 130, 100
"""Characters of terminals that have room for all columns, and for calls and times."""

__all__ = ["ComparisonReporter"]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The rows of one key in both traces; an empty row where one has no such call."""

    key: tuple[str, ...]
    left: Row
    right: Row

    def differs(self, timed: bool) -> bool:
        """Whether a number is not the same."""
        same = (self.left.calls, self.left.sent) == (self.right.calls, self.right.sent)
        return not same or (timed and self.left.comm_ns != self.right.comm_ns)

    @property
    def time_ratio(self) -> float | None:
        """Time in MPI of the right trace over that of the left one; None where one has none."""
        return self.right.comm_ns / self.left.comm_ns if self.left.comm_ns and self.right.comm_ns else None

    @property
    def weight(self) -> tuple[float, int, int]:
        """How much it differs: time first, then bytes and calls."""
        return (
            abs((self.right.comm_ns or 0.0) - (self.left.comm_ns or 0.0)),
            abs((self.right.sent or 0) - (self.left.sent or 0)),
            abs(self.right.calls - self.left.calls),
        )


class ComparisonReporter:
    """Shows what differs between two traces, the largest differences first.

    Args:
        by: "op" or "site".
        timed: whether times are compared.
        limit: rows that are shown at most.
    """

    def __init__(self, left: Trace, right: Trace, by: str, timed: bool, limit: int) -> None:
        self.by, self.timed, self.limit = by, timed, limit
        self.pairs: list[_Pair] = []
        self.note = ""
        try:
            rows = [{row.key: row for row in by_node(trace, by)} for trace in (left, right)]
        except LimitError as error:
            self.note = f"no table: {error}"
            return
        keys = dict.fromkeys([*rows[0], *rows[1]])
        pairs = [_Pair(key, *(side.get(key, Row(key)) for side in rows)) for key in keys]
        self.equal = sum(not pair.differs(timed) for pair in pairs)
        self.pairs = sorted(
            (pair for pair in pairs if pair.differs(timed)), key=lambda pair: pair.weight, reverse=True
        )

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows that differ as plain data; times are absent if they are not compared."""
        names = KEYS[self.by][0]
        result = []
        for pair in self.pairs:
            facts: dict[str, Any] = dict(zip(names, pair.key, strict=True))
            for side, row in (("left", pair.left), ("right", pair.right)):
                facts[side] = {"calls": row.calls, "bytes_sent": row.sent}
                if self.timed:
                    facts[side]["mpi_ns"] = row.times()["mpi_ns"]
            if self.timed:
                facts["time_ratio"] = pair.time_ratio
            result.append(facts)
        return result

    def render(self, console: Console) -> None:
        """Print the table: `-` is the left trace, `+` the right one."""
        if self.note:
            console.print(Text(self.note, style=DIM), soft_wrap=True)
        if not self.pairs:
            return
        numbers = self._columns(console)
        rows = table(*KEYS[self.by][0], *numbers, right=numbers)
        for pair in self.pairs[: self.limit]:
            site = [Text(short_site(part), style=SITE) for part in pair.key[1:]]
            shown = self._numbers(pair)
            rows.add_row(op_text(pair.key[0]), *site, *(shown[name] for name in numbers))
        console.print(rows)
        hidden, rest = len(self.pairs) - self.limit, []
        if hidden > 0:
            rest.append(f"{hidden} more differ")
        if self.equal:
            rest.append(f"{self.equal} are equal")
        if rest:
            console.print(Text(", ".join(rest), style=DIM))
        if hidden_columns := [name for name in self._all_columns if name not in numbers]:
            console.print(Text(f"note: {more_columns(hidden_columns)}", style=DIM), soft_wrap=True)

    @property
    def _all_columns(self) -> list[str]:
        times = ["MPI time -", "MPI time +", "ratio"] if self.timed else []
        return ["calls -", "calls +", "sent -", "sent +", *times]

    def _columns(self, console: Console) -> list[str]:
        """Return the columns that a console has room for; a file or a pipe has room for all."""
        names = self._all_columns
        if console.is_terminal and self.timed and console.width < WIDE:
            names = [name for name in names if not name.startswith("sent")]
            if console.width < MEDIUM:
                names = [name for name in names if not name.startswith("calls")]
        return names

    def _numbers(self, pair: _Pair) -> dict[str, str]:
        shown = {"ratio": or_dash(lambda ratio: f"{ratio:.2f}", pair.time_ratio)}
        for side, row in (("-", pair.left), ("+", pair.right)):
            shown[f"calls {side}"] = number(row.calls)
            shown[f"sent {side}"] = or_dash(nbytes, row.sent)
            shown[f"MPI time {side}"] = or_dash(duration, row.comm_ns)
        return shown
