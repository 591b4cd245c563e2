"""Choose an algorithm for each unit of rules by measurements that another part makes.

    1  default of every point, three times          units with a share below MIN_SHARE are left as they are
    2  rounds: default and all algorithms left,     those that are clearly slower leave (racing)
       of all units, in random order
    3  pairs of the default and the best one        the saving: its interval is of these pairs only

The third step has measurements of its own: the best of many noisy ones looks faster than it is. A unit whose
own interval does not lie above 0 keeps the default.

Where the rules of some units take the default from others of the same scope, these get the fallback. It is
measured beside the pairs; a scope has rules if all its units together gain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

from scalatrace.replay.tune.library import TunedSetting
from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.stats.trimmed_mean import MeanInterval, paired_saving, sum_of_means

__all__ = ["ConfirmedUnit", "Rejected", "RejectedError", "RuleUnit", "Selection", "Tunable"]

MIN_SHARE = 0.002
"""Share of the time of all collectives from which on the algorithms of a unit are measured."""

DEFAULT_VISITS = 3
"""Measurements of the default before the rounds."""

BESIDE_DEFAULT = 3
"""Algorithms that are measured beside one default: disturbances of the machine pass."""

SELECTION_SHARE = 0.55
"""Part of the time budget for rounds."""

MAX_ROUNDS, MIN_ROUNDS = 12, 3
SLOWER = ((2, 1.5), (4, 1.15), (6, 1.03))
"""Rounds, and the median time over the default's from which on an algorithm leaves after so many."""
MAX_LEFT = 3
"""Algorithms that stay after MIN_ROUNDS + 1 rounds."""

MIN_PAIRS, MAX_PAIRS = 6, 40
NARROW = 0.01
"""Half of an interval over the default's time at which a unit needs no more pairs."""
MIN_SAVING = 0.02
"""Least saving of a rule: a part of the default's time."""

Measure = Callable[[CollectivePoint, TunedSetting | None], float]
"""Takes the time of a call in ns, of the default for None. Raises RejectedError."""


class RejectedError(Exception):
    """An algorithm cannot carry out a call, or gives another result than the default."""


@dataclass(frozen=True)
class RuleUnit:
    """Points for which the library has one rule.

    Attributes:
        points: of one operation and number of ranks; several where the library does not look at sizes.
    """

    points: tuple[CollectivePoint, ...]

    @property
    def op(self) -> str:
        """The operation."""
        return self.points[0].op

    @property
    def size(self) -> int:
        """Ranks of the communicators."""
        return self.points[0].size

    @property
    def calls(self) -> float:
        """Calls of a rank, on average."""
        return sum(point.calls for point in self.points)


@dataclass(frozen=True)
class Tunable:
    """A unit with its algorithms.

    Attributes:
        fallback: what the unit gets if there are rules for others of its scope only; None: the default.
        scope: units with equal scopes have rules all together, or none of them.
    """

    unit: RuleUnit
    candidates: tuple[TunedSetting, ...]
    fallback: TunedSetting | None
    scope: str


@dataclass(frozen=True)
class Rejected:
    """An algorithm that was left out."""

    op: str
    size: int
    algorithm: str
    reason: str


@dataclass(frozen=True)
class ConfirmedUnit:
    """Measurements of a unit.

    Attributes:
        candidate: the best algorithm; None: none was faster than the default.
        default_ns, best_ns: time of all calls of a rank; one value for each pair.
        gains: whether the rule is to be written.
        measured: algorithms that were measured.
    """

    unit: RuleUnit
    candidate: TunedSetting | None
    default_ns: tuple[float, ...]
    best_ns: tuple[float, ...]
    measured: int
    gains: bool = False

    @property
    def default_whole_ns(self) -> float:
        """Time of all calls of a rank by the default."""
        return median(self.default_ns)

    @property
    def saving(self) -> MeanInterval:
        """Time that the best algorithm saves, ns."""
        return paired_saving(self.default_ns, self.best_ns)


@dataclass
class _Race:
    """State of a unit.

    Attributes:
        alive: algorithms that have not left.
        defaults_ns: times of the default, in rounds and before.
        ratios: times over the default's of the same round, by algorithm.
        default_ns, best_ns, fallback_ns: times of each pair.
    """

    tunable: Tunable
    alive: list[TunedSetting]
    defaults_ns: list[float]
    ratios: dict[TunedSetting, list[float]] = field(default_factory=dict)
    rounds: int = 0
    default_ns: list[float] = field(default_factory=list)
    best_ns: list[float] = field(default_factory=list)
    fallback_ns: list[float] = field(default_factory=list)

    @property
    def whole_ns(self) -> float:
        """Time of all calls by the default, as measured in the rounds."""
        return median(self.defaults_ns)

    def best(self) -> TunedSetting | None:
        """Return the algorithm with the least median ratio; None: that is the default."""
        ratios = {c: median(values) for c, values in self.ratios.items() if c in self.alive and values}
        fallback = self.tunable.fallback
        best = min(ratios, key=lambda c: ratios[c], default=fallback)
        if best is None or (fallback is None and ratios[best] >= 1):
            return None
        return best

    def drop_slow(self) -> None:
        """Let algorithms leave that are clearly slower than the default, or than the best ones."""
        limit = min((ratio for rounds, ratio in SLOWER if self.rounds >= rounds), default=float("inf"))
        ratios = {c: median(self.ratios[c]) for c in self.alive if self.ratios.get(c)}
        kept = sorted((c for c in ratios if ratios[c] <= limit), key=lambda c: ratios[c])
        if self.rounds > MIN_ROUNDS:
            kept = kept[:MAX_LEFT]
        fallback = self.tunable.fallback
        self.alive = [c for c in self.alive if c in kept or c not in ratios or c == fallback]

    @property
    def is_settled(self) -> bool:
        """Whether more rounds would not change the choice."""
        return (
            self.rounds >= MAX_ROUNDS or not self.alive or (self.rounds > MIN_ROUNDS and len(self.alive) == 1)
        )


class Selection:
    """The three steps.

    Args:
        measure: takes the time of a call.
        now_s: a clock.
        budget_s: seconds for all of it. Each algorithm gets one round, and each best one MIN_PAIRS, even if
            that takes longer.
        progress: called with the seconds used and the budget.
    """

    def __init__(
        self,
        measure: Measure,
        now_s: Callable[[], float],
        budget_s: float,
        seed: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._measure, self._now_s, self._budget_s = measure, now_s, budget_s
        self._random, self._progress = Random(seed), progress
        self._begin_s = now_s()
        self.rejected: list[Rejected] = []

    def run(self, tunables: Sequence[Tunable]) -> list[ConfirmedUnit]:
        """Return the measurements of all units, in their order, with those that gain marked."""
        races = [_Race(t, self._all(t), []) for t in tunables]
        for race in DEFAULT_VISITS * races:
            race.defaults_ns.append(self._time(race.tunable.unit, None))
        whole = sum(race.whole_ns for race in races)
        worthwhile = [race for race in races if race.alive and race.whole_ns >= MIN_SHARE * whole]
        self._select(worthwhile)
        return _mark_gains(tunables, self._confirm(races, worthwhile))

    def _all(self, tunable: Tunable) -> list[TunedSetting]:
        return [*tunable.candidates, *([tunable.fallback] if tunable.fallback and tunable.candidates else [])]

    def _used_s(self) -> float:
        used_s = self._now_s() - self._begin_s
        if self._progress:
            self._progress(min(int(used_s), int(self._budget_s)), max(1, int(self._budget_s)))
        return used_s

    def _time(self, unit: RuleUnit, candidate: TunedSetting | None) -> float:
        """Return the time of all calls of a rank, ns."""
        return sum(point.calls * self._measure(point, candidate) for point in unit.points)

    def _select(self, races: Sequence[_Race]) -> None:
        while racing := [race for race in races if not race.is_settled]:
            for race in self._random.sample(racing, len(racing)):
                if race.rounds and self._used_s() > SELECTION_SHARE * self._budget_s:
                    return
                self._round(race)

    def _round(self, race: _Race) -> None:
        shuffled = self._random.sample(race.alive, len(race.alive))
        for start in range(0, len(shuffled), BESIDE_DEFAULT):
            self._compare(race, shuffled[start : start + BESIDE_DEFAULT])
        race.rounds += 1
        race.drop_slow()

    def _compare(self, race: _Race, candidates: Sequence[TunedSetting]) -> None:
        """Measure some algorithms, and the default at a random place between them."""
        unit, times = race.tunable.unit, {}
        for candidate in self._random.sample([None, *candidates], len(candidates) + 1):
            try:
                times[candidate] = self._time(unit, candidate)
            except RejectedError as error:
                if candidate is None:
                    raise
                race.alive.remove(candidate)
                self.rejected.append(Rejected(unit.op, unit.size, candidate.label, str(error)))
        default_ns = times.pop(None)
        race.defaults_ns.append(default_ns)
        for candidate, ns in times.items():
            if candidate is not None:
                race.ratios.setdefault(candidate, []).append(ns / default_ns)

    def _confirm(self, races: Sequence[_Race], worthwhile: Sequence[_Race]) -> list[ConfirmedUnit]:
        best = {id(race): race.best() for race in worthwhile}
        scopes = {
            race.tunable.scope
            for race in worthwhile
            if (choice := best[id(race)]) is not None and choice != race.tunable.fallback
        }
        chosen = [race for race in worthwhile if race.tunable.scope in scopes and best[id(race)] is not None]
        while paired := [race for race in chosen if not _has_enough_pairs(race)]:
            for race in self._random.sample(paired, len(paired)):
                if len(race.best_ns) >= MIN_PAIRS and self._used_s() > self._budget_s:
                    paired = []
                    break
                self._pair(race, best[id(race)])
            if not paired:
                break
        return [_confirmed(race, best.get(id(race))) for race in races]

    def _pair(self, race: _Race, choice: TunedSetting | None) -> None:
        fallback = race.tunable.fallback
        together = list(dict.fromkeys([None, choice, fallback]))
        self._random.shuffle(together)
        times = {candidate: self._time(race.tunable.unit, candidate) for candidate in together}
        race.default_ns.append(times[None])
        race.best_ns.append(times[choice])
        race.fallback_ns.append(times[fallback])


def _confirmed(race: _Race, choice: TunedSetting | None) -> ConfirmedUnit:
    """Return the measurements of a unit, with the fallback where its best algorithm does not gain itself."""
    unit, fallback = race.tunable.unit, race.tunable.fallback
    if not race.best_ns:
        return ConfirmedUnit(unit, None, (race.whole_ns,), (race.whole_ns,), len(race.ratios))
    result = ConfirmedUnit(unit, choice, tuple(race.default_ns), tuple(race.best_ns), len(race.ratios))
    if fallback is None or choice == fallback or _is_worthwhile([result]):
        return result
    return replace(result, candidate=fallback, best_ns=tuple(race.fallback_ns))


def _has_enough_pairs(race: _Race) -> bool:
    n = len(race.best_ns)
    if n < MIN_PAIRS or n >= MAX_PAIRS:
        return n >= MAX_PAIRS
    unit = ConfirmedUnit(race.tunable.unit, None, tuple(race.default_ns), tuple(race.best_ns), 0)
    return unit.saving.halfwidth < NARROW * unit.default_whole_ns


def _mark_gains(tunables: Sequence[Tunable], units: Sequence[ConfirmedUnit]) -> list[ConfirmedUnit]:
    """Mark the units whose rules are to be written, scope by scope."""
    scopes: defaultdict[str, list[tuple[Tunable, ConfirmedUnit]]] = defaultdict(list)
    for tunable, unit in zip(tunables, units, strict=True):
        scopes[tunable.scope].append((tunable, unit))
    gaining = {
        scope
        for scope, parts in scopes.items()
        if any(unit.candidate not in (None, tunable.fallback) for tunable, unit in parts)
        and _is_worthwhile([unit for _, unit in parts])
    }
    return [
        replace(unit, gains=unit.candidate is not None and tunable.scope in gaining)
        for tunable, unit in zip(tunables, units, strict=True)
    ]


def _is_worthwhile(units: Sequence[ConfirmedUnit]) -> bool:
    """Return whether units save a part of their time that is significant, and not negligible."""
    saving = sum_of_means([unit.saving for unit in units if unit.candidate])
    return saving.low > 0 and saving.mean >= MIN_SAVING * sum(unit.default_whole_ns for unit in units)
