"""Decide between formulas that fit all traces by the sizes of messages.

Where every receive of the traces has just the size of its message, the formulas of both sides have to agree
at any other size as well. Often only one of several formulas does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.errors import FormatError, FormulaError, LimitError
from scalatrace.extrap.instantiate.instantiate import Made, made_with_rivals
from scalatrace.formula import Cond, Expr
from scalatrace.operations import MESSAGES, Category, Flow, operation
from scalatrace.trace.consistency.messages import peer_of, tag_of
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.symbolic import ParamRule, Rule, SymbolicTrace, events
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.symbolic.field import Field, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

MAX_VISITS = 1 << 18
"""Events times ranks of a result whose messages are compared."""

MAX_STEPS = 1 << 14
"""Steps of the search for formulas that agree."""

OTHERS = ("Mrecv", "Imrecv", "Cancel")
"""Operations that receive what other calls have matched, or end receives."""

__all__ = ["decided_by_messages"]

Side = int
"""Index of a count parameter of a call site."""

Sides = Mapping[int, Mapping[str, Side]]
"""For each event rule, by its identity, the side of each of its parameters."""

Link = tuple[Side, Side]
"""A side that sends, and the side that receives its messages."""

Choice = tuple[Expr, Ints]
"""A formula, and the counts of all ranks with it."""

Decision = tuple[Cond, Expr, Expr]
"""The condition of a part, its formula, and the formula that takes its place."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """The messages of a link: senders, receivers, and the bytes of an element on either side."""

    senders: Ints
    receivers: Ints
    sent_size: Ints
    received_size: Ints

    def agree(self, sent: Ints, received: Ints) -> bool:
        """Return whether each message is as long as its receive."""
        sizes = sent[self.senders] * self.sent_size, received[self.receivers] * self.received_size
        return np.array_equal(*sizes)


@dataclass(frozen=True, slots=True)
class _SizeMessages:
    """Messages of one size of the grid.

    Attributes:
        links: those that one side sends and one receives.
        counts: of each side by rank.
        calling: the ranks that have a call of a side.
    """

    links: Mapping[Link, _Ends]
    counts: Mapping[Side, Ints]
    calling: Mapping[Side, Mask]

    def agree(self, link: Link) -> bool:
        """Return whether each message of a link is as long as its receive."""
        sender, receiver = link
        return self.links[link].agree(self.counts[sender], self.counts[receiver])

    def lengths(self, link: Link) -> set[int]:
        """Return the different counts of a link's messages."""
        return set(self.counts[link[0]][self.links[link].senders].tolist())


@dataclass(frozen=True, slots=True)
class _OpenSide:
    """A side with several possible formulas in one part of its field."""

    field: Field
    part: Part
    formulas: list[Expr]


def decided_by_messages(model: SymbolicTrace, grid: Grid, inputs: Mapping[str, int]) -> SymbolicTrace | None:
    """Return the model with those formulas, of all that fit the traces, whose messages agree on a grid.

    Returns:
        None if several formulas agree, or none, or if something else than counts of messages is not
        determined.
    """
    try:
        result, sides = made_with_rivals(model, grid, inputs), _sides(model)
        if len(result.events) * grid.nprocs > MAX_VISITS or not _are_plain(model):
            return None
        messages = _messages(result, sides)
        choices = _choices(model, result, sides, messages)
        if choices is None:
            return None
        seen = [
            _messages(made_with_rivals(model, Grid(dims, model.column_major), inputs_of_trace), sides)
            for dims, inputs_of_trace in model.seen
        ]
    except (FormulaError, FormatError, LimitError):
        return None
    links = {link: ends for link, ends in messages.links.items() if _is_evidence(link, seen)}
    chosen = _chosen(choices, links, messages.counts)
    if chosen is None:
        return None
    decisions = {side: (ways.part.condition, *pair) for side, (ways, pair) in chosen.items()}
    return replace(model, nodes=tuple(_with(decisions, sides, rule) for rule in model.nodes))


def _are_plain(model: SymbolicTrace) -> bool:
    """Return whether the calls that send and receive tell the messages."""
    names = [rule.op or "" for rule in events(model.nodes)]
    return not any(name in OTHERS or operation(name).category is Category.PERSISTENT for name in names)


def _is_evidence(link: Link, seen: Sequence[_SizeMessages]) -> bool:
    """Return whether the receives follow the lengths of the messages in the traces.

    One length everywhere may be that of a buffer that is long enough.
    """
    known = [messages for messages in seen if link in messages.links]
    lengths = set().union(*(messages.lengths(link) for messages in known))
    return len(known) > 1 and len(lengths) > 1 and all(messages.agree(link) for messages in known)


def _sides(model: SymbolicTrace) -> Sides:
    numbers: dict[Any, Side] = {}
    return {
        id(rule): {param.name: numbers.setdefault(_side(rule, param), len(numbers)) for param in rule.params}
        for rule in events(model.nodes)
    }


def _side(rule: Rule, param: ParamRule) -> Any:
    """What two events share if one call site, reached in several ways, has the same formulas in both."""
    parts = tuple((part.condition, part.shape, part.formulas) for part in param.field.parts)
    return rule.op, rule.stack[:1], param.name, parts


def _messages(result: Made, sides: Sides) -> _SizeMessages:
    """Return the messages of a trace whose sizes and peers do not change from call to call."""
    rule_of = {id(event): rule for rule, event in result.events}
    nprocs = result.trace.nprocs
    counts: dict[Side, Ints] = {}
    calling: dict[Side, Mask] = {}
    by_key: tuple[_ByKey, _ByKey] = {}, {}
    wild: set[tuple[int, int]] = set()
    changing: set[Side] = set()
    for rank in result.trace.ranks:
        for event, times in executions_of(result.trace, rank):
            rule = rule_of[id(event)]
            flows = _flows(rule)
            calls = list(counted_calls(result.trace, event, rank, times, _matters)) if flows else []
            for at, flow in flows:
                side = sides[id(rule)][flow.count]
                if len(calls) > 1:
                    changing.add(side)
                for call, _ in calls:
                    peer, tag = peer_of(call, flow), tag_of(call, ("sendtag", "recvtag")[at])
                    if peer == ANY_SOURCE or (at and tag == ANY_TAG):
                        wild.add((call.comm.family, rank))
                    elif peer is not None and (size := _element_size(call, flow)):
                        source, dest = (peer, rank) if at else (rank, peer)
                        by_key[at].setdefault((call.comm.family, source, dest, tag), {})[side] = size
                        counts.setdefault(side, np.zeros(nprocs, dtype=np.int64))[rank] = call[flow.count]
                        calling.setdefault(side, np.zeros(nprocs, dtype=bool))[rank] = True
    rows: dict[Link, list[tuple[int, int, int, int]]] = {}
    for key, senders in by_key[0].items():
        receivers = by_key[1].get(key, {})
        if len(senders) == len(receivers) == 1 and (key[0], key[2]) not in wild:
            (sender, sent), (receiver, received) = *senders.items(), *receivers.items()
            if not {sender, receiver} & changing:
                rows.setdefault((sender, receiver), []).append((key[1], key[2], sent, received))
    return _SizeMessages({link: _Ends(*np.array(row).T) for link, row in rows.items()}, counts, calling)


_ByKey = dict[tuple[int, int, int, int], dict[Side, int]]
"""By communicator family, source, destination and tag: who sends or receives, and bytes of an element."""


def _matters(op: str, name: str) -> bool:
    return True


def _flows(rule: Rule) -> list[tuple[int, Flow]]:
    """Return what a point-to-point call sends (0) and receives (1)."""
    row = operation(rule.op or "")
    if row.category not in MESSAGES:
        return []
    both = (0, row.sends), (1, row.recvs)
    return [(at, flow) for at, flow in both if flow is not None and flow.count and flow.times == "once"]


def _element_size(call: Call, flow: Flow) -> int:
    """Bytes of an element; 0: not known."""
    return int(getattr(call[flow.datatype], "size", 0)) if flow.datatype in call else 0


def _choices(
    model: SymbolicTrace, result: Made, sides: Sides, messages: _SizeMessages
) -> dict[Side, tuple[_OpenSide, list[Choice]]] | None:
    """The formulas that a count may have, those of other values only; None where something else is open."""
    formulas: dict[int, _OpenSide] = {}
    for field, part, error in result.rivals:
        alternatives = formulas.setdefault(id(field), _OpenSide(field, part, [error.formula]))
        if (
            alternatives.part is not part
            or alternatives.formulas[0] != error.formula
            or part.shape is not None
        ):
            return None
        alternatives.formulas.append(error.rival)
    if any(id(repeat) in formulas for repeat in _repeats(model.nodes)):
        return None
    ways: dict[Side, _OpenSide] = {}
    for rule, _ in result.events:
        for param in rule.params:
            if id(param.field) in formulas:
                side = sides[id(rule)][param.name]
                if side not in messages.counts:
                    return None
                alternatives = formulas[id(param.field)]
                ways.setdefault(side, _OpenSide(alternatives.field, alternatives.part, [])).formulas.extend(
                    alternatives.formulas
                )
    return {side: (way, list(_different(result, way, side, messages))) for side, way in ways.items()}


def _repeats(rules: Sequence[Rule]) -> Iterator[Field]:
    for rule in rules:
        yield rule.repeat
        yield from _repeats(rule.children)


def _different(result: Made, way: _OpenSide, side: Side, messages: _SizeMessages) -> Iterator[Choice]:
    """The formulas of a part that have values, each with its counts on all ranks; of equal ones the first."""
    everyone = np.ones(result.trace.nprocs, dtype=bool)
    of_part = next(mask for part, mask in result.ranks.divided(way.field, everyone) if part is way.part)
    mine = of_part & messages.calling[side]
    seen = set()
    for formula in dict.fromkeys(way.formulas):
        try:
            values = np.where(mine, result.ranks.over_ranks(formula), messages.counts[side])
        except FormulaError:
            continue
        if (key := values.tobytes()) not in seen:
            seen.add(key)
            yield formula, values


def _chosen(
    choices: Mapping[Side, tuple[_OpenSide, Sequence[Choice]]],
    links: Mapping[Link, _Ends],
    counts: Mapping[Side, Ints],
) -> dict[Side, tuple[_OpenSide, tuple[Expr, Expr]]] | None:
    """Return each side's first formula and the one that all messages agree with; None unless that is one."""

    def values(side: Side) -> list[Ints]:
        return [row for _, row in choices[side][1]] if side in choices else [counts[side]]

    allowed = {
        (sender, receiver): [
            (a, b)
            for a, sent in enumerate(values(sender))
            for b, received in enumerate(values(receiver))
            if ends.agree(sent, received)
        ]
        for (sender, receiver), ends in links.items()
        if sender in choices or receiver in choices
    }
    steps = 0

    def solutions(known: dict[Side, int]) -> Iterator[dict[Side, int]]:
        nonlocal steps
        steps += 1
        if steps > MAX_STEPS:
            raise LimitError("too many formulas fit the traces")
        left = [(link, pairs) for link, pairs in allowed.items() if not known.keys() >= set(link)]
        if not left:
            yield known
            return
        (sender, receiver), pairs = min(left, key=lambda link_pairs: len(_possible(link_pairs, known)))
        for a, b in _possible(((sender, receiver), pairs), known):
            further = {**known, sender: a, receiver: b}
            if all(_possible(link_pairs, further) for link_pairs in allowed.items()):
                yield from solutions(further)

    try:
        consistent = list(islice(solutions({}), 2))
    except LimitError:
        return None
    if len(consistent) != 1 or not consistent[0].keys() >= choices.keys():
        return None
    return {
        side: (way, (way.formulas[0], formulas[consistent[0][side]][0]))
        for side, (way, formulas) in choices.items()
    }


def _possible(
    link: tuple[Link, Sequence[tuple[int, int]]], known: Mapping[Side, int]
) -> list[tuple[int, int]]:
    """Return the pairs of choices that agree with those that are known."""
    (sender, receiver), pairs = link
    return [(a, b) for a, b in pairs if known.get(sender, a) == a and known.get(receiver, b) == b]


def _with(decisions: Mapping[Side, Decision], sides: Sides, rule: Rule) -> Rule:
    """Return the rule with the formulas that were decided on, which have no rivals."""
    if rule.op is None:
        return replace(rule, children=tuple(_with(decisions, sides, child) for child in rule.children))
    params = []
    for param in rule.params:
        if (decision := decisions.get(sides[id(rule)][param.name])) is not None:
            parts = tuple(_part(part, *decision) for part in param.field.parts)
            param = replace(param, field=replace(param.field, parts=parts))
        params.append(param)
    return replace(rule, params=tuple(params))


def _part(part: Part, condition: Cond, formula: Expr, other: Expr) -> Part:
    """Return the part of a condition with another formula in place of one."""
    if part.condition != condition or part.formulas is None:
        return part
    formulas = tuple(other if one == formula else one for one in part.formulas)
    return replace(part, formulas=formulas, rivals=tuple(pair for pair in part.rivals if pair[0] != formula))
