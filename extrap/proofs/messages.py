"""Proofs that each message is received in a large enough buffer, for all sizes.

For every endpoint, the rank's own place gives that of its peer. Between the two ranks, equally many messages
with one tag must be sent and received: in each iteration, or in all, or at each number of an execution.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scalatrace.errors import FormulaError
from scalatrace.extrap.proofs.endpoints import Endpoint
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
    """An endpoint that may be the counterpart of another.

    Attributes:
        endpoint: in terms of its own rank.
        same: when it has the same ends and tag, on the rank of the other endpoint.
        at: its rank's place.
    """

    endpoint: Endpoint
    same: Cond
    at: Substitution

    def per_iteration(self) -> Expr:
        """Return how often it happens in one iteration."""
        return choose(self.same, self.at.number(self.endpoint.per_iteration()), Const(0))

    def occurs_in_iteration(self) -> Cond:
        """Return the condition that it happens in an iteration."""
        return all_of(self.same, self.at.condition(self.endpoint.occurs_in_iteration()))


class FamilyMessages:
    """The endpoints of a model's messages on one communicator, in the order of the program."""

    def __init__(self, prover: Prover, endpoints: Sequence[Endpoint]) -> None:
        self.groups = [MessageGroup(prover, group) for group in _apart(endpoints)]

    def group_of(self, endpoint: Endpoint) -> MessageGroup:
        """Return the endpoints that contain the partners of an endpoint."""
        return next(group for group in self.groups if endpoint in group.endpoints)


class MessageGroup:
    """Halves whose messages may have one tag. All are proved in one way, so that none counts twice."""

    def __init__(self, prover: Prover, endpoints: Sequence[Endpoint]) -> None:
        self.prover, self.endpoints = prover, endpoints
        self._errors: dict[Endpoint, Exception] | None = None
        self._sections: Mapping[Endpoint, object] | None = _sections(endpoints)

    def require_partners(self, endpoint: Endpoint) -> None:
        """Prove that an endpoint has its partner. Raises Refuted, Unprovable or FormulaError."""
        if self._errors is None:
            self._errors = self._tried(self._require_in_section, self.endpoints)
            if self._errors:
                self._sections = None
                self._errors = self._in_other_ways(self._errors)
        if endpoint in self._errors:
            raise self._errors[endpoint]

    def _tried(
        self, require: Callable[[Endpoint], None], endpoints: Iterable[Endpoint]
    ) -> dict[Endpoint, Exception]:
        """Return the endpoints that have no proof, with the reason."""
        found: dict[Endpoint, Exception] = {}
        for endpoint in endpoints:
            try:
                self.prover.require_time()
                require(endpoint)
            except (Refuted, Unprovable, FormulaError) as error:
                found[endpoint] = error
        return found

    def _in_other_ways(self, errors: Mapping[Endpoint, Exception]) -> dict[Endpoint, Exception]:
        """Try as `_tried` if some endpoints have their partners in another section of an iteration."""
        failures = self._tried(self._require_in_iteration, self.endpoints)
        if not failures:
            return {}
        if all(not endpoint.varies for endpoint in self.endpoints):
            failures = self._tried(self._require_in_all, self.endpoints)
        elif all(endpoint.is_numbered for endpoint in self.endpoints):
            failures = self._tried(self._require_by_number, self.endpoints)
        else:
            failures = dict(errors)
        if not failures:
            return {}
        first = next(iter(errors))
        unproved = Unprovable(f"what may have the same tag is not proved ({first.site}: {errors[first]})")
        return {endpoint: errors.get(endpoint, unproved) for endpoint in self.endpoints}

    def _require_in_section(self, endpoint: Endpoint) -> None:
        """As `_require_in_iteration`, between the same loops within it."""
        self._require_among(endpoint, self._with_section(endpoint))

    def _require_in_iteration(self, endpoint: Endpoint) -> None:
        """Prove that what happens in an iteration has its partners in the same iteration of the same loop."""
        self._require_among(endpoint, [one for one in self.endpoints if one.scope == endpoint.scope])

    def _require_among(self, endpoint: Endpoint, candidates: Sequence[Endpoint]) -> None:
        here, there = self._matches(endpoint, candidates)
        numbered = any(
            "i" in names_in(match.endpoint.given, *match.endpoint.ends()) for match in (*here, *there)
        )
        if numbered and not _is_in_step(endpoint, [*here, *there]):
            raise Unprovable("its peer or tag depends on the number of the call")
        goal = compare(
            "==",
            _sum(match.per_iteration() for match in here),
            _sum(match.per_iteration() for match in there),
        )
        self.prover.require(_as_often(endpoint), endpoint.occurs_in_iteration(), goal)
        at = self.prover.scenario.at(endpoint.place.coords)
        for row in endpoint.loops.around if endpoint.place.distance is None else ():
            if not row.is_condition:
                same = compare("==", row.trips, at.number(row.trips))
                self.prover.require("its loops run as often there", endpoint.occurs_in_iteration(), same)

    def _require_in_all(self, endpoint: Endpoint) -> None:
        """Prove that as many are sent as are received in the whole program."""
        here, there = self._matches(endpoint, self.endpoints)
        totals = (
            _sum(choose(one.same, one.at.number(one.endpoint.per_run()), Const(0)) for one in side)
            for side in (here, there)
        )
        self.prover.require(_as_often(endpoint), endpoint.occurs_in_run(), compare("==", *totals))

    def _require_by_number(self, endpoint: Endpoint) -> None:
        """Prove that its n-th execution has its partner in the n-th one of another endpoint, for all n."""
        here, there = self._matches(endpoint, self.endpoints)
        number = Var("i")
        totals = (
            _sum(
                choose(
                    all_of(match.same, match.at.condition(match.endpoint.has_execution(number))),
                    Const(1),
                    Const(0),
                )
                for match in side
            )
            for side in (here, there)
        )
        self.prover.require(_as_often(endpoint), endpoint.has_execution(number), compare("==", *totals))

    def require_room(self, endpoint: Endpoint) -> None:
        """Prove that a sent message is not longer than the buffer of its receive.

        FamilyMessages keep their order. So that is the receive with as many earlier ones in the section of an
        iteration; where partners are anywhere in the program, it may be any.

        Raises:
            Refuted, Unprovable: it may be longer.
        """
        if not endpoint.sends:
            return
        if self._sections is None:
            here, there = self._matches(endpoint, self.endpoints, keep=())
            for its in there:
                self._require_fits(
                    all_of(endpoint.occurs_in_iteration(), its.occurs_in_iteration()), endpoint, its
                )
            return
        here, there = self._matches(endpoint, self._with_section(endpoint))
        if len(here) + len(there) == 2:
            keep = {*endpoint.loops.counters, OWN_ITERATION, *({"i"} if _is_in_step(endpoint, there) else ())}
        else:
            keep = {*endpoint.loops.counters}
        counted = not any(
            match.endpoint.in_peer_loop or (match.endpoint.varies and match.endpoint.loops.own)
            for match in here + there
        )
        here, there = self._matches(endpoint, self._with_section(endpoint), keep)
        for mine in (match for match in here if match.endpoint is endpoint):
            for its in there:
                where = all_of(endpoint.occurs_in_iteration(), its.occurs_in_iteration())
                if counted and len(here) + len(there) > 2:
                    where = all_of(where, *_overlap(_before(mine, here), mine, _before(its, there), its))
                self._require_fits(where, endpoint, its)

    def _with_section(self, endpoint: Endpoint) -> list[Endpoint]:
        assert self._sections is not None
        return [one for one in self.endpoints if self._sections[one] == self._sections[endpoint]]

    def _require_fits(self, where: Cond, message: Endpoint, receive: _Match) -> None:
        nbytes, room = message.nbytes, receive.endpoint.nbytes
        if nbytes is None or room is None:
            if reason := message.reason or receive.endpoint.reason:
                raise Unprovable(reason)
            return  # not recorded
        room = receive.at.number(room)
        if nbytes != room:
            self.prover.require("its receive has room", where, compare("<=", nbytes, room))

    def _matches(
        self, endpoint: Endpoint, candidates: Sequence[Endpoint], keep: Collection[str] | None = None
    ) -> tuple[list[_Match], list[_Match]]:
        """Return the endpoints on the own rank that go the same way, and those of the peer that come back.

        Args:
            keep: counters that are the same for the peer's, whose others are renamed; None: all.
        """
        here, there = [], []
        at, nowhere = self.prover.scenario.at(endpoint.place.coords), Substitution({})
        wild = _any_tag(self.endpoints)
        for candidate in candidates:
            if candidate.sends == endpoint.sends:
                cond = TRUE if wild else _same_tag(candidate.tag, endpoint.tag)
                if cond != FALSE:
                    here.append(
                        _Match(candidate, all_of(cond, is_same(candidate.place, endpoint.place)), nowhere)
                    )
                continue
            if endpoint.place.distance is not None:
                self._require_same_everywhere(candidate)
            candidate = candidate if keep is None else candidate.renamed(keep)
            cond = TRUE if wild else _same_tag(candidate.tag and at.number(candidate.tag), endpoint.tag)
            if cond != FALSE:
                there.append(
                    _Match(candidate, all_of(cond, self._is_back(candidate.place, endpoint.place, at)), at)
                )
        return here, there

    def _require_same_everywhere(self, endpoint: Endpoint) -> None:
        """Raise Unprovable when something about an endpoint differs from rank to rank."""
        trips = (row.trips for row in endpoint.loops.rows)
        known = () if endpoint.nbytes is None else (endpoint.nbytes,)
        if names_in(endpoint.given, endpoint.tag or Const(0), *trips, *known) & set(
            self.prover.scenario.grid.coords
        ):
            raise Unprovable("its partner at an XOR distance does other things than itself")

    def _is_back(self, place: PeerPlace, endpoint: PeerPlace, at: Substitution) -> Cond:
        """Return whether the peer of a rank's peer is the rank itself."""
        if endpoint.distance is not None or place.distance is not None:
            return is_same(place, endpoint)
        back = PeerPlace(tuple(map(at.number, place.coords)))
        return is_same(back, PeerPlace(self.prover.scenario.coords))


def _as_often(endpoint: Endpoint) -> str:
    return "it is received as often" if endpoint.sends else "it is sent as often"


def _sum(numbers: Iterable[Expr]) -> Expr:
    result: Expr = Const(0)
    for number in numbers:
        result = add(result, number)
    return result


def _before(match: _Match, others: Sequence[_Match]) -> Expr:
    """Return the number of of some messages are earlier in an iteration."""
    return _sum(one.per_iteration() for one in others[: others.index(match)])


def _overlap(first: Expr, mine: _Match, second: Expr, its: _Match) -> tuple[Cond, Cond]:
    """That some executions of two nodes have the same number, counted from so many earlier ones."""
    return (
        compare("<", first, add(second, its.per_iteration())),
        compare("<", second, add(first, mine.per_iteration())),
    )


def _any_tag(endpoints: Sequence[Endpoint]) -> bool:
    """Whether receives take any tag, so that tags do not matter. Raises Unprovable when only some do."""
    wild = [endpoint.tag is None for endpoint in endpoints if not endpoint.sends]
    if any(wild) and not all(wild):
        raise Unprovable("some receives take any tag")
    return any(wild)


def _same_tag(a: Expr | None, b: Expr | None) -> Cond:
    """Return whether two tags, neither of which is any, are one."""
    assert a is not None
    assert b is not None
    return FALSE if isinstance(a, Const) and isinstance(b, Const) and a != b else compare("==", a, b)


def _apart(endpoints: Sequence[Endpoint]) -> list[list[Endpoint]]:
    """Return the endpoints in groups of those whose tags may be the same."""
    tags = [endpoint.tag for endpoint in endpoints]
    if not all(isinstance(tag, Const) for tag in tags):
        return [list(endpoints)]
    return [[endpoint for endpoint in endpoints if endpoint.tag == tag] for tag in dict.fromkeys(tags)]


def _sections(endpoints: Sequence[Endpoint]) -> dict[Endpoint, tuple[tuple[int, ...], int]]:
    """For each endpoint the loops around it, and how many endpoints in loops within these are before it.

    If all messages of each section are received in it, they are received in the order in which they are sent.
    """
    sections = {}
    for at, endpoint in enumerate(endpoints):
        depth = len(endpoint.scope)
        inner = (
            earlier
            for earlier in endpoints[:at]
            if len(earlier.scope) > depth and earlier.scope[:depth] == endpoint.scope
        )
        sections[endpoint] = endpoint.scope, sum(1 for _ in inner)
    return sections


def _is_in_step(endpoint: Endpoint, others: Sequence[_Match]) -> bool:
    """Return whether executions of an endpoint and of others in one iteration have the same numbers."""
    own = endpoint.loops.repeat()
    return endpoint.loops.is_uniform() and all(
        one.endpoint.loops.is_uniform() and one.endpoint.loops.repeat() == own for one in others
    )
