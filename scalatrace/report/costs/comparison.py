"""Tables of `diff`: total times of two traces, computation, then calls, bytes and times of call sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
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
from scalatrace.report.costs.compared import (
    COMPUTATION,
    CallPair,
    Compared,
    ComparedRanks,
    TimeDifference,
    compare,
    site_text,
)
from scalatrace.report.costs.efficiency import efficiency, run_time
from scalatrace.report.costs.rows import KEYS, CostRow, whole_time
from scalatrace.report.costs.uneven_ranks import UnevenRanks, uneven_ranks
from scalatrace.report.style import (
    DIM,
    SiteText,
    coarse,
    coarse_duration,
    fit_columns,
    more_columns,
    text_table,
)
from scalatrace.report.tables import CommandTable
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.oversubscription import oversubscription_note
from scalatrace.trace.query.load import COMM, COMPUTE

MIN_SHARE = 0.01
"""Part of all differences of times from which on one is printed."""

MAX_EQUAL = 0.01
"""Difference of times, as a part of the longer one, up to which neither trace is called slower."""
IN_MPI = "in MPI"
"""All times in calls."""

MIN_OF_KIND = 0.75
"""Part of all differences of computation, or of times in calls, from which on one of them has their ranks."""

MAX_CAUSES, MIN_NAMED_SHARE = 3, 0.8
"""Differences that the sentence names, and the part of the whole one from which on these are enough."""

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
        self.uneven_ranks: dict[str, UnevenRanks] = {}
        traces = left.without_phases, right.without_phases
        self.totals = [whole_time(trace) for trace in traces]
        self.run_times_ns = [
            run_time(trace, total, efficiency(trace, total)).ns
            for trace, total in zip(traces, self.totals, strict=True)
        ]
        self._programs = left.meta.get("program", ""), right.meta.get("program", "")
        self.shared_cores = any(oversubscription_note(trace.meta) for trace in (left, right))
        self.compared = Compared(ComparedRanks(len(left.ranks), len(right.ranks)), [], 0, [])
        try:
            self.compared = compare(left, right, by, timed)
        except LimitError as error:
            self.note = f"no table: {error}"
        if not self._has_totals:
            return
        computing, inside = ([getattr(row, n) for row in self.totals] for n in ("compute_ns", "comm_ns"))
        for name, stat, (a, b) in ((COMPUTATION, COMPUTE, computing), (IN_MPI, COMM, inside)):
            if (uneven := uneven_ranks(traces, stat, (a, b))) is not None:
                self.uneven_ranks[name] = uneven

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
        times = self.compared.times
        return [each.plain(self.by) for each in times if each.kind == COMPUTATION]

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

        Times are means of a rank. The largest differences come first; shares are parts of all differences.
        """
        sums = dict.fromkeys((COMPUTATION, IN_MPI), 0.0)
        for each in self.compared.times:
            sums[_kind(each)] += abs(each.difference_ns)
        return [{**each.row(), "mostly_on": self._ranks_of(each, sums)} for each in self.compared.times]

    def _ranks_of(self, difference: TimeDifference, sums: dict[str, float]) -> str:
        """Return the ranks that a difference is mostly on; "" where they are not known.

        A trace has totals of each rank, not its times of single calls. So these are the ranks of a difference
        only if it is nearly all of its kind.
        """
        uneven = self.uneven_ranks.get(kind := _kind(difference))
        if uneven is None or abs(difference.difference_ns) < MIN_OF_KIND * sums[kind]:
            return ""
        return str(uneven) if uneven.difference_ns * difference.difference_ns > 0 else ""

    def sentence(self, left: str, right: str) -> str:
        """Return which trace is slower and why, by their names; "": times are not compared or known.

        The result is that of the run times, of the longest ranks. The reasons are differences of a mean
        rank: they make up most of its difference, in its direction.
        """
        if not self._has_totals:
            return ""
        mean_a, mean_b = (_sum(row) / n for row, n in zip(self.totals, self.compared.ranks, strict=True))
        run_a, run_b = (run or mean for run, mean in zip(self.run_times_ns, (mean_a, mean_b), strict=True))
        if max(_change(run_a, run_b), _change(mean_a, mean_b)) <= MAX_EQUAL:
            return f"{right} and {left} take the same time, {coarse_duration(run_a)}."
        if _change(run_a, run_b) <= MAX_EQUAL:
            text = f"{right} and {left} have the same run time, {coarse_duration(run_a)}"
        else:
            slower = "slower" if run_b > run_a else "faster"
            difference_ns = abs(coarse(run_b) - coarse(run_a)) or abs(run_b - run_a)  # of the times as shown
            text = f"{right} is {coarse_duration(difference_ns)} {slower}"
            text += f" (run time {coarse_duration(run_b)}, that of {left} {coarse_duration(run_a)})"
        if _change(mean_a, mean_b) <= MAX_EQUAL:
            same = "On average a rank takes the same time: ranks differ more or less than before."
            return f"{text}. {same}{self._uneven_text()}"
        ranks = self._uneven_text()
        if ranks or (run_a, run_b) != (mean_a, mean_b):
            more = "more" if mean_b > mean_a else "less"
            text += f".{ranks} On average a rank takes {coarse_duration(abs(mean_b - mean_a))} {more}"
        causes, named = [], 0.0
        for each in self.compared.times:
            ns = each.difference_ns if mean_b > mean_a else -each.difference_ns
            if ns <= 0:
                continue
            causes.append(f"{coarse_duration(ns)} {each.kind} {each.place}".rstrip())
            named += ns
            if len(causes) == MAX_CAUSES or named >= MIN_NAMED_SHARE * abs(mean_b - mean_a):
                break
        why = f": {'; '.join(causes)}" if causes else ""
        caveat = " Some times contain waiting for cores." if self.shared_cores else ""
        return f"{text}{why}.{self._arguments_text(left, right)}{caveat}"

    def _arguments_text(self, left: str, right: str) -> str:
        """Return the arguments that only one of two runs of a program has, as a sentence; "": none."""
        a, b = (program.split() for program in self._programs)
        if a[:1] != b[:1] or not a:
            return ""
        changes = [
            row for row in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if row[0] != "equal"
        ]
        only_left = " ".join(word for _, low, high, _, _ in changes for word in a[low:high])
        only_right = " ".join(word for _, _, _, low, high in changes for word in b[low:high])
        sides = [
            f"{words} only in {name}" for name, words in ((left, only_left), (right, only_right)) if words
        ]
        return f" Arguments differ: {'; '.join(sides)}." if sides else ""

    def _uneven_text(self) -> str:
        """Return the ranks whose computation differs most, as a sentence, and where if that is known."""
        uneven = self.uneven_ranks.get(COMPUTATION)
        if uneven is None:
            return ""
        if not uneven.ranks:
            is_even = IN_MPI in self.uneven_ranks and not self.uneven_ranks[IN_MPI].ranks
            return " All ranks differ about equally." if is_even else ""
        rows = [row for row in self.times() if row["time"] == COMPUTATION and row["mostly_on"]]
        where = f", {rows[0]['place']}" if rows else ""
        return f" Computation differs mostly on {uneven}{where}."

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
        text = "times are means of a rank" if self.timed else ""
        if (ranks := self.compared.ranks).differ:
            text = f"numbers are those of a rank: {ranks.left} and {ranks.right} ranks are compared"
        if text:
            console.print(Text(text, style=DIM), soft_wrap=True)

    def _total(self, console: Console) -> None:
        """Print the times of both traces without start-up and shut-down: in all, in MPI and computing."""
        rows = []
        for name, of in (
            ("total", _sum),
            ("in MPI", lambda row: row.comm_ns or 0.0),
            ("computation", lambda row: row.compute_ns or 0.0),
        ):
            left, right = (of(row) / n for row, n in zip(self.totals, self.compared.ranks, strict=True))
            ratio = right / left if left and right else None
            rows.append({"sum": name, "left_ns": left, "right_ns": right, "time_ratio": ratio})
        console.print(text_table(TOTALS.headed(sum="time of a rank"), rows))

    def _times(self, console: Console) -> None:
        """Print the times that differ by a part of all differences that is worth a look."""
        rows = [row for row in self.times() if row["share_of_difference"] >= MIN_SHARE]
        if not rows:
            return
        shown = rows[: self.limit]
        are_uneven = any(row["mostly_on"] for row in shown)
        table = TIME_DIFFERENCES if are_uneven else TIME_DIFFERENCES.without("mostly_on")
        table, hidden = fit_columns(table, console)
        console.print(text_table(table, shown))
        notes = []
        if not hidden:
            notes.append("of difference: of all times that differ")
        notes.append("a call that waits for slower computation is longer")
        if len(rows) > self.limit:
            notes.append(f"{len(rows) - self.limit} more differ")
        if hidden:
            notes.append(more_columns(hidden))
        console.print(Text("; ".join(notes), style=DIM), soft_wrap=True)

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
            texts["call site"] = SiteText(site_text(pair.left_key[1], pair.right_key[1]))
        for side, (name, row) in enumerate((("left", pair.left), ("right", pair.right))):
            over = self._over(side)
            calls, part = divmod(row.calls, over)
            texts[f"{name}_calls"] = f"{row.calls / over:,.4g}" if part else calls
            texts[f"{name}_bytes_sent"] = None if row.sent is None else row.sent // over
            texts[f"{name}_mpi_ns"] = self._per_rank(row.comm_ns, side)
        return texts

    def _per_rank(self, ns: float | None, side: int) -> float | None:
        return None if ns is None else ns / self.compared.ranks[side]

    def _over(self, side: int) -> int:
        """Return what calls and bytes of a trace are divided by: its ranks where these differ, else 1."""
        return self.compared.ranks[side] if self.compared.ranks.differ else 1


def flat_sides(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of plain data with a column for each amount of each trace."""
    sides = {f"{side}_{name}": n for side in ("left", "right") for name, n in row[side].items()}
    return {**row, **sides}


def _kind(difference: TimeDifference) -> str:
    return COMPUTATION if difference.kind == COMPUTATION else IN_MPI


def _change(left: float, right: float) -> float:
    """Return the difference of two times as a part of the longer one."""
    return abs(right - left) / (max(left, right) or 1.0)


def _sum(row: CostRow) -> float:
    return (row.comm_ns or 0.0) + (row.compute_ns or 0.0)
