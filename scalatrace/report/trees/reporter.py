"""`show`: the trace as a tree of loops and events; for `--json` and `--csv`, its nodes as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as AnySequence
from typing import Any, Protocol

from rich.console import Console
from rich.control import strip_control_codes
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report import values
from scalatrace.report.style import (
    DIM,
    HANGING,
    LOOP,
    SITE,
    number,
    op_style,
    print_wrapped,
    ranks,
    short_site,
)
from scalatrace.report.trees.grid_notation import GridNotation
from scalatrace.report.trees.legend import LEGEND
from scalatrace.report.trees.selection import LeftOut, NodeChoice, NodeSelection
from scalatrace.report.trees.sizes import message_sizes
from scalatrace.trace.model.callsite import callers
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import participants
from scalatrace.trace.symbolic.origin import EXTRAPOLATED, LOSSY, UNCONFIRMED
from scalatrace.trace.values.ranklist import RankList

GUIDES = ("    ", "│   ", "├── ", "└── ")
ASCII_GUIDES = ("    ", "|   ", "+-- ", "`-- ")
"""Before a line: nothing, a branch that goes on, a node, the last node."""

LEGEND_INDENT = 25
"""Columns of a notation in the legend, before its meaning."""

MAX_VALUE_CHARS = 60
"""Characters shown of one value; longer ones are cut without --full."""


Guides = tuple[str, str, str, str]


class TreeLine(Protocol):
    """A line in the making: rich's Text, or a plain one."""

    def append(self, text: str, style: str | None = None) -> TreeLine:
        """Append a piece."""


NewLine = Callable[[], TreeLine]


class _PlainLine:
    """A line without styles, which takes a fraction of the time of a Text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def append(self, text: str, style: str | None = None) -> _PlainLine:
        """Append a piece."""
        self._pieces.append(text)
        return self

    def __str__(self) -> str:
        return strip_control_codes("".join(self._pieces))


class TreeReporter:
    """Draws the nodes: `1000 × loop` with its events below, each with parameters, ranks and call site."""

    def __init__(
        self,
        trace: Trace,
        full: bool = False,
        stacks: bool = False,
        selection: NodeSelection | None = None,
        legend: bool = False,
        by_grid: bool = True,
    ) -> None:
        """Prepare the tree of a trace.

        Args:
            full: cut no value.
            stacks: show all frames of a call site, not just the innermost.
            selection: the nodes to show; all if not given.
            legend: explain the notation below the tree; on a terminal that is always done.
            by_grid: write peers and sets of ranks by the grid of the ranks, as `north` and `x>0`.

        Raises:
            UsageError: the selection names a call site that the trace does not have.
        """
        self.trace, self.full, self.stacks, self.legend = trace, full, stacks, legend
        self.choice = NodeChoice(trace, selection or NodeSelection())
        self.participants = participants(trace)
        self.notation = GridNotation.of(trace) if by_grid else GridNotation(trace, None)

    def render(self, console: Console) -> None:
        """Print the tree."""
        guides = ASCII_GUIDES if console.options.ascii_only else GUIDES
        terminal = console.is_terminal
        for guide, line in self._lines(guides, Text if terminal else _PlainLine):
            if isinstance(line, Text):
                follows = guide.replace(guides[2], guides[1]).replace(guides[3], guides[0])
                print_wrapped(console, Text(guide, style=DIM), Text(follows + HANGING, style=DIM), line)
            else:  # nothing to lay out: a console takes several times as long for each line
                console.file.write(f"{guide}{line}\n")
        if self.legend or terminal:
            grid = self.notation.legend()
            for text in ("", *LEGEND.splitlines(), *([f"  {grid}"] if grid else [])):
                print_wrapped(console, Text(), Text(" " * LEGEND_INDENT), Text(text, style=DIM))

    def _title(self, make_line: NewLine) -> TreeLine:
        trace = self.trace
        program = clean(trace.meta.get("program", "trace"))
        counted = trace.counted()
        events = "uncounted" if counted is None else number(counted)
        grid = self.notation.grid
        on_grid = f" ({' x '.join(map(str, grid.dims))})" if grid else ""
        size = f"  {trace.nprocs} ranks{on_grid}, {events} events, {trace.nnodes} nodes{self._origin()}"
        return make_line().append(program, "bold").append(size, DIM)

    def _origin(self) -> str:
        """Whether the trace was made by extrapolation, from confirmed formulas only, and with all calls."""
        meta = self.trace.meta
        if EXTRAPOLATED not in meta:
            return ""
        unconfirmed = " by unconfirmed formulas" if UNCONFIRMED in meta else ""
        return f", extrapolated{unconfirmed}{', lossy' if LOSSY in meta else ''}"

    def _lines(self, guides: Guides, make_line: NewLine) -> Iterator[tuple[str, TreeLine]]:
        """Yield the guides before each line, and the line."""
        yield "", self._title(make_line)
        yield from self._below("", guides, self.trace.nodes, self.trace.ranks, 1, make_line)

    def _below(
        self,
        before: str,
        guides: Guides,
        nodes: AnySequence[Node],
        around: RankList,
        level: int,
        make_line: NewLine,
    ) -> Iterator[tuple[str, TreeLine]]:
        space, line, fork, end = guides
        shown = self.choice.children(nodes, level)
        for i, node in enumerate(shown, 1):
            last = i == len(shown)
            guide = before + (end if last else fork)
            if isinstance(node, LeftOut):
                yield guide, make_line().append(str(node), DIM)
                continue
            taking_part = self.participants[id(node)]
            if isinstance(node, Sequence):
                yield guide, self._loop(node, taking_part, around, make_line())
                inner = before + (space if last else line)
                yield from self._below(inner, guides, node.nodes, taking_part, level + 1, make_line)
            else:
                yield guide, self._event(node, taking_part, around, make_line())

    def _loop(self, node: Sequence, taking_part: RankList, around: RankList, text: TreeLine) -> TreeLine:
        if node.thread:
            text.append(f"thread {node.thread}", style=LOOP)
            self._put_ranks(text, taking_part, around)
            self._put_cost(text, node)
            return text
        self._put_repeat(text, values.repeat_of(node.repeat, taking_part, self.notation) or "1")
        text.append(f"loop of {len(node.nodes)}" if len(node.nodes) > 1 else "loop", style=LOOP)
        self._put_ranks(text, taking_part, around)
        self._put_cost(text, node)
        return text

    def _event(self, event: Event, taking_part: RankList, around: RankList, text: TreeLine) -> TreeLine:
        if shown := values.repeat_of(event.repeat, taking_part, self.notation):
            self._put_repeat(text, shown)
        op = self.trace.ops[event.op].name
        text.append(clean(op), style=op_style(op))
        sizes = message_sizes(self.trace, event, taking_part)
        for name, value in values.params(self.trace, event, taking_part, self.notation):
            text.append(f"  {name}=", style=DIM).append(self._cut(value))
            if name in sizes:
                text.append(f" ({sizes[name]})", style=DIM)
        self._put_ranks(text, taking_part, around)
        self._put_cost(text, event)
        self._put_site(text, event)
        return text

    def _put_cost(self, text: TreeLine, node: Node) -> None:
        if cost := self.choice.cost(node):
            text.append(f"  {cost}", style="cyan")

    def _put_repeat(self, text: TreeLine, repeat: str) -> None:
        text.append(self._cut(repeat), style=LOOP).append(" × ", style=DIM)

    def _put_ranks(self, text: TreeLine, taking_part: RankList, around: RankList) -> None:
        """Append the participants where they differ from those of the node around."""
        if taking_part != around:
            text.append(f"  {self._cut(self.notation.taking_part(taking_part))}", style="yellow")

    def _put_site(self, text: TreeLine, event: Event) -> None:
        stack = self.trace.stack(event.signature)
        shown = stack if self.stacks else callers(stack)
        if shown:
            text.append("  " + " < ".join(short_site(frame) for frame in shown), style=SITE)

    def _cut(self, value: str) -> str:
        """Return a value as it is shown: a long one ends after a word."""
        if self.full or len(value) <= MAX_VALUE_CHARS:
            return value
        start = value[: MAX_VALUE_CHARS - 1]
        is_word_end = value[MAX_VALUE_CHARS - 1] == " " or start.rfind(" ") < MAX_VALUE_CHARS // 2
        return f"{start}…" if is_word_end else f"{start.rpartition(' ')[0]} …"


def node_rows(trace: Trace, selection: NodeSelection | None = None) -> list[dict[str, Any]]:
    """Return a row per node in preorder, of the nodes that a selection shows.

    Keys: `node`, from 1; `parent`, 0 at the top; `depth`, from 1; `operation`, "" for a loop; `repeat`: trip
    count; `ranks` that take part; `parameters`; `stack`: frames, innermost first; `left_out`: nodes that are
    not shown.

    Raises:
        UsageError: the selection names a call site that the trace does not have.
    """
    choice, taking_part = NodeChoice(trace, selection or NodeSelection()), participants(trace)
    numbers = iter(range(1, trace.nnodes + 2))

    def below(nodes: AnySequence[Node], parent: int, depth: int) -> Iterator[dict[str, Any]]:
        for node in choice.children(nodes, depth):
            place = {"parent": parent, "depth": depth}
            if isinstance(node, LeftOut):
                yield {"node": None, **place, "left_out": node.nodes}
                continue
            number, who = next(numbers), taking_part[id(node)]
            repeat = values.repeat_of(node.repeat, who) or "1"
            facts = {"node": number, **place, "operation": "", "repeat": repeat, "ranks": ranks(who)}
            if isinstance(node, Event):
                facts["operation"] = trace.ops[node.op].name
                facts["parameters"] = dict(values.params(trace, node))
                facts["stack"] = list(trace.stack(node.signature))
            yield facts
            if isinstance(node, Sequence):
                yield from below(node.nodes, number, depth + 1)

    return list(below(trace.nodes, 0, 1))
