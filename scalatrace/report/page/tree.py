"""The loop tree with calls, bytes, times, ranks and call sites of each node, for the tree and flame views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, field

from scalatrace.operations import operation
from scalatrace.report.costs.rows import CostRow
from scalatrace.report.page.call_sizes import CallSize, call_size
from scalatrace.report.page.patterns import LoopPattern, loop_pattern
from scalatrace.report.page.sources import SourceLines, SourceReader
from scalatrace.report.page.visits import outermost_different
from scalatrace.report.style import number
from scalatrace.report.style import ranks as ranks_text
from scalatrace.report.trees.grid_notation import GridNotation, notation_grid
from scalatrace.report.values import params, repeat_of
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.model.callsite import Stack, callers, split_frame
from scalatrace.trace.model.nodes import Event, Node, Sequence, node_numbers, thread_of
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import entries, participants, runs_after, trip_counts
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import Vec

__all__ = ["PageTree", "TreeNode", "TreeSite", "leaves", "tree_of"]

MAX_PLACED = 128
"""Call sites of a loop with a place; with more, it has none."""

MAX_NODES = 3000
"""Nodes of a page; of larger trees, the cheapest nodes of each loop are left out."""

MAX_TEXT = 300
"""Characters of one parameter, repeat or ranklist."""

MAX_WITHIN = 3
"""Callers of a loop's function."""

MAX_FRAMES = 12
"""Frames of a call site, innermost first."""


@dataclass(frozen=True)
class TreeSite:
    """A call site: its frames, innermost first, the frame that names it, and the source lines of that."""

    frames: tuple[str, ...]
    shown: str
    source: SourceLines | None


@dataclass
class TreeNode:
    """A node; times in ns over all ranks, with those of the nodes in it.

    Attributes:
        number: in preorder over the whole trace, from 1; 0: the program, -1: nodes left out.
        op: operation; "" of a loop.
        category: of the operation.
        repeat: trip count, "" for 1.
        ranks, nranks: ranks that take part, as text and as a number.
        times: least and most executions in an execution of the loop around it; "": one.
        in_all: least and most iterations of a loop of a rank in the whole run, where those are more; "": not.
        iterations: of a loop, of each rank in the whole run; 0: ranks differ, or it is a call.
        comm_ns, compute_ns: time in calls and computation before them; simulated where ranks shared cores.
        recorded_ns: recorded time in calls.
        waiting_ns: waiting of a simulated run; None: it was not simulated.
        alone: whether the ranks of a call have no others to wait for.
        place: of a loop: file, lines and function of its calls; "": not known.
        within: of a loop: frames of the callers of that function, innermost first.
        site: index into `PageTree.sites`; -1 of a loop.
        sent, received: bytes; None: not known.
        size: of a call; None: it moves nothing, or the bytes are not known.
        left_out: nodes that are not shown.
        thread: of a node with all calls of a further thread: its number; 0: none.
        partners: to whom the ranks of a call send, and from whom they receive; "": no messages, or not known.
        ends_sends: the requests that a completion ends are those of sends.
    """

    number: int
    op: str = ""
    category: str = ""
    repeat: str = ""
    times: str = ""
    in_all: str = ""
    iterations: int = 0
    alone: bool = False
    ends_sends: bool = False
    place: str = ""
    within: Stack = ()
    ranks: str = ""
    nranks: int = 0
    params: str = ""
    site: int = -1
    calls: int = 0
    sent: int | None = 0
    received: int | None = 0
    comm_ns: float = 0.0
    compute_ns: float = 0.0
    beyond_ns: float = 0.0
    recorded_ns: float = 0.0
    waiting_ns: float | None = None
    pattern: LoopPattern | None = None
    size: CallSize | None = None
    left_out: int = 0
    thread: int = 0
    partners: str = ""
    children: list[TreeNode] = field(default_factory=list)

    def add(self, added: TreeNode) -> None:
        """Add calls, bytes and times of a node."""
        self.calls += added.calls
        self.sent = None if self.sent is None or added.sent is None else self.sent + added.sent
        both_counted = self.received is not None and added.received is not None
        self.received = (self.received or 0) + (added.received or 0) if both_counted else None
        self.comm_ns += added.comm_ns
        self.compute_ns += added.compute_ns
        self.beyond_ns += added.beyond_ns
        self.recorded_ns += added.recorded_ns
        if added.waiting_ns is not None:
            self.waiting_ns = (self.waiting_ns or 0.0) + added.waiting_ns


@dataclass(frozen=True)
class SimulatedTimes:
    """Times of a simulated run.

    Attributes:
        nodes: node number -> `compute_ns`, `transfer_ns` and `waiting_ns` of all ranks.
        replace: whether they stand for the recorded ones.
    """

    nodes: Mapping[int, Mapping[str, float]]
    replace: bool


@dataclass(frozen=True)
class PageTree:
    """The program as a node, and its call sites.

    Attributes:
        timed: whether times were measured.
        nnodes: nodes of the trace, of which the tree may have fewer.
    """

    root: TreeNode
    sites: tuple[TreeSite, ...]
    timed: bool
    nnodes: int


def leaves(node: TreeNode) -> Iterator[TreeNode]:
    """Yield the calls below a node, in order."""
    if node.op:
        yield node
    for child in node.children:
        yield from leaves(child)


def tree_of(
    trace: Trace,
    rows: Mapping[int, CostRow],
    messages: AnySequence[Messages],
    grid: Grid,
    sources: SourceReader,
    simulated: SimulatedTimes | None = None,
    max_nodes: int = MAX_NODES,
) -> PageTree:
    """Build the tree.

    Args:
        rows: node number -> calls, bytes and times of an event node.
        simulated: times of a simulated run; None: it was not simulated.
    """
    builder = _PageTreeBuilder(trace, rows, messages, grid, sources, simulated or SimulatedTimes({}, False))
    root = TreeNode(0, ranks=ranks_text(trace.ranks)[:MAX_TEXT], nranks=len(trace.ranks))
    builder.fill(root, trace.nodes)
    _prune(root, max_nodes)
    return PageTree(root, tuple(builder.sites), builder.timed, trace.nnodes)


class _PageTreeBuilder:
    def __init__(
        self,
        trace: Trace,
        rows: Mapping[int, CostRow],
        messages: AnySequence[Messages],
        grid: Grid,
        sources: SourceReader,
        simulated: SimulatedTimes,
    ) -> None:
        self._simulated = simulated
        self._trace, self._rows, self._grid, self._sources = trace, rows, grid, sources
        self._notation = GridNotation(trace, *notation_grid(trace, grid))
        self._numbers, self._taking_part = node_numbers(trace.nodes), participants(trace)
        self._trips: dict[int, tuple[int, ...]] = {}
        self._iterations: dict[int, tuple[str, int]] = {}  # `in_all` and `iterations` of a node
        for node, entered in entries(trace):
            self._trips[id(node)] = trip_counts(node.repeat, entered)
            if not isinstance(node, Sequence):
                continue
            if counts := [times for _, times in runs_after(node.repeat, entered)]:
                least, most = min(counts), max(counts)
                is_nested = any(times > 1 for _, times in entered)
                in_all = _times((least, most)) if is_nested else ""
                self._iterations[id(node)] = in_all, most if least == most else 0
        self._sent: dict[int, list[Messages]] = {}
        for flow in messages:
            self._sent.setdefault(id(flow.event), []).append(flow)
        rows_of_events = ((id(leaf), rows.get(self._numbers[id(leaf)])) for leaf in trace.leaves())
        self._bytes_sent = {event: row.sent or 0 for event, row in rows_of_events if row is not None}
        self.sites: list[TreeSite] = []
        self._known: dict[int, int] = {}
        self.timed = any(row.comm_ns is not None or row.compute_ns is not None for row in rows.values())

    def fill(self, parent: TreeNode, nodes: AnySequence[Node]) -> set[int]:
        """Add the children of a node, and their costs to it; return some signatures of the calls below."""
        signatures = set[int]()
        for node in nodes:
            child, below = self._node(node)
            parent.children.append(child)
            parent.add(child)
            if len(signatures) <= MAX_PLACED:
                signatures |= below
        pattern = loop_pattern(self._trace, nodes, self._sent, self._grid, self._bytes_sent)
        if (parent.number and not parent.thread) or not (pattern and pattern.nested):  # it is a loop
            parent.pattern = pattern
        return signatures

    def _node(self, node: Node) -> tuple[TreeNode, set[int]]:
        """Return a node, and some signatures of the calls in it: more than MAX_PLACED, if there are."""
        taking_part = self._taking_part[id(node)]
        in_all, iterations = self._iterations.get(id(node), ("", 0))
        tree_node = TreeNode(
            self._numbers[id(node)],
            repeat=_cut(repeat_of(node.repeat, taking_part, self._notation)),
            times=_times(self._trips[id(node)]),
            in_all=in_all,
            iterations=iterations,
            ranks=_cut(ranks_text(taking_part)),
            nranks=len(taking_part),
            thread=thread_of(node),
        )
        if isinstance(node, Sequence):
            signatures = self.fill(tree_node, node.nodes)
            if len(signatures) <= MAX_PLACED:
                tree_node.place, tree_node.within = self._place(signatures)
            return tree_node, signatures
        self._event(tree_node, node)
        return tree_node, {node.signature}

    def _event(self, tree_node: TreeNode, event: Event) -> None:
        tree_node.op = self._trace.ops[event.op].name
        tree_node.category = operation(tree_node.op).category.value
        texts = params(self._trace, event, self._taking_part[id(event)], self._notation)
        tree_node.params = "  ".join(f"{name}={_cut(value)}" for name, value in texts)
        tree_node.site = self._site(event.signature)
        tree_node.alone = self._is_alone(event)
        if (row := self._rows.get(tree_node.number)) is not None:
            tree_node.calls, tree_node.sent, tree_node.received = row.calls, row.sent, row.received
            tree_node.comm_ns, tree_node.compute_ns = row.comm_ns or 0.0, row.compute_ns or 0.0
            tree_node.beyond_ns = row.beyond_ns or 0.0
            tree_node.size = call_size(self._trace, event, row, self._sent.get(id(event), ()))
        tree_node.recorded_ns = tree_node.comm_ns
        if (times := self._simulated.nodes.get(tree_node.number)) is not None:
            tree_node.waiting_ns = times["waiting_ns"]
            if self._simulated.replace:
                tree_node.comm_ns = times["transfer_ns"] + times["waiting_ns"]
                tree_node.compute_ns = times["compute_ns"]

    def _is_alone(self, event: Event) -> bool:
        if self._trace.nprocs == 1:
            return True
        for (name, _), param in zip(self._trace.ops[event.op].params, event.params, strict=True):
            if name == "comm" and isinstance(param, Vec) and param.constant:
                return self._trace.comms[param.constant].kind == "self"
        return False

    def _place(self, signatures: set[int]) -> tuple[str, Stack]:
        """Return file, first and last line, and function in which calls differ, and callers of that."""
        stacks = [callers(stack, len(stack))[::-1] for stack in map(self._trace.stack, signatures)]
        frames, within = outermost_different(stacks)
        parts = [split_frame(frame) for frame in frames]
        if not parts or len({(part.file, part.name) for part in parts}) > 1 or not all(p.line for p in parts):
            return "", ()
        lines = sorted({part.line for part in parts})
        span = str(lines[0]) if len(lines) == 1 else f"{lines[0]}-{lines[-1]}"
        return f"{parts[0].file}:{span}:{parts[0].name}", within[:MAX_WITHIN]

    def _site(self, signature: int) -> int:
        if signature not in self._known:
            stack = self._trace.stack(signature)
            shown = next(iter(callers(stack)), "")
            self._known[signature] = len(self.sites)
            self.sites.append(TreeSite(stack[:MAX_FRAMES], shown, self._sources.at(shown) if shown else None))
        return self._known[signature]


def _times(trips: tuple[int, ...]) -> str:
    if not trips or trips == (1, 1):
        return "" if trips else "0"
    least, most = trips
    return number(most) if least == most else f"{number(least)}–{number(most)}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _prune(root: TreeNode, max_nodes: int) -> None:
    """Leave out the cheapest leaves of each node until `max_nodes` are left."""
    ordered = sorted(_below(root), key=lambda node: -(node.comm_ns + node.compute_ns) or -node.calls)
    if len(ordered) <= max_nodes:
        return
    kept = {id(node) for node in ordered[:max_nodes]}

    def visit(node: TreeNode) -> None:
        hidden_nodes = [child for child in node.children if id(child) not in kept]
        node.children = [child for child in node.children if id(child) in kept]
        if hidden_nodes:
            hidden = TreeNode(-1, left_out=sum(1 + sum(1 for _ in _below(child)) for child in hidden_nodes))
            for child in hidden_nodes:
                hidden.add(child)
            node.children.append(hidden)
        for child in node.children:
            visit(child)

    visit(root)


def _below(node: TreeNode) -> Iterator[TreeNode]:
    for child in node.children:
        yield child
        yield from _below(child)
