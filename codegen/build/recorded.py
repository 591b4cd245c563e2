"""From a trace to a program: one pass over the compressed tree, nothing expanded (§4.4.1).

A node becomes what its repeat says: the ranks it names a condition, a constant a loop, values that differ
from iteration to iteration a condition or a count in the loop variables. Parameters become expressions of the
same variables, by the number of times that the node ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from scalatrace.codegen.errors import GenerateError, where
from scalatrace.codegen.expr import TRUE, Cond, Const, Expr, Var, add, bounds, is_nonzero, mul
from scalatrace.codegen.program.conditions import among
from scalatrace.codegen.program.peers import WORLD, Peers
from scalatrace.codegen.program.tidy import tidy
from scalatrace.codegen.program.tree import Argument, Branch, Call, Duration, Loop, Program, Stmt
from scalatrace.codegen.program.values import of_elastic, of_vec, prefix_of_vec
from scalatrace.codegen.timing.imbalance import shares
from scalatrace.codegen.timing.predecessor_schedule import PredecessorSchedules
from scalatrace.codegen.timing.predecessors import Predecessors, choose_context
from scalatrace.codegen.timing.rank_means import RankMeans
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

SILENT = frozenset({"Init", "Init_thread", "Finalize"})
"""Every benchmark has these around its body."""


def build(trace: Trace, exact_times: bool = True, sites: bool = True) -> Program:
    """The program of a trace.

    Args:
        exact_times: computations may look at the call before; else what the loops do not tell is averaged.
        sites: calls say where the application made them.

    Raises:
        GenerateError: ranks or values of parameters are missing from the trace.
    """
    if len(trace.ranks) != trace.nprocs:
        raise GenerateError(
            f"the trace has {len(trace.ranks)} of {trace.nprocs} ranks: a benchmark needs all"
        )
    imbalance = shares(trace)
    trace = absolute(explicit(trace))
    body, _ = _Builder(trace, exact_times, sites).nodes(trace.nodes, _root(trace))
    return Program(
        nprocs=trace.nprocs,
        body=tidy(tuple(body)),
        title=trace.meta.get("program", ""),
        comms=tuple(trace.comms),
        types=tuple(trace.types),
        strings=tuple(trace.strings),
        arrays=tuple(trace.arrays),
        imbalance=imbalance,
    )


@dataclass(frozen=True)
class _Scope:
    """Where a node stands.

    Attributes:
        ranks: who comes here.
        met: how often they did before.
        before: what was called last.
        turn: of a node's content, how often the node was met before.
    """

    ranks: RankList
    entry_count: Expr
    predecessors: Predecessors
    visits: Expr | None = None

    def after(self, predecessors: Predecessors) -> _Scope:
        return _Scope(self.ranks, self.entry_count, predecessors)


def _root(trace: Trace) -> _Scope:
    return _Scope(trace.ranks, Const(0), Predecessors.start(trace.ranks))


class _Builder:
    def __init__(self, trace: Trace, exact_times: bool, sites: bool) -> None:
        self.trace, self.exact_times, self.sites = trace, exact_times, sites
        self.peers = Peers(trace)
        self.rank_means, self.turns = RankMeans(trace), PredecessorSchedules(trace)
        self.names = (f"i{n}" for n in count(1))
        self.stat = trace.stat_index.get(COMPUTE)
        self.runs = {
            id(event): max((n for _, n in classes), default=0) for event, classes in executions(trace)
        }

    def nodes(self, nodes: Sequence[Node], scope: _Scope) -> tuple[list[Stmt], Predecessors]:
        """Statements of nodes one after the other, and what was called last."""
        found: list[Stmt] = []
        for node in nodes:
            stmts, predecessors = self.node(node, scope)
            found += stmts
            scope = scope.after(predecessors)
        return found, scope.predecessors

    def node(self, node: Node, scope: _Scope) -> tuple[list[Stmt], Predecessors]:
        """Condition and loop of one node."""
        ranks = _participants(node.repeat, scope.ranks)
        if not len(ranks) or (isinstance(node, Event) and self.trace.ops[node.op].name in SILENT):
            return [], scope.predecessors
        here = among(ranks, scope.ranks, self.trace.nprocs)
        times = self.elastic(node.repeat, ranks, lambda vec: of_vec(vec, scope.entry_count))
        inner = _Scope(ranks, scope.entry_count, scope.predecessors.only(ranks))
        stmts, predecessors = self.repeated(node, times, inner)
        if len(rest := scope.ranks - ranks):
            predecessors = predecessors.joined(scope.predecessors.only(rest))
        return _under(here, stmts), predecessors

    def repeated(self, node: Node, times: Expr, scope: _Scope) -> tuple[list[Stmt], Predecessors]:
        """What the participants of a node do each time they meet it."""
        limits = bounds(times)
        first = self.ran_before(node, times, scope)
        if limits == (1, 1):
            return self.content(node, _Scope(scope.ranks, first, scope.predecessors, scope.entry_count))
        if limits == (0, 1):
            stmts, predecessors = self.content(
                node, _Scope(scope.ranks, first, scope.predecessors, scope.entry_count)
            )
            cond = is_nonzero(times)
            return _under(cond, stmts), scope.predecessors.unless(cond, predecessors)
        variable = Var(next(self.names), limits[1] if limits else None)
        index = add(first, variable)
        end = self.flow(node, scope.ranks, scope.predecessors)
        stmts, predecessors = self.content(
            node, _Scope(scope.ranks, index, scope.predecessors.looped(end, variable), scope.entry_count)
        )
        predecessors = predecessors.left(variable)
        if not limits or limits[0] < 1:
            predecessors = scope.predecessors.either(predecessors)
        return [Loop(variable, times, tuple(stmts))] if stmts else [], predecessors

    def flow(self, node: Node, ranks: RankList, predecessors: Predecessors) -> Predecessors:
        """What was called last after the content of a node ran once for these ranks."""
        if isinstance(node, Event):
            pred = self.trace.pred_index.get((node.op, node.signature))
            silent = pred is None or not self.runs.get(id(node))
            return predecessors if silent or pred is None else predecessors.called(pred, ranks)
        for child in node.nodes:
            some = _participants(child.repeat, ranks)
            if not len(some):
                continue
            here = predecessors.only(some)
            after = self.flow(child, some, here)
            if _may_be_nothing(child.repeat):
                after = here.either(after)
            predecessors = after.joined(predecessors.only(ranks - some))
        return predecessors

    def ran_before(self, node: Node, times: Expr, scope: _Scope) -> Expr:
        """How often the content ran before the node is met this time."""
        if scope.entry_count == Const(0):
            return Const(0)
        if _is_constant(node.repeat):
            return mul(scope.entry_count, times)
        return self.elastic(node.repeat, scope.ranks, lambda vec: prefix_of_vec(vec, scope.entry_count))

    def content(self, node: Node, scope: _Scope) -> tuple[list[Stmt], Predecessors]:
        if not isinstance(node, Event):
            return self.nodes(node.nodes, scope)
        if not self.runs.get(id(node)):
            return [], scope.predecessors
        pred = self.trace.pred_index.get((node.op, node.signature))
        call = self.call(node, scope)
        computes = self.computes(node, scope)
        predecessors = scope.predecessors if pred is None else scope.predecessors.called(pred, scope.ranks)
        return [*computes, call], predecessors

    def call(self, node: Event, scope: _Scope) -> Call:
        """The call of an event that has run `scope.met` times before."""
        op, site = self.trace.ops[node.op], self.trace.stack(node.signature)
        given = []
        for (name, kind), param in zip(op.params, node.params, strict=True):
            value = param.value if isinstance(param, Peer) else param
            if isinstance(value, Summary):
                raise GenerateError(
                    f"{op.name}{where(site)}: the values of {name} were not kept when the trace was recorded"
                )
            e = self.elastic(
                value, scope.ranks, lambda vec: of_vec(vec, scope.entry_count, self.runs[id(node)])
            )
            given.append((name, kind, param, e))
        family = next((e for _, kind, _, e in given if kind is Kind.COMM), WORLD)
        arguments = tuple(
            Argument(name, kind, self.peers.of(param.encoding, e, family) if isinstance(param, Peer) else e)
            for name, kind, param, e in given
        )
        mark = self.trace.pred_index.get((node.op, node.signature))
        return Call(op.name, arguments, site if self.sites else (), mark)

    def computes(self, node: Event, scope: _Scope) -> list[Stmt]:
        """The computation before a call; ranks may have their own where calls before it are averaged."""
        if self.stat is None:
            return []
        resolution, known = self.trace.stats[self.stat].resolution, {}
        for stats in node.stats:
            histogram = stats.histograms[self.stat] if self.stat < len(stats.histograms) else None
            if histogram is not None:
                scaled = histogram.scaled(resolution)
                known[stats.pred] = Duration(scaled.mean, scaled)
        arrivals = scope.predecessors.of(scope.ranks)
        whole, by_iteration = (choose_context(known, arrivals, exact) for exact in (self.exact_times, True))
        if whole is None or by_iteration is None:
            return []
        decided = by_iteration.first is not None or len(by_iteration.contexts) == 1
        if self.exact_times or decided:
            return [whole]
        if (turns := self.by_schedule(node, known, scope)) is not None:
            return turns
        own = self.rank_means.split(node, known, scope.ranks, scope.predecessors)
        return [
            stmt
            for compute, ranks in own
            for stmt in _under(among(ranks, scope.ranks, self.trace.nprocs), [compute])
        ] or [whole]

    def by_schedule(self, node: Event, known: dict[int, Duration], scope: _Scope) -> list[Stmt] | None:
        """The computation before a call by how often the call was met before; None where no rule tells."""
        if scope.visits is None:
            return None
        found: list[Stmt] = []
        schedules = self.turns.schedules(node, known, scope.ranks)
        for schedule in schedules:
            stmts = schedule.stmts(scope.visits)
            if stmts is None:
                return None
            found += _under(among(schedule.ranks, scope.ranks, self.trace.nprocs), stmts)
        return found if schedules else None

    def elastic(self, value: Elastic, ranks: RankList, of: Callable[[Vec], Expr]) -> Expr:
        return of_elastic(value, ranks, self.trace.nprocs, of)


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
        some = RankList()
        for group, vec in repeat.groups:
            if vec.constant != 0:
                some = some | (group & ranks)
        return some
    return RankList() if isinstance(repeat, Vec) and repeat.constant == 0 else ranks


def _under(cond: Cond, stmts: list[Stmt]) -> list[Stmt]:
    if cond == TRUE or not stmts:
        return stmts
    return [Branch(cond, tuple(stmts))]
