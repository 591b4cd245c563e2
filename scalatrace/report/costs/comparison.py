"""Tables of `diff`: total times of two traces, computation, then calls, bytes and times of call sites."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.errors import LimitError
from scalatrace.escapes import clean
from scalatrace.report.costs.compared import CallPair, Compared, Ranks, compare, site_text
from scalatrace.report.costs.rows import KEYS, Row, whole_time
from scalatrace.report.style import (
    DIM,
    SITE,
    duration,
    more_columns,
    nbytes,
    number,
    op_text,
    or_dash,
    percent,
    ratio_text,
    table,
)
from scalatrace.trace.model.trace import Trace

MIN_SHARE = 0.01
"""Part of all differences of times from which on computation is printed."""

WIDE, MEDIUM = 130, 100
"""Characters of terminals that have room for all columns, and for calls and times."""

__all__ = ["ComparisonReporter"]


class ComparisonReporter:
    """Shows what differs between two traces, the largest differences first.

    Args:
        by: "op" or "site".
        timed: whether times are compared.
        limit: rows that are shown at most.
    """

    def __init__(self, left: Trace, right: Trace, by: str, timed: bool, limit: int) -> None:
        self.by, self.timed, self.limit = by, timed, limit
        self.note = ""
        self.totals = [whole_time(trace.without_phases) for trace in (left, right)]
        self.compared = Compared(Ranks(len(left.ranks), len(right.ranks)), [], 0, [])
        try:
            self.compared = compare(left, right, by, timed)
        except LimitError as error:
            self.note = f"no table: {error}"

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows that differ as plain data; times are absent if they are not compared."""
        names = KEYS[self.by][0]
        result = []
        for pair in self.compared.calls:
            facts: dict[str, Any] = dict(zip(names, pair.left_key, strict=True))
            for side, row in (("left", pair.left), ("right", pair.right)):
                facts[side] = {"calls": row.calls, "bytes_sent": row.sent}
                if self.timed:
                    facts[side] |= {name: row.times()[name] for name in ("mpi_ns", "compute_ns")}
            if self.timed:
                facts["time_ratio"] = pair.time_ratio
            result.append(facts)
        return result

    def computation(self) -> list[dict[str, Any]]:
        """Return the computation between two calls that differs as plain data."""
        return [pair.plain(self.by) for pair in self.compared.computation]

    def total(self) -> dict[str, Any] | None:
        """Return the times in all calls and all computation as plain data; None: not compared or known."""
        if not self._has_totals:
            return None
        sides = [{name: row.times()[name] for name in ("mpi_ns", "compute_ns")} for row in self.totals]
        left, right = (_sum(row) / n for row, n in zip(self.totals, self.compared.ranks, strict=True))
        return {"left": sides[0], "right": sides[1], "time_ratio": right / left if left and right else None}

    @property
    def _has_totals(self) -> bool:
        return self.timed and all(row.comm_ns is not None for row in self.totals)

    def render(self, console: Console) -> None:
        """Print the tables: `-` is the left trace, `+` the right one."""
        if self._has_totals:
            self._total(console)
        if self.note:
            console.print(Text(self.note, style=DIM), soft_wrap=True)
        self._computation(console)
        self._calls(console)
        if (ranks := self.compared.ranks).differ:
            text = f"numbers are those of a rank: {ranks.left} and {ranks.right} ranks are compared"
            console.print(Text(text, style=DIM), soft_wrap=True)

    def _total(self, console: Console) -> None:
        """Print the times of both traces without start-up and shut-down: in all, in MPI and computing."""
        numbers = ("-", "+", "ratio")
        whose = "a rank" if self.compared.ranks.differ else "all ranks"
        rows = table(f"time of {whose}", *numbers, right=numbers)
        for name, of in (
            ("total", _sum),
            ("in MPI", lambda row: row.comm_ns or 0.0),
            ("computation", lambda row: row.compute_ns or 0.0),
        ):
            left, right = (of(row) / self._over(side) for side, row in enumerate(self.totals))
            ratio = right / left if left and right else None
            rows.add_row(name, duration(left), duration(right), or_dash(ratio_text, ratio))
        console.print(rows)

    def _computation(self, console: Console) -> None:
        """Print the computation that differs by a part of all differences that is worth a look."""
        pairs = [pair for pair in self.compared.computation if pair.share >= MIN_SHARE][: self.limit]
        if not pairs:
            return
        numbers = ("-", "+", "ratio", "of difference")
        rows = table("computation before", *numbers, right=numbers)
        for pair in pairs:
            times = (self._time(ns, side) for side, ns in enumerate((pair.left_ns, pair.right_ns)))
            shown = (*times, or_dash(ratio_text, pair.ratio), percent(pair.share, 1))
            rows.add_row(Text(clean(pair.place), style=SITE), *shown)
        console.print(rows)
        text = "of difference: of all times that differ; a call that waits for slower computation is longer"
        console.print(Text(text, style=DIM), soft_wrap=True)

    def _calls(self, console: Console) -> None:
        pairs = self.compared.calls
        if not pairs:
            return
        numbers = self._columns(console)
        rows = table(*KEYS[self.by][0], *numbers, right=numbers)
        for pair in pairs[: self.limit]:
            sites = zip(pair.left_key[1:], pair.right_key[1:], strict=True)
            shown = self._numbers(pair)
            rows.add_row(
                op_text(pair.left_key[0]),
                *(Text(site_text(*both), style=SITE) for both in sites),
                *(shown[name] for name in numbers),
            )
        console.print(rows)
        self._left_out(console, numbers)

    def _left_out(self, console: Console, numbers: Collection[str]) -> None:
        """Say how many rows, and which columns, the table of calls does not have."""
        hidden, counts = len(self.compared.calls) - self.limit, []
        if hidden > 0:
            counts.append(f"{hidden} more differ")
        if self.compared.equal:
            counts.append(f"{self.compared.equal} are equal")
        if counts:
            console.print(Text(", ".join(counts), style=DIM))
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

    def _numbers(self, pair: CallPair) -> dict[str, str]:
        shown = {"ratio": or_dash(ratio_text, pair.time_ratio)}
        for side, (mark, row) in enumerate((("-", pair.left), ("+", pair.right))):
            over = self._over(side)
            calls, part = divmod(row.calls, over)
            shown[f"calls {mark}"] = f"{row.calls / over:,.4g}" if part else number(calls)
            shown[f"sent {mark}"] = "-" if row.sent is None else nbytes(row.sent // over)
            shown[f"MPI time {mark}"] = self._time(row.comm_ns, side)
        return shown

    def _time(self, ns: float | None, side: int) -> str:
        return "-" if ns is None else duration(ns / self._over(side))

    def _over(self, side: int) -> int:
        """Return what amounts of a trace are divided by: its ranks where these differ, else 1."""
        return self.compared.ranks[side] if self.compared.ranks.differ else 1


def _sum(row: Row) -> float:
    return (row.comm_ns or 0.0) + (row.compute_ns or 0.0)
