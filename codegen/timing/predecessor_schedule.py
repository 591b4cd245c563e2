"""After which call each execution of a call comes, where that follows a rule (§4.3).

A language that cannot look at the call before can count: in a wavefront the block after a corner comes late,
the next one at once. Only the mean of both would make every rank wait for the others at the wrong moments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from scalatrace.codegen.expr import Const, Expr, compare, length
from scalatrace.codegen.program.tree import Branch, Compute, Duration, Stmt
from scalatrace.codegen.program.values import of_vec
from scalatrace.codegen.timing.predecessors import averaged
from scalatrace.codegen.timing.rank_means import MOST_CLASSES, level
from scalatrace.trace.model.elastic import Elastic, at
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["Turns"]

MOST_EVENTS = 200_000
"""Events of all ranks up to which they are walked through."""

ALIKE = 16
"""Means that are closer than such a part of the longest are one."""

RARE = 16
"""A computation that comes once in so many executions or more is left to the others."""

LONGEST = 48
"""Variables and numbers of a rule that may still be read."""

LONGEST_PERIOD = 1 << 10
"""Times that a call is met until its turns come again."""

Turn = int | None
"""Which computation it is when a call is met; None: it is not made, any would do."""


@dataclass(frozen=True)
class Rule:
    """Which of several computations comes when a call is met, on some ranks.

    Attributes:
        turns: its number each time, in several ways that are all right.
        computes: the computations.
    """

    turns: tuple[Vec, ...]
    computes: tuple[Compute, ...]
    ranks: RankList

    def stmts(self, met: Expr) -> list[Stmt] | None:
        """Statements where the call was met so often before; None: they would be too long."""
        *others, last = self.computes
        if not others:
            return [last]
        turn = min((of_vec(vec, met) for vec in self.turns), key=length)
        if length(turn) * len(others) > LONGEST:
            return None
        said: tuple[Stmt, ...] = (last,)
        for number, compute in reversed(list(enumerate(others))):
            said = (Branch(compare("==", turn, Const(number)), (compute,), said),)
        return list(said)


class Turns:
    """The rules of a trace's calls."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def rules(self, node: Event, known: dict[int, Duration], ranks: RankList) -> list[Rule]:
        """The rules of a node's executions on these ranks; none where one of them follows none."""
        found: dict[tuple[tuple[Turn, ...], tuple[int, ...]], tuple[list[Counter[int]], list[int]]] = {}
        kinds = _kinds(known)
        for rank in ranks:
            preds = self._preds.get((id(node), rank), [])
            told = _told(preds, _made(node.repeat, rank, len(preds)), kinds)
            if told is None:
                return []
            turns, own = told
            means = tuple(level(averaged(known, n).contexts[0].duration.ns) for n in own)
            totals, some = found.setdefault((turns, means), ([Counter() for _ in own], []))
            some.append(rank)
            for total, mine in zip(totals, own, strict=True):
                total.update(mine)
        if len(found) > MOST_CLASSES:
            return []
        return [
            Rule(_vecs(turns), tuple(averaged(known, n) for n in totals), RankList(some))
            for (turns, _), (totals, some) in found.items()
        ]

    @cached_property
    def _preds(self) -> dict[tuple[int, int], list[int]]:
        """The call before each execution, by node and rank; nothing when there are too many."""
        found: dict[tuple[int, int], list[int]] = {}
        trace = self._trace
        if trace.nevents() > MOST_EVENTS:
            return found
        for rank in trace.ranks:
            for call in trace.walk(rank):
                found.setdefault((id(call.node), rank), []).append(call.pred)
        return found


def _told(
    preds: Sequence[int], made: Sequence[int], kinds: Mapping[int, int]
) -> tuple[tuple[Turn, ...], list[Counter[int]]] | None:
    """One rank's turns until they come again, and after what how often each of them comes; None: no rule."""
    often = Counter(kinds.get(pred) for pred in preds)
    met = [kind for kind, n in often.items() if n > 1 or len(preds) < RARE]
    if not made or not met or None in often:
        return None
    number = {kind: i for i, kind in enumerate(met)}
    each = iter([number.get(kinds[pred]) for pred in preds])
    turns = list(_period([next(each) if n else None for n in made]))
    if len(met) > 1 and len(turns) > LONGEST_PERIOD:
        return None
    places = [i % len(turns) for i, n in enumerate(made) if n]
    counts: list[Counter[int]] = [Counter() for _ in met]
    for place, pred in zip(places, preds, strict=True):
        turn = turns[place] = turns[place] or 0  # where only rare ones are, any will do
        counts[turn][pred] += 1
    return tuple(turns), counts


def _kinds(known: Mapping[int, Duration]) -> dict[int, int]:
    """Predecessors by how long the computation after them is: about as long is one kind."""
    ordered = sorted(known, key=lambda pred: known[pred].ns)
    apart = known[ordered[-1]].ns / ALIKE
    kinds, kind, last = {}, 0, known[ordered[0]].ns
    for pred in ordered:
        kind += known[pred].ns - last > apart
        kinds[pred], last = kind, known[pred].ns
    return kinds


def _made(repeat: Elastic, rank: int, executions: int) -> list[int]:
    """Whether a call is made each time it is met, until its last execution; nothing where made twice."""
    vec = at(repeat, rank)
    if vec is None or (vec.constant is not None and vec.constant != 1):
        return []
    made, n = [], 0
    for times in islice(vec, MOST_EVENTS):
        if times > 1:
            return []
        made.append(times)
        n += times
        if n == executions:
            return made
    return []


def _period(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns until they come again; all when they do not."""
    for n in range(1, min(len(turns) // 2, LONGEST_PERIOD) + 1):
        first = list(turns[:n])
        for i, turn in enumerate(turns[n:]):
            if first[i % n] is None:
                first[i % n] = turn
            elif turn is not None and turn != first[i % n]:
                break
        else:
            return tuple(first)
    return tuple(turns)


def _vecs(turns: Sequence[Turn]) -> tuple[Vec, ...]:
    """Without end, with a number where any would do."""
    found = []
    for filled in _filled(turns):
        once = vec_of(filled)
        found.append(Vec(((0, 0, *once.terms),)) if isinstance(once.terms, tuple) else once)
    return tuple(dict.fromkeys(found))


def _filled(turns: Sequence[Turn]) -> Iterator[list[int]]:
    for number in sorted({turn for turn in turns if turn is not None}):
        yield [number if turn is None else turn for turn in turns]
    for order in (1, -1):
        last, filled = 0, []
        for turn in turns[::order]:
            last = last if turn is None else turn
            filled.append(last)
        yield filled[::order]
