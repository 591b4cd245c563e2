"""Receives from any source get a sender (dissertation §4.4.4, Algorithm 3).

The trace keeps its form: only the sources, and the tags where those were open too, are written anew. They are
such that the messages of the trace match one to one, in MPI's order. What is certain is found by counting:
where only one rank ever sends such a message (a wavefront's neighbours, each with a tag of its own) nothing
is executed. Otherwise the trace is executed without time, first as if sends waited for their receives, then
as if they were buffered.

Costs: O(nodes) when nothing is open; O(nodes x ranks) when all is certain; else one step per call, and per
iteration of a loop whose iterations are alike no more than three.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from scalatrace.codegen.matching.diagnosis.diagnose import diagnose
from scalatrace.codegen.matching.diagnosis.report import MatchingError, MatchingReport
from scalatrace.codegen.matching.resolved import Matches, is_open, name_starts, resolve_event
from scalatrace.errors import UsageError
from scalatrace.executor.match_program import cancels
from scalatrace.executor.matching import MatchExecution, Matching, SenderPolicy
from scalatrace.operations import operation
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Node, Peer
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.explicit import explicit
from scalatrace.trace.query.requests import STARTING

__all__ = [
    "ExecutionPlan",
    "has_unnamed_senders",
    "has_wildcards",
    "resolve_wildcards",
    "wildcard_events",
]  # fmt: skip

MAX_RANDOM_POLICIES = 40
"""Executions with drawn senders, when those with a system came to no end."""

MAX_STEPS = 5_000_000
"""Calls that are executed in search of one that does."""


def resolve_wildcards(trace: Trace) -> Trace:
    """The trace with a certain sender (and tag) for every receive; the same object when it has them already.

    Raises:
        MatchingError: no way was found in which all ranks come to their ends; its report is that of buffered
        sends. UsageError: the trace does not know its peers or tags, since they were recorded as histograms.
    """
    trace = explicit(trace)
    if not has_unnamed_senders(trace):
        return trace
    plan = ExecutionPlan(trace)
    matches = plan.certain()
    unmatched = [event for event in plan.unnamed if id(event) not in matches]
    if unmatched:
        matches |= _match_by_executing(plan, [*unmatched, *plan.starts])
    resolved_events = {id(event): resolve_event(trace, event, matches[id(event)]) for event in plan.unnamed}
    trace, starts = name_starts(trace, plan.starts, matches)
    return replace(trace, nodes=[_exchange_nodes(node, resolved_events | starts) for node in trace.nodes])


def has_wildcards(trace: Trace) -> bool:
    """Whether a receive or probe leaves its source or tag open; in O(nodes)."""
    return next(wildcard_events(trace), None) is not None


def has_unnamed_senders(trace: Trace) -> bool:
    """Whether a receive or probe alone does not say whose message it gets; in O(nodes)."""
    return next(_unnamed_events(trace), None) is not None


def _unnamed_events(trace: Trace) -> Iterator[Event]:
    """The event nodes that leave a source or tag open, and of receives that may be cancelled."""
    yield from wildcard_events(trace)
    if cancels(trace):
        for event in trace.leaves():
            row = operation(trace.ops[event.op].name)
            if row.makes_request and row.recvs is not None and row.recvs.peer == "source":
                yield event


def wildcard_events(trace: Trace) -> Iterator[Event]:
    """The event nodes that leave a source or tag open."""
    for event in trace.leaves():
        op = trace.ops[event.op]
        row = operation(op.name)
        if row.recvs is None or row.recvs.peer != "source":
            continue
        names = ("source", "recvtag" if op.index("recvtag") is not None else "tag")
        if any(at is not None and is_open(event, at) for at in map(op.index, names)):
            yield event


# -- executions --------------------------------------------------------------------------------------------


class ExecutionPlan:
    """What several executions of one trace share."""

    def __init__(self, trace: Trace, blocking: bool = False) -> None:
        """Raises UsageError if messages are unknown. `blocking`: as in `Matching`."""
        _check_known(trace)
        self.trace = trace
        self._matching = Matching(trace, blocking)
        self.unnamed = list({id(event): event for event in _unnamed_events(trace)}.values())
        ops = {event.op for event in self.unnamed}
        persistent = any(operation(trace.ops[op].name).flow_later for op in ops)
        self.starts = [
            event for event in trace.leaves() if persistent and trace.ops[event.op].name in STARTING
        ]

    def certain(self) -> Matches:
        """Return what each rank's receives get, by id of the event nodes whose senders are certain."""
        return self._matching.certain(self.unnamed)

    def is_certain(self) -> bool:
        """Return whether the senders of all receives are certain."""
        return len(self.certain()) == len(self.unnamed)

    def execute(
        self,
        policy: SenderPolicy,
        synchronous: bool,
        recorded: Collection[Event] = (),
        polls_wait: bool = True,
        keeps_senders: bool = False,
        seed: int = 0,
    ) -> tuple[MatchExecution, MatchingReport | None]:
        """Execute the trace once, as `Matching.execute`; the report is for executions that do not end."""
        execution = self._matching.execute(policy, synchronous, recorded, polls_wait, keeps_senders, seed)
        return execution, None if execution.ended else diagnose(execution)


def _match_by_executing(plan: ExecutionPlan, recorded: Collection[Event]) -> Matches:
    report, steps = None, 0
    for policy, synchronous, keeps_senders, seed in _attempts(bool(plan.starts)):
        execution, problem = plan.execute(
            policy, synchronous, recorded, keeps_senders=keeps_senders, seed=seed
        )
        if problem is None:
            return execution.matches(recorded)
        if report is None and not synchronous and not keeps_senders:
            report = problem
        steps += execution.steps
        if steps > MAX_STEPS and report is not None:
            break
    assert report is not None
    raise MatchingError(report)


def _attempts(persistent: bool) -> Iterator[tuple[SenderPolicy, bool, bool, int]]:
    """Yield ways to execute, best first: policy, whether sends wait for receives, `keeps_senders`, `seed`.

    A language may have one sender for a persistent receive, so that is tried first.
    """
    careful = SenderPolicy.CAREFUL
    for keeps_senders in (True, False) if persistent else (False,):
        yield careful, True, keeps_senders, 0
        for policy in (
            careful,
            SenderPolicy.FAIR,
            SenderPolicy.IN_TURNS,
            SenderPolicy.LOWEST,
            SenderPolicy.HIGHEST,
        ):
            yield policy, False, keeps_senders, 0
    for seed in range(MAX_RANDOM_POLICIES):
        yield SenderPolicy.DRAWN, False, False, seed


def _check_known(trace: Trace) -> None:
    for event in trace.leaves():
        for (name, _), param in zip(trace.ops[event.op].params, event.params, strict=True):
            value = param.value if isinstance(param, Peer) else param
            if isinstance(value, Summary) and name in ("dest", "source", "tag", "sendtag", "recvtag"):
                op = trace.ops[event.op].name
                raise UsageError(
                    f"the {name} of MPI_{op} was recorded as a histogram: which messages match is not known;"
                    " record it without summaries of peers and tags"
                )


def _exchange_nodes(node: Node, resolved_events: dict[int, Event]) -> Node:
    if isinstance(node, Event):
        return resolved_events.get(id(node), node)
    return replace(node, nodes=tuple(_exchange_nodes(child, resolved_events) for child in node.nodes))
