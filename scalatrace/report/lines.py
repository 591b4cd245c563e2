"""`show --rank`: the calls of one rank, a line for each. `merge`: the calls in which ranks were at the end.

For parameters stored as histograms, a line shows the mean after `~`; JSON has null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.errors import LimitError
from scalatrace.escapes import clean
from scalatrace.report.columns import UNFINISHED_CALLS
from scalatrace.report.style import (
    DIM,
    HANGING,
    SITE,
    op_text,
    print_more,
    print_wrapped,
    ranks,
    short_site,
    text_table,
)
from scalatrace.report.values import array
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.tables import Communicator, Datatype
from scalatrace.trace.query.summaries import summarised_names
from scalatrace.trace.query.unfinished import UnfinishedCall
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import special_name

MAX_JSON_VALUES = 1 << 20
"""Values of one array in a line of JSON."""

MAX_ROWS = 30
"""Rows of the table that text shows."""


class LinesReporter:
    """Prints calls as they come, without holding them."""

    def __init__(self, calls: Iterable[Call], limit: int | None = None) -> None:
        """`limit`: stop after so many calls; None for all."""
        self._calls = enumerate(islice(calls, limit), 1)

    def render(self, console: Console) -> None:
        """Print a numbered line for each call."""
        for n, call in self._calls:
            start = Text(f"{n:>7}  ", style=DIM)
            text = Text(f"thread {call.thread}  " if call.thread else "", style=DIM)
            text.append_text(op_text(call.op))
            for name, value in _parameters(call):
                text.append(f"  {clean(name)}=", style=DIM).append(value, style="default")
            if call.site:
                text.append("  " + short_site(call.site), style=SITE)
            print_wrapped(console, start, Text(" " * len(start) + HANGING), text)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield number, operation, parameters and call site of each call."""
        for n, call in self._calls:
            params = [f"{clean(name)}={value}" for name, value in _parameters(call)]
            yield {"event": n, "operation": call.op, "parameters": params, "call site": call.site}

    def json_lines(self) -> Iterator[str]:
        """Yield each call as one line of JSON."""
        for n, call in self._calls:
            means = set(summarised_names(call.place.trace, call.node))
            params = {name: None if name in means else _plain(value) for name, value in call.params.items()}
            thread = {"thread": call.thread} if call.thread else {}
            yield json.dumps({"event": n, "op": call.op, **params, "stack": list(call.stack), **thread})


class UnfinishedReporter:
    """Shows unfinished calls as a table, and the shortest cycle of ranks that wait for each other."""

    def __init__(
        self,
        calls: Mapping[int, Sequence[UnfinishedCall]],
        awaited: Mapping[int, Sequence[int]],
        cycle: Sequence[int],
    ) -> None:
        """`awaited`: ranks that each rank waits for; `cycle`: each waits for the next, in a circle."""
        self._calls, self._awaited, self._cycle = calls, awaited, cycle

    def plain(self) -> dict[str, Any]:
        """Return the rows and the cycle, for JSON."""
        return {"unfinished": self.rows(), "cycle": list(self._cycle)}

    def render(self, console: Console) -> None:
        """Print the table, then the cycle."""
        rows = self.rows()
        if not rows:
            return
        console.print(text_table(UNFINISHED_CALLS, rows[:MAX_ROWS]))
        print_more(console, len(rows) - MAX_ROWS)
        if self._cycle:
            following = [*self._cycle[1:], self._cycle[0]]
            waits = [
                f"rank {rank} waits for rank {peer}"
                for rank, peer in zip(self._cycle, following, strict=True)
            ]
            console.print(Text(f"shortest cycle: {', '.join(waits)}"), soft_wrap=True)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for ranks in equal calls that wait for the same ranks, longest waits first."""
        grouped: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        seconds: dict[tuple[str, tuple[int, ...]], float] = {}
        for rank, calls in self._calls.items():
            key = " and ".join(call.text for call in calls), tuple(self._awaited[rank])
            grouped.setdefault(key, []).append(rank)
            seconds[key] = max([seconds.get(key, 0.0), *(call.seconds for call in calls)])
        rows = [
            {
                "ranks": ranks(RankList(members)),
                "call": text,
                "seconds": seconds[text, peers],
                "waits for": f"rank{'s' * (len(peers) > 1)} {ranks(RankList(peers))}" if peers else "",
            }
            for (text, peers), members in grouped.items()
        ]
        return sorted(rows, key=lambda row: -float(row["seconds"]))


def _parameters(call: Call) -> Iterator[tuple[str, str]]:
    """Yield name and text of each parameter."""
    means = set(summarised_names(call.place.trace, call.node))
    for name, value in call.params.items():
        yield name, ("~" if name in means else "") + _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, Communicator):
        return f"{clean(value.kind)}#{value.family}" if value.family > 2 else clean(value.kind)
    if isinstance(value, Datatype):
        return clean(value.description)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, tuple):
        return array(value, len(value))
    return special_name(value) or str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Communicator):
        return {
            "kind": value.kind,
            "family": value.family,
            "members": list(value.members),
            "rank": value.rank,
        }
    if isinstance(value, Datatype):
        return {"description": value.description, "size": value.size, "extent": value.extent}
    if isinstance(value, int):
        return special_name(value) or value
    if isinstance(value, tuple):
        if len(value) > MAX_JSON_VALUES:
            raise LimitError(
                f"an array has {len(value):,} values: JSON takes at most {MAX_JSON_VALUES:,} of one"
            )
        return list(value)
    return value
