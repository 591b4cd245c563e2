"""Endpoints of messages: the sends and receives of a model's events, with peer, tag and size as formulas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from scalatrace.escapes import clean
from scalatrace.extrap.proofs.places import PeerPlace, place_of
from scalatrace.extrap.proofs.prover import Prover
from scalatrace.extrap.proofs.values import (
    Loops,
    NumberedPeer,
    Unprovable,
    loops_of,
    positive,
    rename_variables,
)
from scalatrace.formula import (
    FALSE,
    TRUE,
    Cond,
    Const,
    Expr,
    Select,
    Special,
    Value,
    Var,
    add,
    all_of,
    choose,
    compare,
    mul,
    names_in,
    negate,
)
from scalatrace.formula import number as as_number
from scalatrace.formula.prove import Proved
from scalatrace.operations import MESSAGES, Category, Flow, operation
from scalatrace.trace.exchange.type_sizes import filled_template, symbolic_size
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import ParamRule, Rule, SymbolicTrace
from scalatrace.trace.symbolic.field import Part
from scalatrace.trace.symbolic.special_values import symbolic

NO_PEER = "PROC_NULL"
ANY_TAG = "ANY_TAG"

WORLD = 0
"""Family of events without a communicator."""

__all__ = ["Endpoint", "Path", "endpoints", "family_of_event", "paths", "site"]

Path = tuple[Rule, ...]
"""An event and the nodes around it, the outermost first."""


@dataclass(frozen=True, eq=False)
class Endpoint:
    """The sending or the receiving side of messages, of ranks whose peer follows one formula.

    Attributes:
        site: the call, in words.
        sends: whether it is the sending side.
        family: the communicator.
        loops: around the event.
        given: the ranks, and iterations, with such a peer.
        place: of the peer.
        tag: of the message; None: any.
        nbytes: sent, or room for them; None: unknown.
        reason: why they are unknown; "" where they were not recorded.
        varies: whether peer or tag depend on the iteration.
        in_peer_loop: whether it is one iteration of a loop over all peers, see `NumberedPeer`.
    """

    site: str
    sends: bool
    family: int
    loops: Loops
    given: Cond
    place: PeerPlace
    tag: Expr | None
    nbytes: Expr | None
    reason: str
    varies: bool
    in_peer_loop: bool = False

    @property
    def scope(self) -> tuple[int, ...]:
        """The loops within which it may have its partner."""
        return self.loops.scope

    def renamed(self, keep: Collection[str]) -> Endpoint:
        """Return the endpoint in another iteration: counters are renamed, except those to keep."""
        rows = self.loops.rows
        used = names_in(self.given, *self.ends(), *(e for row in rows for e in (row.trips, row.index)))
        used |= names_in() if self.nbytes is None else names_in(self.nbytes)
        by = rename_variables(used, keep)
        distance = self.place.distance and by.number(self.place.distance)
        return replace(
            self,
            loops=self.loops.replaced(by),
            given=by.condition(self.given),
            place=PeerPlace(tuple(map(by.number, self.place.coords)), distance),
            tag=self.tag and by.number(self.tag),
            nbytes=self.nbytes and by.number(self.nbytes),
        )

    def per_iteration(self) -> Expr:
        """Return its number of executions per iteration of the surrounding loops, or its own if it varies."""
        if self.varies:
            return choose(self.occurs_in_iteration(), Const(1), Const(0))
        return choose(self.occurs_in_iteration(), self.loops.repeat(), Const(0))

    def occurs_in_iteration(self) -> Cond:
        """Return the condition that it is executed in an iteration."""
        if self.varies:
            return all_of(self.given, self.loops.active())
        own = (positive(self.loops.repeat()),) if self.loops.own else ()
        return all_of(self.given, *(row.runs() for row in self.loops.around), *own)

    def per_run(self) -> Expr:
        """Return its number of executions in the whole run."""
        return choose(self.given, self.loops.times(), Const(0))

    def occurs_in_run(self) -> Cond:
        """Return the condition that it is executed in some iteration."""
        return all_of(self.given, *(positive(row.trips) for row in self.loops.rows))

    def has_execution(self, execution: Var) -> Cond:
        """Return the condition that execution number n exists."""
        return all_of(self.given, compare("<", execution, self.loops.times()))

    def ends(self) -> list[Expr]:
        """Return the expressions that identify its messages: the peer's place, and the tag."""
        return [*self.place.coords, *(e for e in (self.tag, self.place.distance) if e is not None)]

    @property
    def is_numbered(self) -> bool:
        """Return whether, of all counters, peer and tag depend on the execution number only."""
        used = names_in(self.given, *self.ends())
        return not used & {row.index.name for row in self.loops.rows if isinstance(row.index, Var)}


def paths(rules: Sequence[Rule], around: Path = ()) -> Iterator[Path]:
    """Yield all events of a model, each with its ancestors."""
    for rule in rules:
        path = (*around, rule)
        if rule.op is not None:
            yield path
        yield from paths(rule.children, path)


def site(rule: Rule) -> str:
    """Return a description of an event."""
    return " at ".join([f"MPI_{rule.op}", *map(clean, rule.stack[:1])])


def endpoints(model: SymbolicTrace, prover: Prover, path: Path) -> Iterator[Endpoint]:
    """Yield the endpoints of messages that an event sends and receives.

    Raises:
        Refuted, Unprovable: an event sends or receives something else, or nobody knows what.
    """
    rule = path[-1]
    assert rule.op is not None
    row = operation(rule.op)
    if row.category is Category.PERSISTENT or row.category is Category.START:
        raise Unprovable("persistent requests are not followed")
    if row.category not in MESSAGES and not row.is_matched_probe:
        return
    for sends, flow in ((True, row.sends), (False, row.recvs)):
        if flow is not None and _param(rule, flow.peer) is not None:
            yield from _endpoint(model, prover, path, sends, flow)


def _endpoint(
    model: SymbolicTrace, prover: Prover, path: Path, sends: bool, flow: Flow
) -> Iterator[Endpoint]:
    rule = path[-1]
    peer = _param(rule, flow.peer)
    assert peer is not None
    loops = loops_of(prover.scenario, path)
    family = family_of_event(rule)
    axes = model.families[family].slices
    tag = _param(rule, "sendtag" if sends else "recvtag") or _param(rule, "tag")
    encoding = peer.encoding or Encoding.ABSOLUTE
    for where, part in loops.cases(peer.field):
        for inner, case, value, varies, numbered in _peers(prover, loops, where, part):
            number, tag_varies = _tag(loops, tag, numbered) if tag is not None else (Const(0), False)
            nbytes, reason = _nbytes(loops, rule, flow, numbered)
            for cond, alternative in _alternatives(symbolic(value)):
                if isinstance(alternative, Special):
                    if alternative.name != NO_PEER:
                        raise Unprovable("it receives from any rank")
                    continue
                if axes is None:
                    raise Unprovable("its communicator is no slice of the grid")
                both = all_of(case, cond)
                runs = inner.active() if varies else all_of(*(positive(row.trips) for row in inner.rows))
                place = place_of(prover, all_of(both, runs), as_number(alternative), encoding, axes)
                changes = varies or tag_varies
                in_peer_loop = numbered is not None
                yield Endpoint(
                    site(rule),
                    sends,
                    family,
                    inner,
                    both,
                    place,
                    number,
                    nbytes,
                    reason,
                    changes,
                    in_peer_loop,
                )


def _peers(
    prover: Prover, loops: Loops, where: Cond, part: Part
) -> Iterator[tuple[Loops, Cond, Value, bool, NumberedPeer | None]]:
    """The peers of a part: one, or each of those that the innermost loop goes through as a whole.

    Each with the loops around it, its ranks, whether it depends on iterations, and its number in this loop.
    """
    row = loops.slots(part)
    if len(row) > 1 and loops.rows:
        trips = loops.rows[-1].trips
        active = all_of(where, positive(trips))
        if isinstance(prover.holds(active, compare("==", trips, Const(len(row)))), Proved):

            def is_elsewhere(cond: Cond) -> None:
                prover.require("no rank has rows of two lengths", all_of(active, cond), FALSE)

            for n, value in enumerate(row):
                yield loops.without_innermost(), active, value, False, NumberedPeer(n, len(row), is_elsewhere)
            return
    yield loops, where, *loops.value(part), None


def _alternatives(value: Value) -> Iterator[tuple[Cond, Value]]:
    match value:
        case Select(cond, then, otherwise):
            for more, one in _alternatives(then):
                yield all_of(cond, more), one
            for more, one in _alternatives(otherwise):
                yield all_of(negate(cond), more), one
        case _:
            yield TRUE, value


def _param(rule: Rule, name: str) -> ParamRule | None:
    return next((param for param in rule.params if param.name == name), None)


def family_of_event(rule: Rule) -> int:
    """Return the communicator of an event, the same on all ranks. Raises Unprovable."""
    comm = _param(rule, "comm")
    if comm is None:
        return WORLD
    first = comm.field.parts[0]
    if len(comm.field.parts) == 1 and first.shape is None and first.formulas:
        (family,) = first.formulas
        if isinstance(family, Const) and family.value >= 0:
            return family.value
    raise Unprovable("its communicator differs from rank to rank or from call to call")


def _tag(loops: Loops, rule: ParamRule, numbered: NumberedPeer | None) -> tuple[Expr | None, bool]:
    """Return the tag, None for any, and whether it depends on iterations."""
    parts = [part for part in rule.field.parts if part.formulas is not None]
    wild = [part.shape is None and _is_any(part.formulas[0]) for part in parts if part.formulas]
    if all(wild):
        return None, False
    if any(_is_any(value) for part in parts for value in part.formulas or ()):
        raise Unprovable("only some of its messages may have any tag")
    return loops.number(rule.field, numbered)


def _is_any(value: Value) -> bool:
    """Return whether a tag may be any."""
    match symbolic(value):
        case Select(_, then, otherwise):
            return _is_any(then) or _is_any(otherwise)
        case one:
            return one == Special(ANY_TAG)


def _nbytes(loops: Loops, rule: Rule, flow: Flow, numbered: NumberedPeer | None) -> tuple[Expr | None, str]:
    """Return the bytes of one execution; None when nothing is known of them, and why."""
    count, datatype = _param(rule, flow.count), _param(rule, flow.datatype)
    if operation(rule.op or "").is_matched_probe:
        return None, "its message is received by a later call"
    if count is None or datatype is None:
        return None, ""
    size = _size(datatype.field.parts[0])
    if size is None or len(datatype.field.parts) > 1 or flow.times != "once":
        return None, "its datatype is not one and the same"
    try:
        elements, _ = loops.number(count.field, numbered)
    except Unprovable as error:
        return None, f"of its count, {error}"
    return mul(elements, loops.scenario.here.number(size)), ""


def _size(part: Part) -> Expr | None:
    """Return the size of one datatype, the same in all executions, in bytes."""
    match part.shape:
        case (None, ((None, None, _),)) if part.formulas:
            return as_number(part.formulas[1])
    pieces = filled_template(part.shape, part.formulas or (), as_number)
    return None if pieces is None else symbolic_size(pieces, Const, mul, add)
