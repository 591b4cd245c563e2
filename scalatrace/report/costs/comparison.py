"""Tables of `diff`: total times of two traces, computation, then calls, bytes and times of call sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.errors import LimitError
from scalatrace.report.columns import (
    COMPARED_AMOUNTS,
    DIFFERENCES,
    TIME_DIFFERENCES,
    TOTALS,
    WHOLE_TIMES,
)
from scalatrace.report.costs.compared import CallPair, Compared, ComparedRanks, compare, site_text
from scalatrace.report.costs.rows import KEYS, CostRow, whole_time
from scalatrace.report.style import (
    DIM,
    SITE,
    coarse_duration,
    fit_columns,
    more_columns,
    text_table,
)
from scalatrace.report.tables import CommandTable
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.oversubscription import oversubscription_note

MIN_SHARE = 0.01
"""Part of all differences of times from which on one is printed."""

MAX_EQUAL = 0.01
"""Difference of times, as a part of the longer one, up to which neither trace is called slower."""
MAX_CAUSES, MIN_NAMED_SHARE = 3, 0.8
"""Differences that the sentence names, and the part of the whole one from which on these are enough."""

COMPUTATION = "computation"

__all__ = ["ComparisonReporter", "flat_sides"]


class ComparisonReporter:
    """Shows what differs between two traces, the largest differences first.

    Args:
        by: "op" or "site".
        timed: whether times are compared.
        limit: rows that are shown at most.
    """

    def __init__(self, left: Trace, right: Trace, by: str, timed: bool, limit: int) -> None:
        self.by, self.timed, self.limit = by, timed, limit
        self.table = DIFFERENCES if by == "site" else DIFFERENCES.without("call site")
        self.note = ""
        self.totals = [whole_time(trace.without_phases) for trace in (left, right)]
        self.shared_cores = any(oversubscription_note(trace.meta) for trace in (left, right))
        self.compared = Compared(ComparedRanks(len(left.ranks), len(right.ranks)), [], 0, [])
        try:
            self.compared = compare(left, right, by, timed)
        except LimitError as error:
            self.note = f"no table: {error}"

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows that differ as plain data; times are absent if they are not compared."""
        keys = KEYS[self.by][0]
        table = COMPARED_AMOUNTS if self.timed else COMPARED_AMOUNTS.only("calls", "bytes_sent")
        result = []
        for pair in self.compared.calls:
            facts: dict[str, Any] = dict(zip(keys, pair.left_key, strict=True))
            for side, row in (("left", pair.left), ("right", pair.right)):
                facts[side] = table.plain(row.amounts())
            if self.timed:
                facts["time_ratio"] = pair.time_ratio
            result.append(facts)
        return result

    def flat(self) -> Iterator[dict[str, Any]]:
        """Yield the rows that differ with the columns of DIFFERENCES."""
        return map(flat_sides, self.plain())

    def computation(self) -> list[dict[str, Any]]:
        """Return the computation between two calls that differs as plain data."""
        return [pair.plain(self.by) for pair in self.compared.computation]

    def total(self) -> dict[str, Any] | None:
        """Return the times in all calls and all computation as plain data; None: not compared or known."""
        if not self._has_totals:
            return None
        sides = [WHOLE_TIMES.plain(row.amounts()) for row in self.totals]
        left, right = (_sum(row) / n for row, n in zip(self.totals, self.compared.ranks, strict=True))
        return {"left": sides[0], "right": sides[1], "time_ratio": right / left if left and right else None}

    @property
    def _has_totals(self) -> bool:
        return self.timed and all(row.comm_ns is not None for row in self.totals)

    def times(self) -> list[dict[str, Any]]:
        """Return computation and calls that take longer or shorter, with the columns of TIME_DIFFERENCES.

        Times are those of all ranks, or of a rank where numbers of ranks differ. The largest differences
        come first; shares are parts of all differences.
        """
        rows = [(COMPUTATION, pair.place, pair.left_ns, pair.right_ns) for pair in self.compared.computation]
        for call in self.compared.calls if self.timed else ():
            site = site_text(call.left_key[1], call.right_key[1]) if self.by == "site" else ""
            rows.append((f"in {call.left_key[0]}", site, call.left.comm_ns, call.right.comm_ns))
        listed = [self._time_row(*row) for row in rows]
        whole = sum(abs(row["difference_ns"]) for row in listed)
        differing = [row for row in listed if row["difference_ns"]]
        differing.sort(key=lambda row: -abs(row["difference_ns"]))
        return [{**row, "share_of_difference": abs(row["difference_ns"]) / whole} for row in differing]

    def _time_row(
        self, time: str, place: str, left_ns: float | None, right_ns: float | None
    ) -> dict[str, Any]:
        left, right = (left_ns or 0.0) / self._over(0), (right_ns or 0.0) / self._over(1)
        return {
            "time": time,
            "place": place,
            "left_ns": left,
            "right_ns": right,
            "difference_ns": right - left,
            "time_ratio": right / left if left and right else None,
        }

    def sentence(self, left: str, right: str) -> str:
        """Return which trace is slower and why, by their names; "": times are not compared or known.

        Times are means of a rank. What is named makes up most of the difference, in its direction.
        """
        if not self._has_totals:
            return ""
        a, b = (_sum(row) / n for row, n in zip(self.totals, self.compared.ranks, strict=True))
        if abs(b - a) <= MAX_EQUAL * max(a, b):
            return f"{right} and {left} take the same time, {coarse_duration(a)} per rank."
        slower, sign = ("slower", 1) if b > a else ("faster", -1)
        over = 1 if self.compared.ranks.differ else self.compared.ranks.left
        causes, named = [], 0.0
        for row in self.times():
            ns = sign * row["difference_ns"] / over
            if ns <= 0:
                continue
            causes.append(f"{coarse_duration(ns)} {row['time']} {row['place']}".rstrip())
            named += ns
            if len(causes) == MAX_CAUSES or named >= MIN_NAMED_SHARE * abs(b - a):
                break
        times = f"{coarse_duration(b)} per rank, {coarse_duration(a)} before"
        why = f": {'; '.join(causes)}" if causes else ""
        caveat = " Some times contain waiting for cores." if self.shared_cores else ""
        return f"{right} is {coarse_duration(abs(b - a))} {slower} ({times}){why}.{caveat}"

    def render(self, console: Console) -> None:
        """Print the tables: `-` is the left trace, `+` the right one."""
        if sentence := self.sentence("-", "+"):
            console.print(Text(sentence), soft_wrap=True)
        if self._has_totals:
            self._total(console)
        if self.note:
            console.print(Text(self.note, style=DIM), soft_wrap=True)
        self._times(console)
        self._calls(console)
        if (ranks := self.compared.ranks).differ:
            text = f"numbers are those of a rank: {ranks.left} and {ranks.right} ranks are compared"
            console.print(Text(text, style=DIM), soft_wrap=True)

    def _total(self, console: Console) -> None:
        """Print the times of both traces without start-up and shut-down: in all, in MPI and computing."""
        whose = "a rank" if self.compared.ranks.differ else "all ranks"
        rows = []
        for name, of in (
            ("total", _sum),
            ("in MPI", lambda row: row.comm_ns or 0.0),
            ("computation", lambda row: row.compute_ns or 0.0),
        ):
            left, right = (of(row) / self._over(side) for side, row in enumerate(self.totals))
            ratio = right / left if left and right else None
            rows.append({"sum": name, "left_ns": left, "right_ns": right, "time_ratio": ratio})
        console.print(text_table(TOTALS.headed(sum=f"time of {whose}"), rows))

    def _times(self, console: Console) -> None:
        """Print the times that differ by a part of all differences that is worth a look."""
        rows = [row for row in self.times() if row["share_of_difference"] >= MIN_SHARE]
        if not rows:
            return
        console.print(text_table(TIME_DIFFERENCES, rows[: self.limit]))
        text = "of difference: of all times that differ; a call that waits for slower computation is longer"
        more = f"; {len(rows) - self.limit} more differ" if len(rows) > self.limit else ""
        console.print(Text(text + more, style=DIM), soft_wrap=True)

    def _calls(self, console: Console) -> None:
        pairs = self.compared.calls
        if not pairs:
            return
        table, hidden = fit_columns(self._text_columns(), console)
        console.print(text_table(table, map(self._texts, pairs[: self.limit])))
        self._left_out(console, hidden)

    def _left_out(self, console: Console, hidden_columns: list[str]) -> None:
        """Say how many rows, and which columns, the table of calls does not have."""
        more, counts = len(self.compared.calls) - self.limit, []
        if more > 0:
            counts.append(f"{more} more differ")
        if self.compared.equal:
            row = "operation" if self.by == "op" else "call site"
            counts.append(f"{self.compared.equal} {row}{'s are' if self.compared.equal > 1 else ' is'} equal")
        if counts:
            console.print(Text(", ".join(counts), style=DIM))
        if hidden_columns:
            console.print(Text(f"note: {more_columns(hidden_columns)}", style=DIM), soft_wrap=True)

    def _text_columns(self) -> CommandTable:
        """Return the columns that are compared; without times, there is room for all."""
        if self.timed:
            return self.table
        columns = tuple(replace(column, min_width=0) for column in self.table.columns)
        return replace(self.table, columns=columns).without("left_mpi_ns", "right_mpi_ns", "time_ratio")

    def _texts(self, pair: CallPair) -> dict[str, Any]:
        """Return the values of a row per rank where these differ."""
        texts: dict[str, Any] = {"operation": pair.left_key[0], "time_ratio": pair.time_ratio}
        if self.by == "site":
            texts["call site"] = Text(site_text(pair.left_key[1], pair.right_key[1]), style=SITE)
        for side, (name, row) in enumerate((("left", pair.left), ("right", pair.right))):
            over = self._over(side)
            calls, part = divmod(row.calls, over)
            texts[f"{name}_calls"] = f"{row.calls / over:,.4g}" if part else calls
            texts[f"{name}_bytes_sent"] = None if row.sent is None else row.sent // over
            texts[f"{name}_mpi_ns"] = self._per_rank(row.comm_ns, side)
        return texts

    def _per_rank(self, ns: float | None, side: int) -> float | None:
        return None if ns is None else ns / self._over(side)

    def _over(self, side: int) -> int:
        """Return what amounts of a trace are divided by: its ranks where these differ, else 1."""
        return self.compared.ranks[side] if self.compared.ranks.differ else 1


def flat_sides(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of plain data with a column for each amount of each trace."""
    sides = {f"{side}_{name}": n for side in ("left", "right") for name, n in row[side].items()}
    return {**row, **sides}


def _sum(row: CostRow) -> float:
    return (row.comm_ns or 0.0) + (row.compute_ns or 0.0)
