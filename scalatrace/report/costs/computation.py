"""Computation between two MPI calls: by the line where it begins.

A trace knows computation as the time between a call and the next one of its rank. It begins where the
innermost function that leads to both calls goes on: at a line, after what that line calls. Which operation
comes before is no part of that, so a program that uses another operation there computes at the same place.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from scalatrace.report.costs.rows import site_of
from scalatrace.report.style import short_site
from scalatrace.trace.model.callsite import Frame, Stack, callers, short_frame, split_frame
from scalatrace.trace.model.nodes import Event, node_numbers
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.query.load import COMPUTE

__all__ = [
    "FROM_START",
    "UNKNOWN",
    "ComputationRepeat",
    "Place",
    "PlacedComputation",
    "Repeats",
    "SiteCall",
    "calls_by_number",
    "common_function",
    "computation_of_nodes",
    "computation_place",
    "computations",
    "place_beginning",
    "place_of",
]  # fmt: skip

SiteCall = tuple[str, Stack]
"""Operation and stack."""

Place = tuple[str, str]
"""Where a computation begins: the function or operation that a line calls, and the line."""


class ComputationRepeat(Enum):
    """How a program comes from a line of a function to an earlier one: by a loop there, or called again."""

    UNKNOWN = auto()
    FUNCTION = auto()
    CALLER = auto()


Repeats = Callable[[SiteCall, SiteCall], ComputationRepeat]
"""Function of two calls, the second on the same or an earlier line: how the program returns to it."""

MAX_CALLERS = 3
"""Callers that are named."""

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
"""Functions that Python makes of an expression: they are part of the function around them."""

_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")

UNKNOWN = "lines not known"

FROM_START: SiteCall = ("the start", ())
"""Stands for the call before the first one."""


def calls_by_number(trace: Trace) -> dict[int, SiteCall]:
    """Return the number of each event node in preorder, from 1 -> its call."""
    numbers = node_numbers(trace.nodes)
    return {
        numbers[id(event)]: (trace.ops[event.op].name, trace.stack(event.signature))
        for event in trace.leaves()
    }


MIN_WAY_PART = 0.1
"""Part of the longest mean computation at a place from which on that of another way counts."""


class ComputedTime(NamedTuple):
    """Time of all ranks, and how often it was taken."""

    total_ns: float
    times: int


def computation_of_nodes(trace: Trace) -> Iterator[tuple[Event, dict[SiteCall, ComputedTime]]]:
    """Yield each event node with the computation before it, by the call before that."""
    if (at := trace.stat_index.get(COMPUTE)) is None:
        return
    unit = trace.stats[at].resolution
    for leaf in trace.leaves():
        before = dict[SiteCall, ComputedTime]()
        for pred, histogram in leaf.histograms_by_pred(at):
            if histogram.total:
                first = _before(trace, pred)
                total_ns, count = before.get(first, (0.0, 0))
                before[first] = ComputedTime(total_ns + histogram.total * unit, count + histogram.count)
        if before:
            yield leaf, before


@dataclass(frozen=True, slots=True)
class PlacedComputation:
    """The computation that begins at one place.

    Ranks may go different ways from there, and do so in different iterations: the code is one piece, whatever
    calls of the function come next. Where the next call is one of a caller, this caller computes, too, and
    that is another piece.

    Attributes:
        where: as `place_of`.
        times_ns: call before it and call that ends it -> ns of all ranks, the longest first.
        counts: how often all ranks together go from the one to the other.
    """

    where: Place
    times_ns: dict[tuple[SiteCall, SiteCall], float]
    counts: Mapping[tuple[SiteCall, SiteCall], int]

    @property
    def total_ns(self) -> float:
        """Time of all ranks."""
        return sum(self.times_ns.values())

    @property
    def count(self) -> int:
        """How often it runs; ways that take less than MIN_WAY_PART of the longest one do not count."""
        means = {pair: ns / self.counts[pair] for pair, ns in self.times_ns.items()}
        least_ns = MIN_WAY_PART * max(means.values())
        return sum(self.counts[pair] for pair, mean_ns in means.items() if mean_ns >= least_ns)

    @property
    def longest(self) -> tuple[SiteCall, SiteCall]:
        """The two calls with most of the time between them, after which it is named."""
        return next(iter(self.times_ns))

    @property
    def name(self) -> str:
        """Function and lines, or UNKNOWN."""
        return computation_place(*self.longest)

    @property
    def name_or_calls(self) -> str:
        """Function and lines; where lines are not known, the two calls."""
        if (name := self.name) != UNKNOWN:
            return name
        return " to ".join(f"{op} {short_site(_site_text(stack))}" for op, stack in self.longest)


def computations(trace: Trace) -> list[PlacedComputation]:
    """Return the computation of all ranks by the place where it begins, the longest first."""
    times: dict[Place, dict[tuple[SiteCall, SiteCall], float]] = defaultdict(lambda: defaultdict(float))
    counts: dict[Place, Counter[tuple[SiteCall, SiteCall]]] = defaultdict(Counter)
    for leaf, before in computation_of_nodes(trace):
        last = trace.ops[leaf.op].name, trace.stack(leaf.signature)
        for first, taken in before.items():
            where = place_of(first, last)
            times[where][first, last] += taken.total_ns
            counts[where][first, last] += taken.times
    rows = [
        PlacedComputation(where, dict(sorted(pairs.items(), key=lambda pair: -pair[1])), counts[where])
        for where, pairs in times.items()
    ]
    return sorted(rows, key=lambda row: -row.total_ns)


def _before(trace: Trace, pred: int) -> SiteCall:
    entry = trace.preds[pred]
    return FROM_START if entry == START else (trace.ops[entry[0]].name, trace.stack(entry[1]))


def place_of(first: SiteCall, last: SiteCall) -> Place:
    """Return where the computation between two calls begins.

    Where lines are not known, that is the first call.
    """
    (way, _), depth = common_function(first, last)
    if depth < 0:
        return first[0], _site_text(first[1])
    return _callee_of(way, depth, first[0]), way[depth]


def _site_text(stack: Stack) -> str:
    return site_of(stack) if stack else ""


def common_function(first: SiteCall, last: SiteCall) -> tuple[tuple[Stack, Stack], int]:
    """Return both stacks from the outermost frame, and the depth of their innermost common function or -1."""
    left_way, right_way = (_way(stack) for _, stack in (first, last))
    depth = -1
    for i, (left, right) in enumerate(zip(left_way, right_way, strict=False)):
        a, b = split_frame(left), split_frame(right)
        if (a.file, a.name) != (b.file, b.name) or not a.line or not b.line:
            break
        depth = i
        if left != right:
            break
    return (left_way, right_way), depth


def _way(stack: Stack) -> Stack:
    """Return the frames from the outermost one; comprehensions belong to the function around them."""
    way = callers(stack, len(stack))[::-1]
    return tuple(
        frame for i, frame in enumerate(way) if not i or split_frame(frame).name not in COMPREHENSIONS
    )


def computation_place(first: SiteCall, last: SiteCall, repeats: Repeats | None = None) -> str:
    """Name the computation between two calls by the innermost function that leads to both, and its lines.

        in main() between a.py:61 (halo) and line 68 (residual)
        in halo() or its caller main(), from a.py:39 (Waitall) back to line 30 (Irecv)
        in halo() or its callers step(), main(), from a.py:39 (Waitall) back to line 30 (Irecv)

        in main() between two calls of halo(), from a.py:39 (Waitall) back to line 30 (Irecv)

    A line has the function that it calls. Where the second line is no later one, a trace does not know
    whether the function repeats or is called again: then its callers may compute, too.

    Args:
        repeats: decides between a loop and a new call; None: not known.
    """
    if first == FROM_START:
        outermost = callers(last[1], len(last[1]))[-1:]
        return (
            f"from the start of the program to {short_frame(outermost[0])}" if outermost else "from the start"
        )
    ways, depth = common_function(first, last)
    if depth < 0:
        return _place_by_names(first, last, ways)
    a, b = (split_frame(way[depth]) for way in ways)
    called, then = (_callee_of(way, depth, op) for way, (op, _) in zip(ways, (first, last), strict=True))
    if a.line < b.line:
        return f"in {_function(a)} between {a.place} ({called}) and line {b.line} ({then})"
    if a.line == b.line and first != last:  # calls of one line
        return f"in {_function(a)} at {a.place}, between {called} and {then}"
    where = f"in {_function(a)}"
    known = ComputationRepeat.UNKNOWN if repeats is None or not depth else repeats(first, last)
    caller = split_frame(ways[0][depth - 1])
    if known is ComputationRepeat.CALLER:
        where = f"in {_function(caller)} between two calls of {_function(a)},"
    elif depth and known is ComputationRepeat.UNKNOWN:
        where += f" or its {_callers_text(ways[0][:depth][::-1], _function(a))},"
    if first == last:
        return f"{where} from one {called} at {a.place} to the next"
    return f"{where} from {a.place} ({called}) back to line {b.line} ({then})"


def _callers_text(frames: Stack, own: str) -> str:
    """Name the functions of callers, innermost first; a module's own code only where it is the only one."""
    functions = [split_frame(frame) for frame in frames]
    names = [_function(function) for function in functions if function.name != "<module>"]
    different = [name for name in dict.fromkeys(names or map(_function, functions)) if name != own]
    if not different:
        return "callers"
    more = ", …" if len(different) > MAX_CALLERS else ""
    return f"caller{'s' if len(different) > 1 else ''} {', '.join(different[:MAX_CALLERS])}{more}"


def place_beginning(where: Place) -> str:
    """Name a computation by the line where it begins: `in main() from a.py:61 (halo)`."""
    called, frame = where
    parts = split_frame(frame)
    return f"in {_function(parts)} from {parts.place} ({called})" if parts.line else f"after {called}"


def _place_by_names(first: SiteCall, last: SiteCall, ways: tuple[Stack, Stack]) -> str:
    """Name the computation between two calls of code without lines: functions are known by their names."""
    depth = -1
    for i, (left, right) in enumerate(zip(*ways, strict=False)):
        name = _symbol(left)
        if name != _symbol(right):
            break
        depth = i if name else depth
        if left != right:
            break
    if depth < 0:
        return UNKNOWN
    called, then = (_callee_of(way, depth, op) for way, (op, _) in zip(ways, (first, last), strict=True))
    return f"in {_short_name(_symbol(ways[0][depth]))}() from {called} to the next {then}"


def _symbol(frame: str) -> str:
    """Return the function of a frame of code without lines; "": not known."""
    name = split_frame(frame).name
    return name.partition(":")[2] if name.startswith("0x") else name


def _function(frame: Frame) -> str:
    """Return the function of a frame as text: `main()`; of a module's own code, its name."""
    name = _short_name(frame.name)
    return name if name.startswith("<") else f"{name}()"


def _short_name(function: str) -> str:
    """Return a function without namespaces, classes and the arguments of templates and calls."""
    if function.startswith("<"):  # a module, a lambda
        return function
    name, is_nested = function, True
    while is_nested:
        name, count = _TEMPLATE_ARGUMENTS.subn("", name)
        is_nested = count > 0
    return name.partition("(")[0].rpartition("::")[2] or function


def _callee_of(way: Stack, at: int, op: str) -> str:
    """Return what a frame of a stack from the outermost one calls: a function, or the operation."""
    return _short_name(split_frame(way[at + 1]).name) if at + 1 < len(way) else op
