"""Proofs that each message sent is received, and has room, whatever the sizes.

For every half, the rank's own place gives that of its peer. Between the two ranks, equally many messages with
one tag must be sent and received: in every iteration where peers or tags depend on it, else in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scalatrace.extrap.proofs.halves import Half
from scalatrace.extrap.proofs.places import Place, is_same
from scalatrace.extrap.proofs.prover import Prover, Refuted
from scalatrace.extrap.proofs.values import Unprovable
from scalatrace.formula import FALSE, TRUE, Cond, Const, Expr, Var, add, all_of, choose, compare, names_in
from scalatrace.formula.substitute import Substitution

__all__ = ["Messages", "same_tag"]


@dataclass(frozen=True, eq=False)
class _Match:
    """A half that may belong to the messages of another.

    Attributes:
        half: in terms of its own rank.
        same: when it has the same ends and tag, on the rank of the other half.
        at: its rank's place.
    """

    half: Half
    same: Cond
    at: Substitution

    def times(self) -> Expr:
        """How often it happens in one iteration."""
        return choose(self.same, self.at.number(self.half.times()), Const(0))

    def happens(self) -> Cond:
        """That it happens in an iteration."""
        return all_of(self.same, self.at.condition(self.half.happens()))


class Messages:
    """The halves of a model's messages on one communicator, in the order of the program."""

    def __init__(self, prover: Prover, halves: Sequence[Half]) -> None:
        self.prover, self.halves = prover, halves
        self._by_scope: dict[tuple[int, ...], list[Half]] = {}
        for half in halves:
            self._by_scope.setdefault(half.scope, []).append(half)
        self._in_order = True

    def require_partners(self, half: Half) -> None:
        """Prove that a half has its partner. Raises Refuted or Unprovable."""
        try:
            self._require_in_iteration(half)
        except (Refuted, Unprovable) as error:
            self._in_order = False
            if not half.is_numbered:
                raise
            try:
                self._require_by_number(half) if half.varies else self._require_in_all(half)
            except Unprovable:
                raise error from None

    def _require_in_iteration(self, half: Half) -> None:
        """Prove that what happens in an iteration has its partners in the same iteration of the same loop."""
        here, there = self._matches(half, self._by_scope[half.scope])
        goal = compare("==", _sum(one.times() for one in here), _sum(one.times() for one in there))
        self.prover.require(_as_often(half), half.happens(), goal)
        at = self.prover.scenario.at(half.place.coords)
        for row in half.loops.around if half.place.distance is None else ():
            if not row.is_condition:
                same = compare("==", row.trips, at.number(row.trips))
                self.prover.require("its loops run as often there", half.happens(), same)

    def _require_in_all(self, half: Half) -> None:
        """Prove that as many are sent as are received in the whole program."""
        here, there = self._matches(half, [one for one in self.halves if not one.varies])
        totals = (
            _sum(choose(one.same, one.at.number(one.half.total()), Const(0)) for one in side)
            for side in (here, there)
        )
        self.prover.require(_as_often(half), half.happens_at_all(), compare("==", *totals))

    def _require_by_number(self, half: Half) -> None:
        """Prove that its n-th execution has its partner in the n-th one of another half, for all n."""
        here, there = self._matches(half, [one for one in self.halves if one.is_numbered])
        number = Var("i")
        totals = (
            _sum(
                choose(all_of(one.same, one.at.condition(one.half.has(number))), Const(1), Const(0))
                for one in side
            )
            for side in (here, there)
        )
        self.prover.require(_as_often(half), half.has(number), compare("==", *totals))

    def require_room(self, half: Half) -> None:
        """Prove that a sent message is not longer than the buffer of its receive.

        That is the receive with as many earlier ones in the iteration, where all partners are in the same
        iteration; else any.

        Raises:
            Refuted, Unprovable: it may be longer.
        """
        if not half.sends:
            return
        here, there = self._matches(half, self._by_scope[half.scope] if self._in_order else self.halves)
        sent = [one for one in here if one.half is half] if self._in_order else here
        for mine in sent:
            for its in there:
                where = all_of(half.happens(), mine.happens(), its.happens())
                if self._in_order and len(here) + len(there) > 2:
                    where = all_of(where, *_overlap(_before(mine, here), mine, _before(its, there), its))
                self._require_fits(where, mine.half, its)

    def _require_fits(self, where: Cond, message: Half, receive: _Match) -> None:
        nbytes, room = message.nbytes, receive.half.nbytes
        if nbytes is None or room is None:
            if reason := message.reason or receive.half.reason:
                raise Unprovable(reason)
            return  # not recorded
        room = receive.at.number(room)
        if nbytes != room:
            self.prover.require("its receive has room", where, compare("<=", nbytes, room))

    def _matches(self, half: Half, others: Sequence[Half]) -> tuple[list[_Match], list[_Match]]:
        """The halves on the own rank that go the same way, and those of the peer that come back."""
        here, there = [], []
        at, nowhere = self.prover.scenario.at(half.place.coords), Substitution({})
        wild = _any_tag(others)
        for one in others:
            if one.sends == half.sends:
                cond = TRUE if wild else same_tag(one.tag, half.tag)
                if cond != FALSE:
                    here.append(_Match(one, all_of(cond, is_same(one.place, half.place)), nowhere))
                continue
            if half.place.distance is not None:
                self._require_same_everywhere(one)
            cond = TRUE if wild else same_tag(one.tag and at.number(one.tag), half.tag)
            if cond != FALSE:
                there.append(_Match(one, all_of(cond, self._is_back(one.place, half.place, at)), at))
        return here, there

    def _require_same_everywhere(self, half: Half) -> None:
        """Raise Unprovable when something about a half differs from rank to rank."""
        trips = (row.trips for row in half.loops.rows)
        known = () if half.nbytes is None else (half.nbytes,)
        if names_in(half.given, half.tag or Const(0), *trips, *known) & set(self.prover.scenario.grid.coords):
            raise Unprovable("its partner at an XOR distance does other things than itself")

    def _is_back(self, place: Place, half: Place, at: Substitution) -> Cond:
        """Whether the peer of a rank's peer is the rank itself."""
        if half.distance is not None or place.distance is not None:
            return is_same(place, half)
        back = Place(tuple(map(at.number, place.coords)))
        return is_same(back, Place(self.prover.scenario.coords))


def _as_often(half: Half) -> str:
    return "it is received as often" if half.sends else "it is sent as often"


def _sum(numbers: Iterable[Expr]) -> Expr:
    result: Expr = Const(0)
    for number in numbers:
        result = add(result, number)
    return result


def _before(match: _Match, others: Sequence[_Match]) -> Expr:
    """How many of some messages are earlier in an iteration."""
    return _sum(one.times() for one in others[: others.index(match)])


def _overlap(first: Expr, mine: _Match, second: Expr, its: _Match) -> tuple[Cond, Cond]:
    """That some executions of two nodes have the same number, counted from so many earlier ones."""
    return (
        compare("<", first, add(second, its.times())),
        compare("<", second, add(first, mine.times())),
    )


def _any_tag(halves: Sequence[Half]) -> bool:
    """Whether receives take any tag, so that tags do not matter. Raises Unprovable when only some do."""
    wild = [half.tag is None for half in halves if not half.sends]
    if any(wild) and not all(wild):
        raise Unprovable("some receives take any tag")
    return any(wild)


def same_tag(a: Expr | None, b: Expr | None) -> Cond:
    """Whether two tags, neither of which is any, are one."""
    assert a is not None
    assert b is not None
    return FALSE if isinstance(a, Const) and isinstance(b, Const) and a != b else compare("==", a, b)
