"""Possible predecessors of each call, which decide the length of the computation before it (§2.3).

Statistics are kept per predecessor event. A readable benchmark has "in the first iteration" and not "after
the call of mark 7". So the possible predecessors are followed through loops and conditions, for each set of
ranks with the same path. Where they do not decide the computation, the program looks at its last call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scalatrace.codegen.program.tree import ComputeStatement, Duration, ProgramContext
from scalatrace.formula import Compare, Cond, Const, Var
from scalatrace.trace.values.ranklist import RankList

__all__ = ["Arrival", "Predecessors", "average_compute", "choose_context"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """Possible last calls, as indices into Trace.preds.

    Attributes:
        first: in the first iteration of `loop`, or at all when there is no such loop.
        again: in its later iterations.
    """

    first: frozenset[int]
    again: frozenset[int] = frozenset()
    loop: Var | None = None

    @property
    def any(self) -> frozenset[int]:
        """The possible last calls of all iterations."""
        return self.first | self.again


@dataclass(frozen=True)
class Predecessors:
    """Arrivals of disjoint sets of ranks."""

    classes: tuple[tuple[Arrival, RankList], ...]

    @classmethod
    def start(cls, ranks: RankList) -> Predecessors:
        """Return the predecessors before the first call."""
        return cls(((Arrival(frozenset({0})), ranks),))

    def of(self, ranks: RankList) -> list[Arrival]:
        """Return the different arrivals of these ranks."""
        return list(dict.fromkeys(a for a, arriving in self.classes if not arriving.isdisjoint(ranks)))

    def only(self, ranks: RankList) -> Predecessors:
        """Return the predecessors of these ranks."""
        kept = ((a, arriving & ranks) for a, arriving in self.classes)
        return Predecessors(tuple((a, arriving) for a, arriving in kept if len(arriving)))

    def called(self, pred: int, ranks: RankList) -> Predecessors:
        """Return the predecessors after a call that these ranks certainly make."""
        remaining = ((a, arriving - ranks) for a, arriving in self.classes)
        return _unite(
            [
                *((a, arriving) for a, arriving in remaining if len(arriving)),
                (Arrival(frozenset({pred})), ranks),
            ]
        )

    def either(self, other: Predecessors) -> Predecessors:
        """Return the predecessors after one of two alternatives."""
        return self._joined(other, _merge)

    def looped(self, end: Predecessors, loop: Var) -> Predecessors:
        """Return the predecessors at the start of a loop body: these first, those of the body's end later."""
        return self._joined(end, lambda a, b: Arrival(a.any, b.any, loop))

    def _joined(self, other: Predecessors, join: Callable[[Arrival, Arrival], Arrival]) -> Predecessors:
        classes = []
        for a, ranks in self.classes:
            remaining_ranks = ranks
            for b, arriving in other.classes:
                if len(shared_ranks := remaining_ranks & arriving):
                    classes.append((join(a, b), shared_ranks))
                    remaining_ranks = remaining_ranks - shared_ranks
            if len(remaining_ranks):
                classes.append((a, remaining_ranks))
        return _unite(classes)

    def left(self, loop: Var) -> Predecessors:
        """Return the predecessors after a loop, without its variable."""
        return _unite([(Arrival(a.any) if a.loop == loop else a, arriving) for a, arriving in self.classes])

    def unless(self, cond: Cond, other: Predecessors) -> Predecessors:
        """Return the other predecessors where a condition holds, else these.

        Variables of the condition count from 0.
        """
        match cond:
            case Compare("!=" | ">", Var() as loop, Const(0)):
                return self._by_iteration(other, loop)
            case Compare("==", Var() as loop, Const(0)):
                return other._by_iteration(self, loop)
        return self.either(other)

    def _by_iteration(self, later: Predecessors, loop: Var) -> Predecessors:
        """Return these predecessors in the first iteration and the others in later ones."""
        classes = []
        for a, ranks in self.classes:
            for b, arriving in later.classes:
                if len(shared_ranks := ranks & arriving):
                    first = a.first if a.loop == loop else a.any
                    classes.append((Arrival(first, b.again if b.loop == loop else b.any, loop), shared_ranks))
        return _unite(classes)

    def joined(self, other: Predecessors) -> Predecessors:
        """Return the union with the predecessors of other ranks."""
        return _unite([*self.classes, *other.classes])


def _merge(a: Arrival, b: Arrival) -> Arrival:
    if a.loop == b.loop:
        return Arrival(a.first | b.first, a.again | b.again, a.loop)
    return Arrival(a.any | b.any)


def _unite(classes: Sequence[tuple[Arrival, RankList]]) -> Predecessors:
    united: dict[Arrival, RankList] = {}
    for arrival, ranks in classes:
        united[arrival] = united[arrival] | ranks if arrival in united else ranks
    return Predecessors(tuple(united.items()))


def choose_context(
    durations: dict[int, Duration], arrivals: list[Arrival], exact: bool
) -> ComputeStatement | None:
    """Return the computation before a call from its statistics by predecessor; None without statistics.

    Args:
        exact: the language can look at the last call; else undecided computations are averaged.
    """
    if not durations:
        return None
    if len(durations) == 1:
        return ComputeStatement((ProgramContext((), next(iter(durations.values()))),))
    loops = {a.loop for a in arrivals}
    if len(loops) == 1 and (loop := loops.pop()) is not None:
        first = {p for a in arrivals for p in a.first} & durations.keys()
        again = {p for a in arrivals for p in a.again} & durations.keys()
        if first and again and ((len(first) == 1 and len(again) == 1 and first != again) or not exact):
            return _first_and_rest(durations, first, again, loop)
    if not exact:
        return ComputeStatement((ProgramContext((), _mean(list(durations.values()))),))
    return ComputeStatement(tuple(ProgramContext((pred,), duration) for pred, duration in durations.items()))


def _first_and_rest(
    times: dict[int, Duration], first: set[int], again: set[int], loop: Var
) -> ComputeStatement:
    durations = [_mean([times[pred] for pred in sorted(preds)]) for preds in (first, again)]
    if durations[0] == durations[1]:
        return ComputeStatement((ProgramContext((), durations[0]),))
    return ComputeStatement((ProgramContext((), durations[0]), ProgramContext((), durations[1])), loop)


def average_compute(durations: dict[int, Duration], times: Mapping[int, int]) -> ComputeStatement:
    """Return the mean computation, weighted by the executions after each predecessor."""
    met = {pred: n for pred, n in times.items() if pred in durations and n}
    return ComputeStatement(
        (ProgramContext((), _mean([durations[pred] for pred in met], list(met.values()))),)
    )


def _mean(durations: list[Duration], weights: list[int] | None = None) -> Duration:
    """Return the weighted mean, with the histogram of the duration that has the most samples."""
    if len(durations) == 1:
        return durations[0]
    if weights is None:
        weights = [d.histogram.count if d.histogram else 1 for d in durations]
    ns = sum(d.ns * w for d, w in zip(durations, weights, strict=True)) / sum(weights)
    most = max(durations, key=lambda d: d.histogram.count if d.histogram else 0)
    return Duration(ns, most.histogram, _mean_law(durations, weights))


def _mean_law(durations: list[Duration], weights: list[int]) -> tuple[tuple[float, float, int], ...]:
    """The mean of laws, term by term; () when none of them has one."""
    if not any(d.law for d in durations):
        return ()
    terms: dict[tuple[float, int], float] = {}
    for duration, weight in zip(durations, weights, strict=True):
        for c, power, log in duration.law or ((duration.ns, 0.0, 0),):
            terms[power, log] = terms.get((power, log), 0.0) + c * weight / sum(weights)
    return tuple((c, power, log) for (power, log), c in terms.items())
