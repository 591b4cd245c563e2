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

from scalatrace.errors import FormatError, FormulaError, LimitError
from scalatrace.extrap.grid.model import Model, ParamRule, Rule, events
from scalatrace.extrap.instantiate.instantiate import Made, made_with_rivals
from scalatrace.formula import Expr
from scalatrace.operations import Category, Flow, operation
from scalatrace.trace.consistency.partners import peer_of, tag_of
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.symbolic.field import Field, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

Ints = np.ndarray[Any, np.dtype[np.int64]]

MAX_VISITS = 1 << 18
"""Events times ranks whose messages are looked at."""

MAX_STEPS = 1 << 14
"""Steps of the search for formulas that agree."""

__all__ = ["decided_by_messages"]

Side = int
"""The number of a parameter of a call site that counts what is sent or received."""

Sides = Mapping[int, Mapping[str, Side]]
"""For each event rule, by its identity, the side of each of its parameters."""

Choice = tuple[Expr, Ints]
"""A formula and its value on each rank."""


@dataclass(frozen=True, slots=True)
class _Link:
    """The messages between two sides: senders, receivers, and the bytes of an element on either side."""

    senders: Ints
    receivers: Ints
    sent_size: Ints
    received_size: Ints

    def agrees(self, sent: Ints, received: Ints) -> bool:
        """Whether each message is as long as its receive."""
        sizes = sent[self.senders] * self.sent_size, received[self.receivers] * self.received_size
        return np.array_equal(*sizes)


@dataclass(frozen=True, slots=True)
class _Messages:
    """Messages of one size that one side sends and one receives, and the counts of each side by rank."""

    links: Mapping[tuple[Side, Side], _Link]
    counts: Mapping[Side, Ints]

    def agreeing(self) -> Iterator[tuple[Side, Side]]:
        """The sides between which each message is as long as its receive."""
        for (sender, receiver), link in self.links.items():
            if link.agrees(self.counts[sender], self.counts[receiver]):
                yield sender, receiver


def decided_by_messages(model: Model, grid: Grid, inputs: Mapping[str, int]) -> Model | None:
    """The model with those formulas, of the ones that fit all traces, of which messages agree on a grid.

    Returns:
        None if they leave a choice, or something else than counts of messages is not determined.
    """
    try:
        made, sides = made_with_rivals(model, grid, inputs), _sides(model)
        if len(made.events) * grid.nprocs > MAX_VISITS:
            return None
        messages = _messages(made, sides)
        choices = _choices(model, made, sides, messages.counts)
        if choices is None:
            return None
        agreeing: set[tuple[Side, Side]] = set()
        failing: set[tuple[Side, Side]] = set()
        for dims, own in model.seen:
            there = _messages(made_with_rivals(model, Grid(dims, model.column_major), own), sides)
            agreeing.update(found := set(there.agreeing()))
            failing.update(there.links.keys() - found)
    except (FormulaError, FormatError, LimitError):
        return None
    links = {both: link for both, link in messages.links.items() if both in agreeing - failing}
    chosen = _chosen(choices, links, messages.counts)
    if chosen is None:
        return None
    return replace(model, nodes=tuple(_with(chosen, sides, rule) for rule in model.nodes))


def _sides(model: Model) -> Sides:
    numbers: dict[Any, Side] = {}
    return {
        id(rule): {param.name: numbers.setdefault(_side(rule, param), len(numbers)) for param in rule.params}
        for rule in events(model.nodes)
    }


def _side(rule: Rule, param: ParamRule) -> Any:
    """What two events share if one call site, reached in several ways, has the same formulas in both."""
    parts = tuple((part.condition, part.shape, part.formulas) for part in param.field.parts)
    return rule.op, rule.stack[:1], param.name, parts


def _messages(made: Made, sides: Sides) -> _Messages:
    """The messages of a trace whose sizes and peers do not change from call to call."""
    rule_of = {id(event): rule for rule, event in made.events}
    counts: dict[Side, Ints] = {}
    ends: tuple[_Ends, _Ends] = {}, {}
    wild: set[tuple[int, int]] = set()
    changing: set[Side] = set()
    for rank in made.trace.ranks:
        for event, times in executions_of(made.trace, rank):
            rule = rule_of[id(event)]
            flows = _flows(rule)
            calls = list(counted_calls(made.trace, event, rank, times, _matters)) if flows else []
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
                        key = call.comm.family, source, dest, tag
                        ends[at].setdefault(key, {})[side] = size
                        column = counts.setdefault(side, np.zeros(made.trace.nprocs, dtype=np.int64))
                        column[rank] = call[flow.count]
    rows: dict[tuple[Side, Side], list[tuple[int, int, int, int]]] = {}
    for key, senders in ends[0].items():
        receivers = ends[1].get(key, {})
        if len(senders) == len(receivers) == 1 and (key[0], key[2]) not in wild:
            (sender, sent), (receiver, received) = *senders.items(), *receivers.items()
            if not {sender, receiver} & changing:
                rows.setdefault((sender, receiver), []).append((key[1], key[2], sent, received))
    return _Messages({sides: _Link(*np.array(found).T) for sides, found in rows.items()}, counts)


_Ends = dict[tuple[int, int, int, int], dict[Side, int]]
"""By communicator family, source, destination and tag: who sends or receives, and bytes of an element."""


def _matters(op: str, name: str) -> bool:
    return True


def _flows(rule: Rule) -> list[tuple[int, Flow]]:
    """What a point-to-point call sends (0) and receives (1)."""
    row = operation(rule.op or "")
    if row.category not in (Category.SEND, Category.RECV, Category.SENDRECV):
        return []
    both = (0, row.sends), (1, row.recvs)
    return [(at, flow) for at, flow in both if flow is not None and flow.count and flow.times == "once"]


def _element_size(call: Call, flow: Flow) -> int:
    """Bytes of an element; 0: not known."""
    return int(getattr(call[flow.datatype], "size", 0)) if flow.datatype in call else 0


def _choices(
    model: Model, made: Made, sides: Sides, counts: Mapping[Side, Ints]
) -> dict[Side, list[Choice]] | None:
    """The formulas that a count may have, those of other values only; None where something else is open."""
    formulas: dict[int, tuple[Field, Part, list[Expr]]] = {}
    for field, part, error in made.rivals:
        _, known, found = formulas.setdefault(id(field), (field, part, [error.formula]))
        if known is not part or found[0] != error.formula or part.shape is not None:
            return None
        found.append(error.rival)
    open_loops = any(id(repeat) in formulas for repeat in _repeats(model.nodes))
    ways: dict[Side, tuple[Field, Part, list[Expr]]] = {}
    for rule, _ in made.events:
        for param in rule.params:
            if id(param.field) not in formulas:
                continue
            side = sides[id(rule)][param.name]
            if side not in counts or open_loops:
                return None
            field, part, found = formulas[id(param.field)]
            ways.setdefault(side, (field, part, []))[2].extend(found)
    return {side: list(_different(made, *way, counts[side])) for side, way in ways.items()}


def _repeats(rules: Sequence[Rule]) -> Iterator[Field]:
    for rule in rules:
        yield rule.repeat
        yield from _repeats(rule.children)


def _different(
    made: Made, field: Field, part: Part, formulas: Sequence[Expr], counts: Ints
) -> Iterator[Choice]:
    """The formulas of a part that have values, each with its counts on all ranks; of equal ones the first."""
    everyone = np.ones(made.trace.nprocs, dtype=bool)
    mine = next(mask for one, mask in made.ranks.divided(field, everyone) if one is part)
    seen = set()
    for formula in dict.fromkeys(formulas):
        try:
            values = np.where(mine & (counts != 0), made.ranks.over_ranks(formula), counts)
        except FormulaError:
            continue
        if (key := values.tobytes()) not in seen:
            seen.add(key)
            yield formula, values


def _chosen(
    choices: Mapping[Side, Sequence[Choice]],
    links: Mapping[tuple[Side, Side], _Link],
    counts: Mapping[Side, Ints],
) -> dict[Side, tuple[Expr, Expr]] | None:
    """Each side's first formula with the one that all messages agree with; None unless it is the only one."""
    allowed = {
        (sender, receiver): [
            (a, b)
            for a, sent in enumerate(_values(choices, counts, sender))
            for b, received in enumerate(_values(choices, counts, receiver))
            if link.agrees(sent, received)
        ]
        for (sender, receiver), link in links.items()
        if sender in choices or receiver in choices
    }
    steps = 0

    def solutions(known: dict[Side, int]) -> Iterator[dict[Side, int]]:
        nonlocal steps
        steps += 1
        open_links = [(sides, pairs) for sides, pairs in allowed.items() if not known.keys() >= set(sides)]
        if steps > MAX_STEPS or not open_links:
            yield known
            return
        (sender, receiver), pairs = min(open_links, key=lambda link: len(_possible(link, known)))
        for a, b in _possible(((sender, receiver), pairs), known):
            further = {**known, sender: a, receiver: b}
            if all(_possible(link, further) for link in allowed.items()):
                yield from solutions(further)

    found = list(islice(solutions({}), 2))
    if len(found) != 1 or not found[0].keys() >= choices.keys():
        return None
    return {side: (ways[0][0], ways[found[0][side]][0]) for side, ways in choices.items()}


def _values(
    choices: Mapping[Side, Sequence[Choice]], counts: Mapping[Side, Ints], side: Side
) -> Iterator[Ints]:
    yield from (values for _, values in choices[side]) if side in choices else [counts[side]]


def _possible(
    link: tuple[tuple[Side, Side], Sequence[tuple[int, int]]], known: Mapping[Side, int]
) -> list[tuple[int, int]]:
    """The pairs of choices that agree with those that are known."""
    (sender, receiver), pairs = link
    return [(a, b) for a, b in pairs if known.get(sender, a) == a and known.get(receiver, b) == b]


def _with(chosen: Mapping[Side, tuple[Expr, Expr]], sides: Sides, rule: Rule) -> Rule:
    """The rule with the chosen formulas, which have no rivals."""
    if rule.op is None:
        return replace(rule, children=tuple(_with(chosen, sides, child) for child in rule.children))
    params = []
    for param in rule.params:
        if (pair := chosen.get(sides[id(rule)][param.name])) is not None:
            parts = tuple(_part(part, *pair) for part in param.field.parts)
            param = replace(param, field=replace(param.field, parts=parts))
        params.append(param)
    return replace(rule, params=tuple(params))


def _part(part: Part, formula: Expr, other: Expr) -> Part:
    """The part with another formula in place of one."""
    if part.formulas is None or formula not in part.formulas:
        return part
    formulas = tuple(other if one == formula else one for one in part.formulas)
    return replace(part, formulas=formulas, rivals=tuple(pair for pair in part.rivals if pair[0] != formula))
