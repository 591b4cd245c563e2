"""The trace, which all tools exchange: header, tables and a tree of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import is_
from typing import TYPE_CHECKING, Any, Self

from scalatrace.errors import UsageError
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.model.nodes import Event, Node, Sequence, events, thread_of
from scalatrace.trace.model.phases import Phases
from scalatrace.trace.model.tables import UseName
from scalatrace.trace.model.trace_tables import LOAD_STEPS, START, TraceTables
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from scalatrace.trace.views import views

if TYPE_CHECKING:
    import pandas as pd

    from scalatrace.arrays import Ints

__all__ = ["MODULES", "NO_PRED", "PARAMETER", "START", "Trace"]

RUN_TIME_NS = "run-time-ns"
"""Entry of the header of a result: the 95 % interval of its run time, LOW..HIGH, if too wide for a number."""

PARAMETER = "param."
"""Prefix of the header's entries that `scalatrace record --param` makes."""

MODULES = "modules"
"""The header's entry with the program and libraries of native frames: lines of build ID and path."""

NO_PRED = -1
"""Predecessor index of a (op, signature) pair that is in no table: no statistics were kept for it."""


@dataclass
class Trace(TraceTables):
    """A recorded run of an MPI program; see docs/reference/format.md for each field.

    Attributes:
        nodes: the root nodes, entered once.
        load: per statistic None or a vec over `ranks` of round(LOAD_STEPS log2(total / mean total)).
        load_between: whether these totals are without start-up and shut-down.
        turns: communicators on which several threads of a rank make collective calls: the threads in the
            order of these calls.
        uses: persistent requests, windows and files that several threads of a rank use (threads.py).
    """

    nodes: list[Node] = field(default_factory=list)
    load: list[Vec | None] = field(default_factory=list, kw_only=True)
    load_between: bool = field(default=False, kw_only=True)
    turns: dict[int, Elastic] = field(default_factory=dict, kw_only=True)
    uses: dict[UseName, Elastic] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._participants: dict[int, RankList] = {}
        self._in_table: list[Node] = []  # keeps the nodes of the table, hence their ids
        self._threads: tuple[list[Node], dict[int, int]] | None = None  # by id of an event
        self._phases: tuple[list[Node], Phases, Trace] | None = None
        self._counted: tuple[list[Node], int] | None = None
        self._run_load: tuple[Phases, list[Vec | None], dict[int, Vec | None]] | None = None

    @property
    def threads(self) -> list[int]:
        """The numbers of the threads that made calls, of any rank."""
        return sorted({thread_of(node) for node in self.nodes} | {0})

    @property
    def has_streams(self) -> bool:
        """Whether several threads of a rank made calls: each is a stream of its own."""
        return any(map(thread_of, self.nodes))

    def stream(self, thread: int) -> list[Node]:
        """Return the nodes of a thread."""
        return [node for node in self.nodes if thread_of(node) == thread]

    def thread_of(self, event: Event) -> int:
        """Return the number of the thread whose calls an event node of this trace has."""
        if not self.has_streams:
            return 0
        if self._threads is None or len(self._threads[0]) != len(self.nodes):
            leaves = {id(leaf): thread_of(node) for node in self.nodes for leaf in events([node])}
            self._threads = list(self.nodes), leaves
        return self._threads[1].get(id(event), 0)

    def walk(self, rank: int, thread: int | None = None) -> Iterator[Call]:
        """Yield the calls of a world rank in order, from the compressed form.

        Where several threads made calls, those of each are in order; threads follow each other.

        Args:
            thread: whose calls; None: all.

        Raises:
            UsageError: the rank is not in the trace.
            FormatError: while iterating, when the trace contradicts itself.
        """
        from scalatrace.trace.query.walk import walk

        self._known(rank)
        return walk(self, rank, thread)

    def nevents(self, rank: int | None = None) -> int:
        """Number of calls of a rank, or of all ranks, without walking.

        Raises:
            UsageError: too many ranks differ in their numbers of calls, which are formulas.
        """
        from scalatrace.trace.query import counting

        if rank is None:
            nodes, calls = self._counted or ([], None)
            if calls is None or not self._consists_of(nodes):
                calls = counting.nevents(self)
                self.keep_nevents(calls)
            return calls
        self._known(rank)
        return sum(n for _, n in counting.executions_of(self, rank))

    def keep_nevents(self, calls: int) -> None:
        """Keep the number of calls of all ranks, which takes seconds where it follows from formulas."""
        self._counted = list(self.nodes), calls

    def _consists_of(self, nodes: list[Node]) -> bool:
        """Return whether these are the nodes of the trace, by identity."""
        return len(nodes) == len(self.nodes) and all(map(is_, nodes, self.nodes))

    def counted(self) -> int | None:
        """Number of calls of all ranks; None where `nevents` refuses to count them, or takes long."""
        from scalatrace.trace.query import counting

        try:
            return None if counting.takes_long(self.nodes) else self.nevents()
        except UsageError:
            return None

    @property
    def phases(self) -> Phases:
        """Start-up and shut-down; see `scalatrace.trace.phases`. Raises FormatError."""
        return self._divide_phases()[0]

    @property
    def without_phases(self) -> Trace:
        """The trace without the times of start-up and shut-down, which its `phases` still have.

        Raises:
            FormatError: the trace contradicts itself.
        """
        return self._divide_phases()[1]

    def _divide_phases(self) -> tuple[Phases, Trace]:
        from scalatrace.trace.phases import find_phases, leave_out_phases

        nodes, phases, left = self._phases or ([], None, None)
        if phases is None or left is None or not self._consists_of(nodes):
            phases = find_phases(self)
            left = leave_out_phases(self, phases)
            left._phases = list(left.nodes), phases, left
            self._phases = list(self.nodes), phases, left
        return phases, left

    @property
    def nnodes(self) -> int:
        """Number of nodes in the tree."""
        return sum(_size(node) for node in self.nodes)

    def leaves(self) -> Iterator[Event]:
        """Yield the event nodes, in order."""
        return events(self.nodes)

    def rename_frames(self, name: Callable[[str], str]) -> Self:
        """Return the trace with other texts of its frames."""
        return replace(self, frames=[name(text) for text in self.frames])

    def participants(self, node: Node) -> RankList:
        """Return the ranks that take part in a node of this trace.

        Raises:
            UsageError: the node is not in this trace (nodes are identified by `id`).
        """
        from scalatrace.trace.query import counting

        result = self._participants.get(id(node))
        if result is None:  # nodes are immutable: other ones are in no table yet
            self._participants, self._in_table = counting.participants(self), list(self.nodes)
            result = self._participants.get(id(node))
        if result is None:
            raise UsageError("the node is not in this trace")
        return result

    def matrix(self, what: str = "bytes", calls: str = "all") -> Ints:
        """Return what each rank (row) sent to each rank (column), point to point and in collectives.

        Args:
            what: "bytes" or "messages".
            calls: "p2p": messages only; "collective": collectives that say who sends to whom; "all".
        """
        from scalatrace.trace.exchange.matrix import matrix

        return matrix(self, what, calls)

    def events_frame(self, rank: int, limit: int | None = None) -> pd.DataFrame:
        """Return the calls of a rank as a pandas DataFrame; see `scalatrace.report.notebook.frames`."""
        return views().events_frame(self, rank, limit)

    def stats_frame(self, by: str = "op") -> pd.DataFrame:
        """Return calls, bytes and times as a pandas DataFrame; see `scalatrace.report.notebook.frames`."""
        return views().stats_frame(self, by)

    def matrix_frame(self, what: str = "bytes", calls: str = "all") -> pd.DataFrame:
        """Return the communicating pairs as a pandas DataFrame; see `scalatrace.report.notebook.frames`."""
        return views().matrix_frame(self, what, calls)

    def compare_frame(self, after: Trace, by: str = "site") -> pd.DataFrame:
        """Return times that differ from those of another run; see `scalatrace.report.notebook.frames`."""
        return views().compare_frame(self, after, by)

    def scaling_frame(self, others: Iterable[Trace], weak: bool | None = None) -> pd.DataFrame:
        """Return efficiencies of runs on several sizes; see `scalatrace.report.notebook.frames`."""
        return views().scaling_frame(self, list(others), weak)

    @property
    def plot(self) -> Any:
        """Plots such as `matrix()` and `flame()`; see `scalatrace.report.notebook.plots`."""
        return views().plots(self)

    def _repr_html_(self) -> str | None:
        return views().describe(self)

    def has_load(self, stat: str) -> bool:
        """Return whether the trace stores each rank's share of the total of a statistic."""
        index = self._load_index(stat)
        return index is not None and self.load[index] is not None

    def load_of(self, stat: str) -> Vec | None:
        """Return the steps of each rank's total of a statistic in the run, over `ranks`; None: not known."""
        index = self._load_index(stat)
        if index is None:
            return None
        return self._load_of_run(index) if self.load_between else self.load[index]

    def _load_index(self, stat: str) -> int | None:
        index = self.stat_index.get(stat)
        return index if index is not None and index < len(self.load) else None

    def _load_of_run(self, index: int) -> Vec | None:
        from scalatrace.trace.phases import run_load

        phases = self.phases
        if self._run_load is None or self._run_load[0] is not phases or self._run_load[1] != self.load:
            self._run_load = phases, list(self.load), {}
        cached = self._run_load[2]
        if index not in cached:
            cached[index] = run_load(self, phases, index)
        return cached[index]

    def load_factor(self, stat: str, rank: int) -> float:
        """Return the rank's total of a statistic over the mean total of the ranks; 1.0 without totals."""
        vec = self.load_of(stat)
        return 1.0 if vec is None else float(2.0 ** (vec[self.ranks.index(rank)] / LOAD_STEPS))

    def _known(self, rank: int) -> None:
        if rank not in self.ranks:
            runs = self.ranks.runs
            named = f"{runs[0][0]} to {runs[0][1] - 1}" if len(runs) == 1 else str(self.ranks)
            raise UsageError(f"rank {rank} is not in the trace; give one of its ranks: {named}")


def _size(node: Node) -> int:
    return 1 + sum(_size(child) for child in node.nodes) if isinstance(node, Sequence) else 1
