"""`show --notation`: the dissertation's mnemonic for loops (§5.2.2), e.g. `E1(4,2) E2(1,1 0) E3(1,0 1) E4`.

The subscript (m,i) of an event says that it is the head of a loop of m member events and i iterations,
outermost loop first; every event is a loop of length 1 and iteration 1, which is not written. Where the
iterations differ between ranks, each is followed by its ranks in brackets, as in Figure 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.report import values
from scalatrace.report.columns import NOTATION
from scalatrace.report.style import DIM, ranks, text_table
from scalatrace.trace.model.callsite import call_site
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups
from scalatrace.trace.model.nodes import Event, Node, events
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import Vec

MAX_LISTED_ITERATIONS = 16
"""Trip counts of one loop that are listed; longer vectors are shown compressed."""


def notation(trace: Trace) -> str:
    """Return the mnemonic of the whole trace; events are numbered by call site as they come first."""
    names = _names(trace)
    return " ".join(
        f"E{names[event.op, event.signature]}{''.join(subscripts)}"
        for event, subscripts in _heads(trace.nodes, [])
    )


def _names(trace: Trace) -> dict[tuple[int, int], int]:
    """Return a number for each operation at a call site."""
    names: dict[tuple[int, int], int] = {}
    for leaf in trace.leaves():
        names.setdefault((leaf.op, leaf.signature), len(names) + 1)
    return names


def _heads(nodes: AnySequence[Node], above: list[str]) -> Iterator[tuple[Event, list[str]]]:
    """Yield each event with the subscripts of the loops it heads, outermost first."""
    for node in nodes:
        if isinstance(node, Event):
            yield node, above + _subscript(1, node.repeat)
        else:
            members = sum(1 for _ in events(node.nodes))
            yield from _heads(node.nodes, above + _subscript(members, node.repeat))
        above = []


def _subscript(members: int, repeat: Elastic) -> list[str]:
    if repeat == Vec(1):
        return []
    if isinstance(repeat, Groups):
        return ["".join(f"({members},{_iterations(v)})[{ranks(group)}]" for group, v in repeat.groups)]
    if isinstance(repeat, Columns):
        return [f"({members},each {_iterations(repeat.vec)})[{ranks(repeat.ranks)}]"]
    if isinstance(repeat, Formulas):
        return [f"({members},{values.repeat(repeat)})[{ranks(repeat.ranks)}]"]
    return [f"({members},{_iterations(repeat)})"]


def _iterations(vec: Vec) -> str:
    if vec.constant is not None or vec.length is None or vec.length > MAX_LISTED_ITERATIONS:
        return str(vec)
    return " ".join(map(str, vec.first(vec.length)))


class NotationReporter:
    """Prints the mnemonic and which event is which."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def plain(self) -> dict[str, Any]:
        """Return the mnemonic, and name, operation, parameters and call site of each event."""
        events = []
        first = {(leaf.op, leaf.signature): leaf for leaf in reversed(list(self.trace.leaves()))}
        for (op, signature), number in _names(self.trace).items():
            params = [f"{name}={value}" for name, value in values.params(self.trace, first[op, signature])]
            named = {"event": f"E{number}", "operation": self.trace.ops[op].name, "parameters": params}
            events.append({**named, "call site": call_site(self.trace.stack(signature))})
        return {"notation": notation(self.trace), "events": events}

    def render(self, console: Console) -> None:
        """Print it."""
        facts = self.plain()
        console.print(Text(facts["notation"]), soft_wrap=True)
        rows = (
            {**event, "parameters": Text(", ".join(event["parameters"]), style=DIM)}
            for event in facts["events"]
        )
        console.print(text_table(NOTATION, rows))


__all__ = ["NotationReporter", "notation"]
