"""Receives from any source get a sender (dissertation §4.4.4, Algorithm 3).

The trace keeps its form: only the sources, and the tags where those were open too, are written anew. They are
such that the messages of the trace match one to one, in MPI's order. What is certain is found by counting:
where only one rank ever sends such a message (a wavefront's neighbours, each with a tag of its own) nothing
is executed. Otherwise the trace is executed without time (`engine.py`), first as if sends waited for their
receives, then as if they were buffered.

Costs: O(nodes) when nothing is open; O(nodes x ranks) when all is certain; else one step per call, and per
iteration of a loop whose iterations are alike no more than three.

The call that makes the request has one source, and each start may get a message of another sender. Where they
differ, the source stays open, and Start and Startall get two more parameters: arrays of world ranks and of
tags, with an entry for each request that they start. It is open for a request that is no such receive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, field, replace

from scalatrace.codegen.matching.alignment.packing import PackedRow, gather_rows, pack_peers, row
from scalatrace.codegen.matching.diagnosis.diagnose import diagnose, mismatch
from scalatrace.codegen.matching.diagnosis.report import MatchingError, MatchingReport
from scalatrace.codegen.matching.execution.choices import (
    CAREFUL,
    FAIR,
    HIGHEST,
    IN_TURNS,
    LOWEST,
    SenderPolicy,
    make_shuffled,
)
from scalatrace.codegen.matching.execution.collective_state import CollectiveMismatchError
from scalatrace.codegen.matching.execution.engine import Engine
from scalatrace.codegen.matching.execution.mailbox import Repeated, Slot, Starts
from scalatrace.codegen.matching.execution.match_actions import MatchActions, cancels
from scalatrace.codegen.matching.execution.quota import Quota
from scalatrace.codegen.matching.execution.scopes import Scopes
from scalatrace.codegen.matching.execution.script import Script, cut_down
from scalatrace.codegen.matching.execution.traffic import Traffic
from scalatrace.errors import UsageError
from scalatrace.operations import operation
from scalatrace.trace.model.elastic import Columns, Groups, Summary, Value
from scalatrace.trace.model.nodes import Event, Node, Peer, Sequence
from scalatrace.trace.model.tables import IntArray, Kind, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.explicit import explicit
from scalatrace.trace.query.requests import STARTED_SOURCES, STARTED_TAGS, STARTING
from scalatrace.trace.query.walk import distinct_calls
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, Vec

__all__ = [
    "Execution", "ExecutionPlan", "has_unnamed_senders", "has_wildcards", "resolve_wildcards",
    "wildcard_events",
]  # fmt: skip

_Items = list[Slot | Starts | Repeated]


def _with_senders_of_starts(
    trace: Trace, starts: list[tuple[Event, Mapping[int, _Items]]]
) -> tuple[Trace, dict[int, Event]]:
    """Return the trace with the tables that starts need, and id of a start -> the start with its senders.

    Args:
        starts: nodes of Start and Startall, and of each rank what its requests get.
    """
    if not any(_differs(items) for _, rows in starts for items in rows.values()):
        return trace, {}
    more = ((STARTED_SOURCES, Kind.ARRAY), (STARTED_TAGS, Kind.ARRAY))
    ops = [Op(op.name, (*op.params, *more)) if op.name in STARTING else op for op in trace.ops]
    arrays = _StartArrays(list(trace.arrays))
    result = {
        id(event): replace(
            event, params=(*event.params, *(gather_rows(column) for column in arrays.columns(rows)))
        )
        for event, rows in starts
    }
    return replace(trace, ops=ops, arrays=arrays.table), result


def _differs(items: _Items) -> bool:
    return any(
        slot is not None and slot.request is not None and slot.request.differs
        for start in _starts(items)
        for slot in start.slots
    )


def _starts(items: _Items) -> Iterator[Starts]:
    for item in items:
        if isinstance(item, Starts):
            yield item
        elif isinstance(item, Repeated):
            yield from _starts(list(item.slots))


class _StartArrays:
    """The table of arrays, to which those of starts are added once each."""

    def __init__(self, table: list[IntArray]) -> None:
        self.table = table
        self._numbers: dict[tuple[int, ...], int] = {}

    def columns(self, rows: Mapping[int, _Items]) -> Iterator[dict[int, PackedRow]]:
        """Yield sources and tags of each rank's starts, as indices of arrays."""
        yield {rank: row(items, self._sources) for rank, items in rows.items()}
        yield {rank: row(items, self._tags) for rank, items in rows.items()}

    def _sources(self, start: Starts) -> int:
        return self._number(
            tuple(ANY_SOURCE if slot is None or slot.source is None else slot.source for slot in start.slots)
        )

    def _tags(self, start: Starts) -> int:
        return self._number(tuple(ANY_TAG if slot is None else slot.tag for slot in start.slots))

    def _number(self, values: tuple[int, ...]) -> int:
        if values not in self._numbers:
            self._numbers[values] = len(self.table)
            self.table.append(IntArray(len(values), Vec(compress(values))))
        return self._numbers[values]


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
    items = plan.certain()
    left = plan.unnamed.keys() - items.keys()
    if left:
        items |= _execute(plan, frozenset(left) | plan.starts.keys())
    resolved_events = {
        id(plan.unnamed[key]): _resolve(trace, plan.unnamed[key], items[key]) for key in plan.unnamed
    }
    trace, starts = _with_senders_of_starts(
        trace, [(event, items[key]) for key, event in plan.starts.items() if key in items]
    )
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
        if any(at is not None and _is_open(event, at) for at in map(op.index, names)):
            yield event


def _is_open(event: Event, at: int) -> bool:
    param = event.params[at]
    value = param.value if isinstance(param, Peer) else param
    return any(_mentions(vec.terms) for vec in _vecs(value))


def _vecs(value: Value) -> list[Vec]:
    if isinstance(value, Groups):
        return [vec for _, vec in value.groups]
    return [value.vec] if isinstance(value, Columns) else [value] if isinstance(value, Vec) else []


def _mentions(terms: object) -> bool:
    if isinstance(terms, tuple):
        return any(map(_mentions, terms))
    return terms in (ANY_SOURCE, ANY_TAG)


# -- one execution -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Execution:
    """How an execution went: what receives got, and a report when not all ranks came to their ends."""

    engine: Engine
    report: MatchingReport | None
    items: dict[int, dict[int, _Items]] = field(default_factory=dict)


class ExecutionPlan:
    """What several executions of one trace share."""

    def __init__(self, trace: Trace, blocking: bool = False) -> None:
        """Raises UsageError if messages are unknown. `blocking`: as in `MatchActions`."""
        _check_known(trace)
        self.trace, origin = cut_down(trace)
        self._keep = origin
        scopes = Scopes(self.trace)
        self.traffic = Traffic(self.trace, scopes)
        self.actions = MatchActions(self.trace, scopes, self.traffic.certain_match, blocking)
        self.demand = self.traffic.demand(self.actions)
        unnamed = {id(event) for event in _unnamed_events(trace)}
        self.unnamed = {cut: event for cut, event in origin.items() if id(event) in unnamed}
        persistent = any(operation(trace.ops[event.op].name).flow_later for event in self.unnamed.values())
        self.starts = {
            cut: event for cut, event in origin.items() if persistent and trace.ops[event.op].name in STARTING
        }

    def certain(self) -> dict[int, dict[int, _Items]]:
        """For the event nodes whose senders are certain on every rank: what each rank's receives get."""
        result: dict[int, dict[int, _Items]] = {key: {} for key in self.unnamed}
        for rank in self.trace.ranks:
            for event, times in executions_of(self.trace, rank):
                if id(event) not in result:
                    continue
                items = self._certain(event, rank, times)
                if items is None:
                    del result[id(event)]
                else:
                    result[id(event)][rank] = items
        return result

    def _certain(self, event: Event, rank: int, times: int) -> _Items | None:
        items: _Items = []
        for call, n in distinct_calls(self.trace, event, rank, times):
            action = self.actions.of(call)
            slot = Slot(action.named)
            if (receive := action.receive) is not None:
                if receive.source == ANY_SOURCE or receive.tag == ANY_TAG or receive.cancellable:
                    return None
                slot.fill(receive.source, receive.tag)
            items.append(slot if n == 1 else Repeated((slot,), n))
        return items

    def execute(
        self,
        policy: SenderPolicy,
        synchronous: bool,
        recorded: frozenset[int] = frozenset(),
        polls_wait: bool = True,
        keeps_senders: bool = False,
    ) -> Execution:
        """Execute the trace once; it always ends. Arguments are those of `Engine`."""
        spare = self.traffic.spare(self.actions)
        quotas = {box: Quota(messages, receives) for box, messages, receives in self.demand}
        script = Script(self.trace)
        engine = Engine(
            script, self.actions, spare, quotas, policy, synchronous, recorded, polls_wait, keeps_senders
        )
        try:
            if not engine.run():
                return Execution(engine, diagnose(engine))
        except CollectiveMismatchError as error:
            return Execution(engine, mismatch(self.trace, error))
        items: dict[int, dict[int, _Items]] = {key: {} for key in recorded}
        for rank, actor in engine.actors.items():
            for key, slots in actor.found.items():
                items[key][rank] = slots
        return Execution(engine, None, items)


def _execute(plan: ExecutionPlan, recorded: frozenset[int]) -> dict[int, dict[int, _Items]]:
    report, steps = None, 0
    for policy, synchronous, keeps_senders in _attempts(bool(plan.starts)):
        execution = plan.execute(policy, synchronous, recorded, keeps_senders=keeps_senders)
        if execution.report is None:
            return execution.items
        if report is None and not synchronous and not keeps_senders:
            report = execution.report
        steps += execution.engine.steps
        if steps > MAX_STEPS and report is not None:
            break
    assert report is not None
    raise MatchingError(report)


def _attempts(persistent: bool) -> Iterator[tuple[SenderPolicy, bool, bool]]:
    """Ways to execute, best first: a policy, whether sends wait for their receives, and `keeps_senders`.

    A language may have one sender for a persistent receive, so that is tried first.
    """
    for keeps_senders in (True, False) if persistent else (False,):
        yield CAREFUL, True, keeps_senders
        for policy in (CAREFUL, FAIR, IN_TURNS, LOWEST, HIGHEST):
            yield policy, False, keeps_senders
    for seed in range(MAX_RANDOM_POLICIES):
        yield make_shuffled(seed), False, False


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


# -- writing -----------------------------------------------------------------------------------------------


def _resolve(trace: Trace, event: Event, items: dict[int, _Items]) -> Event:
    op, params = trace.ops[event.op], list(event.params)
    at = op.index("source")
    if at is not None and items and (_is_open(event, at) or _is_cancelled(items)):
        rows = {rank: row(slots, lambda slot: slot.peer) for rank, slots in items.items()}
        params[at] = pack_peers(rows, {rank: _place(slots) for rank, slots in items.items()})
    at = op.index("recvtag" if op.index("recvtag") is not None else "tag")
    if at is not None and _is_open(event, at) and items:
        params[at] = gather_rows({rank: row(slots, lambda slot: slot.tag) for rank, slots in items.items()})
    return replace(event, params=tuple(params))


def _is_cancelled(rows: dict[int, _Items]) -> bool:
    return any(slot.source == PROC_NULL for items in rows.values() for slot in _slots(items))


def _place(items: _Items) -> tuple[int, int] | None:
    """The receiver's number in the communicator and that one's size; None when there are several."""
    scopes = {id(slot.scope): slot.scope for slot in _slots(items)}
    if len(scopes) != 1 or (scope := next(iter(scopes.values()))) is None:
        return None
    return scope.comm.rank, max(len(scope.comm.peers), 1)


def _slots(items: AnySequence[Slot | Starts | Repeated]) -> Iterator[Slot]:
    for item in items:
        if isinstance(item, Slot):
            yield item
        elif isinstance(item, Repeated):
            yield from _slots(item.slots)


def _exchange_nodes(node: Node, resolved_events: dict[int, Event]) -> Node:
    if isinstance(node, Event):
        return resolved_events.get(id(node), node)
    return Sequence(node.repeat, tuple(_exchange_nodes(child, resolved_events) for child in node.nodes))
