"""Build the program of a recorded trace in one pass over the compressed tree (§4.4.1).

The repeat of a node becomes a condition for its ranks and a loop. A repeat that differs between iterations
becomes a condition or a trip count in the loop variables. Parameters become expressions of the same
variables, through the number of times that the node ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scalatrace.codegen.builders.receive_sizes import with_large_receives
from scalatrace.codegen.builders.threads import program_threads
from scalatrace.codegen.builders.tree_builder import SILENT, Built, TreeBuilder, under
from scalatrace.codegen.errors import GenerateError, where
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.program.by_rank import of_elastic
from scalatrace.codegen.program.conditions import among
from scalatrace.codegen.program.peers import WORLD, ProgramPeers
from scalatrace.codegen.program.threads import THREAD
from scalatrace.codegen.program.tidy import tidy
from scalatrace.codegen.program.tree import BenchmarkProgram, Duration, MpiCall, ProgramArgument, Stmt
from scalatrace.codegen.program.values import of_vec, prefix_of_vec
from scalatrace.codegen.timing.imbalance import shares, spread_of_shares
from scalatrace.codegen.timing.predecessor_schedule import PredecessorSchedules
from scalatrace.codegen.timing.predecessors import Predecessors, choose_context
from scalatrace.codegen.timing.rank_means import RankMeans
from scalatrace.formula import Compare, Cond, Const, Expr, Value, Var, add, mul, number
from scalatrace.predefined import known_thread_level
from scalatrace.trace.consistency.failed import WITH_ERRORS
from scalatrace.trace.exchange.buffer_memory import MEMORY
from scalatrace.trace.model.elastic import Columns, Elastic, Groups, Summary
from scalatrace.trace.model.nodes import Event, Node, Peer
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.absolute import absolute
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.explicit import explicit
from scalatrace.trace.query.load import COMPUTE
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["build"]


def build(trace: Trace, exact_times: bool = True, sites: bool = True) -> BenchmarkProgram:
    """The program of a trace.

    Args:
        exact_times: computations may depend on the preceding call; else undecided ones are averaged.
        sites: keep the call sites of the application.

    Raises:
        GenerateError: ranks or values of parameters are missing from the trace.
    """
    if len(trace.ranks) != trace.nprocs:
        raise GenerateError(
            f"the trace has {len(trace.ranks)} of {trace.nprocs} ranks: a benchmark needs all"
        )
    imbalance = shares(trace)
    trace = absolute(explicit(trace))
    if trace.has_streams:
        trace = with_large_receives(trace)
    builder = _RecordedBuilder(trace, exact_times, sites, spread_of_shares(imbalance, trace.nprocs))
    threads = program_threads(trace) if trace.has_streams else None
    return BenchmarkProgram(
        nprocs=trace.nprocs,
        body=tidy(tuple(builder.streams())),
        title=Foreign(trace.meta.get("program", "")),
        thread_level=known_thread_level(trace.meta),
        comms=tuple(trace.comms),
        types=tuple(trace.types),
        strings=tuple(map(Foreign, trace.strings)),
        arrays=tuple(trace.arrays),
        imbalance=imbalance,
        truncates=WITH_ERRORS in trace.counts,
        threads=threads,
    )


@dataclass(frozen=True)
class _RecordedScope:
    """The place of a node.

    Attributes:
        ranks: the ranks that enter the node.
        entry_count: how often they entered it before.
        predecessors: the possible predecessors of its first call.
        visits: of a node's content, how often the node was entered before.
    """

    ranks: RankList
    entry_count: Expr
    predecessors: Predecessors
    visits: Expr | None = None

    def after(self, predecessors: Predecessors) -> _RecordedScope:
        return _RecordedScope(self.ranks, self.entry_count, predecessors)


def _root(trace: Trace) -> _RecordedScope:
    return _RecordedScope(trace.ranks, Const(0), Predecessors.start(trace.ranks))


class _RecordedBuilder(TreeBuilder[Node, RankList, _RecordedScope]):
    def __init__(self, trace: Trace, exact_times: bool, sites: bool, spread: float) -> None:
        super().__init__()
        self.trace, self.exact_times, self.sites, self.spread = trace, exact_times, sites, spread
        self.peers = ProgramPeers(trace)
        self.rank_means, self.schedules = RankMeans(trace), PredecessorSchedules(trace)
        self.stat = trace.stat_index.get(COMPUTE)
        self.runs = {
            id(event): max((n for _, n in classes), default=0) for event, classes in executions(trace)
        }

    def streams(self) -> list[Stmt]:
        """Build the statements of all threads, those of each under a condition where there are several."""
        if not self.trace.has_streams:
            return self.nodes(self.trace.nodes, _root(self.trace))[0]
        stmts: list[Stmt] = []
        for thread in self.trace.threads:
            body, _ = self.nodes(self.trace.stream(thread), _root(self.trace))
            stmts += under(Compare("==", THREAD, Const(thread)), body)
        return stmts

    def node(self, node: Node, scope: _RecordedScope) -> Built:
        ranks = _participants(node.repeat, scope.ranks)
        if not len(ranks) or (isinstance(node, Event) and self.trace.ops[node.op].name in SILENT):
            return [], scope.predecessors
        cond = among(ranks, scope.ranks, self.trace.nprocs)
        times = number(self.elastic(node.repeat, ranks, lambda vec: of_vec(vec, scope.entry_count)))
        inner = _RecordedScope(ranks, scope.entry_count, scope.predecessors.only(ranks))
        stmts, predecessors = self.repeated(node, times, inner)
        if len(absent := scope.ranks - ranks):
            predecessors = predecessors.joined(scope.predecessors.only(absent))
        return under(cond, stmts), predecessors

    def once(self, node: Node, times: Expr, scope: _RecordedScope, cond: Cond) -> _RecordedScope:
        first = self.ran_before(node, times, scope)
        return _RecordedScope(scope.ranks, first, scope.predecessors, scope.entry_count)

    def iteration(
        self, node: Node, times: Expr, scope: _RecordedScope, variable: Var, predecessors: Predecessors
    ) -> _RecordedScope:
        index = add(self.ran_before(node, times, scope), variable)
        return _RecordedScope(scope.ranks, index, predecessors, scope.entry_count)

    def ranks(self, scope: _RecordedScope) -> RankList:
        return scope.ranks

    def listed(self, ranks: RankList) -> RankList:
        return ranks

    def children(self, node: Node) -> Sequence[Node] | None:
        return None if isinstance(node, Event) else node.nodes

    def predecessor(self, node: Node) -> int | None:
        if not isinstance(node, Event) or not self.runs.get(id(node)):
            return None
        return self.trace.pred_index.get((node.op, node.signature))

    def runners(self, node: Node, ranks: RankList) -> RankList | None:
        return _participants(node.repeat, ranks) or None

    def may_skip(self, node: Node) -> bool:
        return _may_be_nothing(node.repeat)

    def ran_before(self, node: Node, times: Expr, scope: _RecordedScope) -> Expr:
        """Return how often the content ran before the present entry of the node."""
        if scope.entry_count == Const(0):
            return Const(0)
        if _is_constant(node.repeat):
            return mul(scope.entry_count, times)
        return number(
            self.elastic(node.repeat, scope.ranks, lambda vec: prefix_of_vec(vec, scope.entry_count))
        )

    def content(self, node: Node, scope: _RecordedScope) -> Built:
        if not isinstance(node, Event):
            return self.nodes(node.nodes, scope)
        if not self.runs.get(id(node)):
            return [], scope.predecessors
        call = self.call(node, scope)
        computes = self.computes(node, scope)
        pred = self.predecessor(node)
        outside = scope.predecessors
        return [*computes, call], outside if pred is None else outside.called(pred, scope.ranks)

    def call(self, node: Event, scope: _RecordedScope) -> MpiCall:
        """The call of an event that has run `scope.entry_count` times before."""
        op = self.trace.ops[node.op]
        site = tuple(map(Foreign, self.trace.stack(node.signature)))
        call_arguments, runs = [], self.runs[id(node)]
        for (name, kind), param in zip(op.params, node.params, strict=True):
            if name == MEMORY:  # benchmarks use memory of the host
                continue
            value = param.value if isinstance(param, Peer) else param
            if isinstance(value, Summary):
                raise GenerateError(
                    f"{op.name}{where(site)}: the values of {name} were not kept when the trace was recorded"
                )
            e = self.elastic(value, scope.ranks, lambda vec: of_vec(vec, scope.entry_count, runs), limit=runs)
            call_arguments.append((name, kind, param, e))
        family = number(next((e for _, kind, _, e in call_arguments if kind is Kind.COMM), WORLD))
        arguments = tuple(
            ProgramArgument(
                name, kind, self.peers.of(param.encoding, e, family) if isinstance(param, Peer) else e
            )
            for name, kind, param, e in call_arguments
        )
        mark = self.trace.pred_index.get((node.op, node.signature))
        return MpiCall(op.name, arguments, site if self.sites else (), mark)

    def computes(self, node: Event, scope: _RecordedScope) -> list[Stmt]:
        """The computation before a call; ranks may have their own where calls before it are averaged."""
        if self.stat is None:
            return []
        resolution, durations = self.trace.stats[self.stat].resolution, {}
        for pred, histogram in node.histograms_by_pred(self.stat):
            scaled = histogram.scaled(resolution).within_ranks(self.spread)
            durations[pred] = Duration(scaled.mean, scaled)
        arrivals = scope.predecessors.of(scope.ranks)
        overall, by_iteration = (
            choose_context(durations, arrivals, exact) for exact in (self.exact_times, True)
        )
        if overall is None or by_iteration is None:
            return []
        decided = by_iteration.first is not None or len(by_iteration.contexts) == 1
        if self.exact_times or decided:
            return [overall]
        if (turns := self.by_schedule(node, durations, scope)) is not None:
            return turns
        rank_computes = self.rank_means.split(node, durations, scope.ranks, scope.predecessors)
        return [
            stmt
            for compute, ranks in rank_computes
            for stmt in under(among(ranks, scope.ranks, self.trace.nprocs), [compute])
        ] or [overall]

    def by_schedule(
        self, node: Event, durations: dict[int, Duration], scope: _RecordedScope
    ) -> list[Stmt] | None:
        """Return the computation before a call by the number of earlier visits; None without a schedule."""
        if scope.visits is None:
            return None
        body: list[Stmt] = []
        schedules = self.schedules.schedules(node, durations, scope.ranks)
        for schedule in schedules:
            stmts = schedule.stmts(scope.visits)
            if stmts is None:
                return None
            body += under(among(schedule.ranks, scope.ranks, self.trace.nprocs), stmts)
        return body if schedules else None

    def elastic(
        self, value: Elastic, ranks: RankList, of: Callable[[Vec], Value], limit: int | None = None
    ) -> Value:
        return of_elastic(value, ranks, self.trace.nprocs, of, limit)


def _may_be_nothing(repeat: Elastic) -> bool:
    """Whether a participant may meet a node and not run it."""
    if isinstance(repeat, Groups):
        return any((vec.smallest() or 0) < 1 for _, vec in repeat.groups if vec.constant != 0)
    return isinstance(repeat, Vec) and (repeat.smallest() or 0) < 1


def _is_constant(repeat: Elastic) -> bool:
    """Whether each rank runs the node equally often whenever it meets it."""
    if isinstance(repeat, Groups):
        return all(vec.constant is not None for _, vec in repeat.groups)
    return isinstance(repeat, Columns) or (isinstance(repeat, Vec) and repeat.constant is not None)


def _participants(repeat: Elastic, ranks: RankList) -> RankList:
    """Who runs a node at all."""
    if isinstance(repeat, Columns):
        return RankList(rank for rank in repeat.ranks & ranks if repeat.value(rank))
    if isinstance(repeat, Groups):
        participants = RankList()
        for group, vec in repeat.groups:
            if vec.constant != 0:
                participants = participants | (group & ranks)
        return participants
    return RankList() if isinstance(repeat, Vec) and repeat.constant == 0 else ranks
