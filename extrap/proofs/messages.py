"""Proofs that each message is received in a large enough buffer, for all sizes.

For every half, the rank's own place gives that of its peer. Between the two ranks, equally many messages with
one tag must be sent and received: in each iteration of a loop, or in all, or at each number of an execution.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scalatrace.errors import FormulaError
from scalatrace.extrap.proofs.halves import Half
from scalatrace.extrap.proofs.places import PeerPlace, is_same
from scalatrace.extrap.proofs.prover import Prover, Refuted
from scalatrace.extrap.proofs.values import ITERATION, OWN, Unprovable
from scalatrace.formula import FALSE, TRUE, Cond, Const, Expr, Var, add, all_of, choose, compare, names_in
from scalatrace.formula.rewrite import Substitution

OWN_ITERATION = f"{ITERATION}{OWN}"
"""The counter of an event's own repeat."""

__all__ = ["FamilyMessages", "MessageGroup"]


@dataclass(frozen=True, eq=False)
class _Match:
    """A half that may be the counterpart of another.

    Attributes:
        half: in terms of its own rank.
        same: when it has the same ends and tag, on the rank of the other half.
        at: its rank's place.
    """

    half: Half
    same: Cond
    at: Substitution

    def times(self) -> Expr:
        """Return how often it happens in one iteration."""
        return choose(self.same, self.at.number(self.half.times()), Const(0))

    def happens(self) -> Cond:
        """Return the condition that it happens in an iteration."""
        return all_of(self.same, self.at.condition(self.half.happens()))


class FamilyMessages:
    """The halves of a model's messages on one communicator, in the order of the program."""

    def __init__(self, prover: Prover, halves: Sequence[Half]) -> None:
        self.groups = [MessageGroup(prover, group) for group in _apart(halves)]

    def group_of(self, half: Half) -> MessageGroup:
        """Return the halves that contain the partners of a half."""
        return next(group for group in self.groups if half in group.halves)


class MessageGroup:
    """Halves whose messages may have one tag. All are proved in one way, so that none counts twice."""

    def __init__(self, prover: Prover, halves: Sequence[Half]) -> None:
        self.prover, self.halves = prover, halves
        self._errors: dict[Half, Exception] | None = None
        self._sections: Mapping[Half, object] | None = _sections(halves)

    def require_partners(self, half: Half) -> None:
        """Prove that a half has its partner. Raises Refuted, Unprovable or FormulaError."""
        if self._errors is None:
            self._errors = self._tried(self._require_in_section, self.halves)
            if self._errors:
                self._sections = None
                self._errors = self._in_other_ways(self._errors)
        if half in self._errors:
            raise self._errors[half]

    def _tried(self, require: Callable[[Half], None], halves: Iterable[Half]) -> dict[Half, Exception]:
        """Return the halves that have no proof, with the reason."""
        found: dict[Half, Exception] = {}
        for half in halves:
            try:
                self.prover.require_time()
                require(half)
            except (Refuted, Unprovable, FormulaError) as error:
                found[half] = error
        return found

    def _in_other_ways(self, errors: Mapping[Half, Exception]) -> dict[Half, Exception]:
        """Try as `_tried` if some halves have their partners in another section of an iteration."""
        failures = self._tried(self._require_in_iteration, self.halves)
        if not failures:
            return {}
        if all(not half.varies for half in self.halves):
            failures = self._tried(self._require_in_all, self.halves)
        elif all(half.is_numbered for half in self.halves):
            failures = self._tried(self._require_by_number, self.halves)
        else:
            failures = dict(errors)
        if not failures:
            return {}
        first = next(iter(errors))
        unproved = Unprovable(f"what may have the same tag is not proved ({first.site}: {errors[first]})")
        return {half: errors.get(half, unproved) for half in self.halves}

    def _require_in_section(self, half: Half) -> None:
        """As `_require_in_iteration`, between the same loops within it."""
        self._require_among(half, self._with_section(half))

    def _require_in_iteration(self, half: Half) -> None:
        """Prove that what happens in an iteration has its partners in the same iteration of the same loop."""
        self._require_among(half, [one for one in self.halves if one.scope == half.scope])

    def _require_among(self, half: Half, candidates: Sequence[Half]) -> None:
        here, there = self._matches(half, candidates)
        numbered = any("i" in names_in(match.half.given, *match.half.ends()) for match in (*here, *there))
        if numbered and not _is_in_step(half, [*here, *there]):
            raise Unprovable("its peer or tag depends on the number of the call")
        goal = compare("==", _sum(match.times() for match in here), _sum(match.times() for match in there))
        self.prover.require(_as_often(half), half.happens(), goal)
        at = self.prover.scenario.at(half.place.coords)
        for row in half.loops.around if half.place.distance is None else ():
            if not row.is_condition:
                same = compare("==", row.trips, at.number(row.trips))
                self.prover.require("its loops run as often there", half.happens(), same)

    def _require_in_all(self, half: Half) -> None:
        """Prove that as many are sent as are received in the whole program."""
        here, there = self._matches(half, self.halves)
        totals = (
            _sum(choose(one.same, one.at.number(one.half.total()), Const(0)) for one in side)
            for side in (here, there)
        )
        self.prover.require(_as_often(half), half.happens_at_all(), compare("==", *totals))

    def _require_by_number(self, half: Half) -> None:
        """Prove that its n-th execution has its partner in the n-th one of another half, for all n."""
        here, there = self._matches(half, self.halves)
        number = Var("i")
        totals = (
            _sum(
                choose(all_of(match.same, match.at.condition(match.half.has(number))), Const(1), Const(0))
                for match in side
            )
            for side in (here, there)
        )
        self.prover.require(_as_often(half), half.has(number), compare("==", *totals))

    def require_room(self, half: Half) -> None:
        """Prove that a sent message is not longer than the buffer of its receive.

        FamilyMessages keep their order. So that is the receive with as many earlier ones in the section of an
        iteration; where partners are anywhere in the program, it may be any.

        Raises:
            Refuted, Unprovable: it may be longer.
        """
        if not half.sends:
            return
        if self._sections is None:
            here, there = self._matches(half, self.halves, keep=())
            for its in there:
                self._require_fits(all_of(half.happens(), its.happens()), half, its)
            return
        here, there = self._matches(half, self._with_section(half))
        if len(here) + len(there) == 2:
            keep = {*half.loops.counters, OWN_ITERATION, *({"i"} if _is_in_step(half, there) else ())}
        else:
            keep = {*half.loops.counters}
        counted = not any(
            match.half.in_row or (match.half.varies and match.half.loops.own) for match in here + there
        )
        here, there = self._matches(half, self._with_section(half), keep)
        for mine in (match for match in here if match.half is half):
            for its in there:
                where = all_of(half.happens(), its.happens())
                if counted and len(here) + len(there) > 2:
                    where = all_of(where, *_overlap(_before(mine, here), mine, _before(its, there), its))
                self._require_fits(where, half, its)

    def _with_section(self, half: Half) -> list[Half]:
        assert self._sections is not None
        return [one for one in self.halves if self._sections[one] == self._sections[half]]

    def _require_fits(self, where: Cond, message: Half, receive: _Match) -> None:
        nbytes, room = message.nbytes, receive.half.nbytes
        if nbytes is None or room is None:
            if reason := message.reason or receive.half.reason:
                raise Unprovable(reason)
            return  # not recorded
        room = receive.at.number(room)
        if nbytes != room:
            self.prover.require("its receive has room", where, compare("<=", nbytes, room))

    def _matches(
        self, half: Half, candidates: Sequence[Half], keep: Collection[str] | None = None
    ) -> tuple[list[_Match], list[_Match]]:
        """Return the halves on the own rank that go the same way, and those of the peer that come back.

        Args:
            keep: counters that are the same for the peer's, whose others are renamed; None: all.
        """
        here, there = [], []
        at, nowhere = self.prover.scenario.at(half.place.coords), Substitution({})
        wild = _any_tag(self.halves)
        for candidate in candidates:
            if candidate.sends == half.sends:
                cond = TRUE if wild else _same_tag(candidate.tag, half.tag)
                if cond != FALSE:
                    here.append(
                        _Match(candidate, all_of(cond, is_same(candidate.place, half.place)), nowhere)
                    )
                continue
            if half.place.distance is not None:
                self._require_same_everywhere(candidate)
            candidate = candidate if keep is None else candidate.renamed(keep)
            cond = TRUE if wild else _same_tag(candidate.tag and at.number(candidate.tag), half.tag)
            if cond != FALSE:
                there.append(
                    _Match(candidate, all_of(cond, self._is_back(candidate.place, half.place, at)), at)
                )
        return here, there

    def _require_same_everywhere(self, half: Half) -> None:
        """Raise Unprovable when something about a half differs from rank to rank."""
        trips = (row.trips for row in half.loops.rows)
        known = () if half.nbytes is None else (half.nbytes,)
        if names_in(half.given, half.tag or Const(0), *trips, *known) & set(self.prover.scenario.grid.coords):
            raise Unprovable("its partner at an XOR distance does other things than itself")

    def _is_back(self, place: PeerPlace, half: PeerPlace, at: Substitution) -> Cond:
        """Return whether the peer of a rank's peer is the rank itself."""
        if half.distance is not None or place.distance is not None:
            return is_same(place, half)
        back = PeerPlace(tuple(map(at.number, place.coords)))
        return is_same(back, PeerPlace(self.prover.scenario.coords))


def _as_often(half: Half) -> str:
    return "it is received as often" if half.sends else "it is sent as often"


def _sum(numbers: Iterable[Expr]) -> Expr:
    result: Expr = Const(0)
    for number in numbers:
        result = add(result, number)
    return result


def _before(match: _Match, others: Sequence[_Match]) -> Expr:
    """Return the number of of some messages are earlier in an iteration."""
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


def _same_tag(a: Expr | None, b: Expr | None) -> Cond:
    """Return whether two tags, neither of which is any, are one."""
    assert a is not None
    assert b is not None
    return FALSE if isinstance(a, Const) and isinstance(b, Const) and a != b else compare("==", a, b)


def _apart(halves: Sequence[Half]) -> list[list[Half]]:
    """Return the halves in groups of those whose tags may be the same."""
    tags = [half.tag for half in halves]
    if not all(isinstance(tag, Const) for tag in tags):
        return [list(halves)]
    return [[half for half in halves if half.tag == tag] for tag in dict.fromkeys(tags)]


def _sections(halves: Sequence[Half]) -> dict[Half, tuple[tuple[int, ...], int]]:
    """For each half the loops around it, and how many halves in loops within these are before it.

    If all messages of each section are received in it, they are received in the order in which they are sent.
    """
    sections = {}
    for at, half in enumerate(halves):
        depth = len(half.scope)
        inner = (
            earlier
            for earlier in halves[:at]
            if len(earlier.scope) > depth and earlier.scope[:depth] == half.scope
        )
        sections[half] = half.scope, sum(1 for _ in inner)
    return sections


def _is_in_step(half: Half, others: Sequence[_Match]) -> bool:
    """Return whether a half's executions have the same numbers as those of others in the same iteration."""
    own = half.loops.repeat()
    return half.loops.is_uniform() and all(
        one.half.loops.is_uniform() and one.half.loops.repeat() == own for one in others
    )
