"""Whether every collective node of a trace holds all members of its communicators, in every iteration.

Costs O(nodes): the repeats and the communicator of a node, and of what stands around it, say who is there
together (their groups of ranks); calls are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence

from scalatrace.codegen.matching.execution.scopes import NULL, SELF, WORLD, stream_parameter
from scalatrace.operations import is_collective
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, Summary, Value
from scalatrace.trace.model.nodes import Event, Node, Peer, named_ranks
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED, Vec

__all__ = ["misaligned"]

Classes = list[RankList]
"""Disjoint sets of ranks, each of which does the same throughout."""


def misaligned(trace: Trace) -> Iterator[Event]:
    """The collective nodes in which members of a communicator are missing, in some iteration or in all."""
    collective = {i for i, op in enumerate(trace.ops) if is_collective(op.name)}
    return _below(trace, trace.nodes, trace.ranks, [], collective)


def _below(
    trace: Trace, nodes: AnySequence[Node], ranks: RankList, around: list[Classes], collective: set[int]
) -> Iterator[Event]:
    for node in nodes:
        if node.repeat == Vec(0):  # what never runs has no parameters
            continue
        named = named_ranks(node.repeat)
        here = ranks if named is None else ranks & named
        classes = [*around, *_classes(node.repeat)]
        if not isinstance(node, Event):
            yield from _below(trace, node.nodes, here, classes, collective)
        elif node.op in collective and len(here) and not _is_whole(trace, node, here, classes):
            yield node


def _is_whole(trace: Trace, event: Event, ranks: RankList, around: list[Classes]) -> bool:
    op = trace.ops[event.op]
    stream, position = stream_parameter(op), op.position(Kind.COMM)
    comm: Value = Vec(WORLD) if position is None else _value(event, position)
    classes = [*around, *_classes(comm)]
    if stream and (at := op.index(stream)) is not None:
        classes += _classes(_value(event, at))
    return all(
        members.isdisjoint(ranks) or (members <= ranks and _together(members, classes))
        for family in _distinct(comm)
        for members in _instances(trace, family)
    )


def _value(event: Event, position: int) -> Value:
    param = event.params[position]
    return param.value if isinstance(param, Peer) else param


def _together(members: RankList, classes: list[Classes]) -> bool:
    return all(any(members <= some for some in part) for part in classes)


def _classes(value: Value) -> list[Classes]:
    """Who has equal values; nothing when all have."""
    if isinstance(value, Groups):
        return [[ranks for ranks, _ in value.groups]]
    if isinstance(value, Columns):
        by_value: dict[int | None, list[int]] = {}
        for rank in value.ranks:
            by_value.setdefault(value.value(rank), []).append(rank)
        return [[RankList(ranks) for ranks in by_value.values()]]
    return []


def _distinct(value: Value) -> set[int]:
    if isinstance(value, Summary):
        return {WORLD}
    assert not isinstance(value, Formulas)  # they were written out
    vecs = (
        [vec for _, vec in value.groups]
        if isinstance(value, Groups)
        else [value.vec]
        if isinstance(value, Columns)
        else [value]
    )
    return {term for vec in vecs for term in _ints(vec.terms)}


def _ints(terms: object) -> Iterator[int]:
    """The values in terms; one that rises with its turns stands for all of those."""
    if isinstance(terms, int):
        yield terms
    elif isinstance(terms, tuple):
        for term in terms:
            if isinstance(term, tuple) and term[1]:
                yield from Vec((term,)).first(Vec((term,)).length or 1)
            else:
                yield from _ints(term[2:] if isinstance(term, tuple) else term)


def _instances(trace: Trace, family: int) -> list[RankList]:
    """The members in the trace of each communicator of a family."""
    if family in (SELF, NULL):
        return []
    layout = trace.layout(family)
    remote = layout.remote or [()] * len(layout.groups)
    everyone = [{*near, *far} - {UNDEFINED} for near, far in zip(layout.groups, remote, strict=True)]
    return [RankList(members) & trace.ranks for members in everyone]
