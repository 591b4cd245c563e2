"""Programs whose peers, counts, tags and trip counts follow random formulas of a rank's place on a grid.

Thresholds, periods and logarithms that no trace need show (x < 5 on 5 columns; log2 of 10 and 12) are left
out: nothing determines them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from scalatrace.trace.model.tables import Datatype
from support.calls import IssuedCall, call
from support.grids import Body, Rank

Term = Callable[[Rank, int], int]
"""An integer of a rank in an iteration."""

TYPE = "MPI_DOUBLE"

MAX_TRIPS = 40
"""Programs with longer loops are not drawn."""


@dataclass(frozen=True)
class Rule:
    """A formula with its text, for reports."""

    text: str
    of: Term

    def __call__(self, rank: Rank, step: int = 0) -> int:
        return self.of(rank, step)

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class RandomProgram:
    """A program and the grids that it is traced on; the last one is to be predicted."""

    grids: tuple[tuple[int, ...], ...]
    n: int
    body: Body
    text: str = field(default="")

    def __repr__(self) -> str:
        return f"{self.grids} n={self.n}: {self.text}"


def _side(rank: Rank, axis: int) -> int:
    return rank.dims[axis % len(rank.dims)]


def _at(rank: Rank, axis: int) -> int:
    return rank.place[axis % len(rank.dims)]


AXES = st.integers(0, 1)
SMALL = st.integers(1, 5)


def _sizes() -> st.SearchStrategy[Rule]:
    """Formulas of the grid and of n: the same on all ranks."""
    return st.one_of(
        st.builds(lambda a: Rule(str(a), lambda r, k: a), SMALL),
        st.builds(lambda d: Rule("XY"[d], lambda r, k: _side(r, d)), AXES),
        st.builds(
            lambda a, d, b: Rule(f"{a}*{'XY'[d]}+{b}", lambda r, k: a * _side(r, d) + b), SMALL, AXES, SMALL
        ),
        st.builds(lambda d: Rule(f"n//{'XY'[d]}", lambda r, k: r.n // _side(r, d)), AXES),
        st.builds(lambda d: Rule(f"-(-n//{'XY'[d]})", lambda r, k: -(-r.n // _side(r, d))), AXES),
        st.builds(lambda d: Rule(f"n//{'XY'[d]}^2", lambda r, k: r.n // _side(r, d) ** 2), AXES),
        st.builds(lambda a: Rule(f"{a}*n//P", lambda r, k: a * r.n // prod(r.dims)), SMALL),
        st.builds(lambda a: Rule(f"P+{a}", lambda r, k: prod(r.dims) + a), SMALL),
        st.builds(lambda a: Rule(f"{a}*X*Y", lambda r, k: a * _side(r, 0) * _side(r, 1)), SMALL),
        st.builds(lambda d: Rule(f"log2 {'XY'[d]}", lambda r, k: (_side(r, d) - 1).bit_length()), AXES),
        st.just(Rule("log2 P", lambda r, k: (prod(r.dims) - 1).bit_length())),
        st.builds(lambda d: Rule(f"{'XY'[d]}//2", lambda r, k: _side(r, d) // 2), AXES),
        st.builds(lambda d: Rule(f"{'XY'[d]}%2", lambda r, k: _side(r, d) % 2), AXES),
    )


def _places() -> st.SearchStrategy[Rule]:
    """Formulas of a rank's place."""
    return st.one_of(
        _sizes(),
        st.builds(lambda d: Rule("xy"[d], lambda r, k: _at(r, d)), AXES),
        st.builds(
            lambda a, d, b: Rule(f"{a}*{'xy'[d]}+{b}", lambda r, k: a * _at(r, d) + b), SMALL, AXES, SMALL
        ),
        st.builds(lambda d: Rule(f"block {'xy'[d]}", lambda r, k: _block(r, d)), AXES),
        st.builds(lambda d: Rule(f"(x+1)n/X {'xy'[d]}", lambda r, k: _spread(r, d)), AXES),
        st.builds(lambda d: Rule(f"{'XY'[d]}-{'xy'[d]}", lambda r, k: _side(r, d) - _at(r, d)), AXES),
        st.builds(lambda d: Rule(f"{'xy'[d]}%2", lambda r, k: _at(r, d) % 2), AXES),
        st.builds(lambda d: Rule(f"{'xy'[d]}<1", lambda r, k: int(_at(r, d) < 1)), AXES),
        st.builds(
            lambda d: Rule(f"border {'xy'[d]}", lambda r, k: int(_at(r, d) in (0, _side(r, d) - 1))), AXES
        ),
        st.builds(
            lambda d: Rule(f"2{'xy'[d]}<{'XY'[d]}", lambda r, k: int(2 * _at(r, d) < _side(r, d))), AXES
        ),
        st.builds(lambda a: Rule(f"r//{a + 1}", lambda r, k: r.number // (a + 1)), SMALL),
    )


def _block(rank: Rank, axis: int) -> int:
    side = _side(rank, axis)
    return rank.n // side + (_at(rank, axis) < rank.n % side)


def _spread(rank: Rank, axis: int) -> int:
    side, x = _side(rank, axis), _at(rank, axis)
    return (x + 1) * rank.n // side - x * rank.n // side


def _numbers() -> st.SearchStrategy[Rule]:
    """Counts: formulas, sums and products of two, some with the number of the iteration."""
    one = _places()
    return st.one_of(
        one,
        st.builds(lambda a, b: Rule(f"({a}+{b})", lambda r, k: a(r, k) + b(r, k)), one, one),
        st.builds(lambda a, b: Rule(f"({a})*({b})", lambda r, k: a(r, k) * b(r, k)), _sizes(), one),
        st.builds(lambda a, b: Rule(f"({a}+{b}k)", lambda r, k: a(r, k) + b * k), one, SMALL),
    )


Peer = Callable[[Rank, int], int | None]


@dataclass(frozen=True)
class To:
    """A rule for destinations; None: there is none."""

    text: str
    of: Peer

    def __repr__(self) -> str:
        return self.text


def _shift(axis: int, a: int, wrap: bool) -> To:
    def of(rank: Rank, step: int) -> int | None:
        move = [0] * len(rank.dims)
        move[axis % len(rank.dims)] = a
        return rank.neighbour(move, wrap)

    return To(f"shift {'xy'[axis]} {a:+}{' wrap' if wrap else ''}", of)


def _mirror(axis: int) -> To:
    def of(rank: Rank, step: int) -> int | None:
        place = list(rank.place)
        axis_ = axis % len(rank.dims)
        place[axis_] = rank.dims[axis_] - 1 - place[axis_]
        return rank.at(place)

    return To(f"mirror {'xy'[axis]}", of)


def _diagonal(a: int, b: int) -> To:
    def of(rank: Rank, step: int) -> int | None:
        return rank.neighbour([a, b][: len(rank.dims)], True)

    return To(f"diagonal {a} {b}", of)


def _turning(axis: int) -> To:
    def of(rank: Rank, step: int) -> int | None:
        move = [0] * len(rank.dims)
        move[axis % len(rank.dims)] = step + 1
        return rank.neighbour(move, True)

    return To(f"shift {'xy'[axis]} by k+1", of)


def _peers() -> st.SearchStrategy[To]:
    return st.one_of(
        st.builds(_shift, AXES, st.sampled_from([-2, -1, 1, 2]), st.booleans()),
        st.builds(_mirror, AXES),
        st.builds(_diagonal, st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 1])),
        st.builds(_turning, AXES),
        st.builds(lambda a: To(f"r+{a} mod P", lambda r, k: (r.number + a) % prod(r.dims)), SMALL),
        st.just(To("half", lambda r, k: (r.number + prod(r.dims) // 2) % prod(r.dims))),
        st.just(To("root", lambda r, k: 0 if r.number else None)),
        st.just(To("parent", lambda r, k: (r.number - 1) // 2 if r.number else None)),
        st.just(To("first of row", lambda r, k: r.at([*r.place[:-1], 0]))),
        st.just(To("pair", lambda r, k: p if (p := r.number ^ 1) < prod(r.dims) else None)),
        st.builds(
            lambda a: To(f"own or +{a}", lambda r, k: r.number + a if r.number + a < prod(r.dims) else None),
            SMALL,
        ),
    )


@dataclass(frozen=True)
class Exchange:
    """Each rank sends to another one, and receives what it is sent, in the order of the senders."""

    to: To
    count: Rule
    tag: Rule
    taking: Rule | None
    rows: tuple[Rule, Rule] | None = None

    def calls(self, rank: Rank, everybody: Sequence[Rank], step: int, site: int) -> list[IssuedCall]:
        made = []
        for other in everybody:
            if self._dest(other, step) == rank.number:
                made.append(self._message("Irecv", site, other, step, source=other.number))
        if (dest := self._dest(rank, step)) is not None:
            made.append(self._message("Isend", site + 1, rank, step, dest=dest))
        waiting = tuple(range(len(made) - 1, -1, -1))
        return [*made, call("Waitall", site + 2, requests=waiting)] if made else []

    def _dest(self, rank: Rank, step: int) -> int | None:
        return self.to.of(rank, step) if self.taking is None or self.taking(rank, step) else None

    def _message(self, op: str, site: int, sender: Rank, step: int, **peer: int) -> IssuedCall:
        count, tag = self.count(sender, step), self.tag(sender, step)
        return call(op, site, count=count, datatype=self._datatype(sender), **peer, tag=tag, comm="world")

    def _datatype(self, sender: Rank) -> Datatype | str:
        """The type of `rows[0]` elements, one in each row of `rows[1]` elements."""
        if self.rows is None:
            return TYPE
        count, stride = (rule(sender) + 1 for rule in self.rows)
        extent = 8 * ((count - 1) * stride + 1)
        return Datatype(f"vector({count},1,{stride},{TYPE})", 8 * count, extent)

    def __repr__(self) -> str:
        rows = f" rows {self.rows}" if self.rows else ""
        return f"send {self.count}{rows} to {self.to} tag {self.tag}" + (
            f" if {self.taking}" if self.taking else ""
        )


@dataclass(frozen=True)
class Collective:
    """A call of all ranks; sizes are the same on all ranks, or each rank's own."""

    op: str
    count: Rule

    def calls(self, rank: Rank, everybody: Sequence[Rank], step: int, site: int) -> list[IssuedCall]:
        if self.op == "Gatherv":
            size = {"sendcount": self.count(rank, step), "sendtype": TYPE}
            return [call("Gatherv", site, **size, root=0, comm="world")]
        return [call(self.op, site, count=self.count(rank, step), datatype=TYPE, comm="world")]

    def __repr__(self) -> str:
        return f"{self.op} {self.count}"


@dataclass(frozen=True)
class Loop:
    """Steps so many times; iterations are numbered."""

    times: Rule
    steps: tuple[Any, ...]

    def calls(self, rank: Rank, everybody: Sequence[Rank], step: int, site: int) -> list[IssuedCall]:
        return [
            made
            for k in range(self.times(rank, 0))
            for at, one in enumerate(self.steps)
            for made in one.calls(rank, everybody, k, site + 10 * at)
        ]

    def __repr__(self) -> str:
        return f"{self.times} times {list(self.steps)}"


def _steps(typed: bool) -> st.SearchStrategy[Any]:
    numbers = _numbers()
    rows = [st.none(), st.tuples(_sizes(), _sizes())] if typed else [st.none()]
    return st.one_of(
        st.builds(Exchange, _peers(), numbers, st.one_of(st.just(Rule("0", lambda r, k: 0)), _places()),
                  st.one_of(st.none(), st.none(), _places()), st.one_of(*rows)),
        st.builds(Collective, st.just("Gatherv"), numbers),
        st.builds(Collective, st.just("Allreduce"), _sizes()),
    )  # fmt: skip


_LINES = st.lists(st.integers(2, 12), min_size=3, max_size=6, unique=True).map(
    lambda sides: tuple((side,) for side in sorted(sides))
)
_POWERS = st.integers(1, 2).flatmap(
    lambda first: st.integers(3, 4).map(lambda count: tuple((1 << (first + k),) for k in range(count)))
)
_SQUARES = st.lists(st.integers(2, 6), min_size=3, max_size=5, unique=True).map(
    lambda sides: tuple((side, side) for side in sorted(sides))
)
_PLANES = st.lists(st.tuples(st.integers(2, 5), st.integers(2, 5)), min_size=3, max_size=6, unique=True).map(
    lambda grids: tuple(sorted(grids, key=prod))
)


def _ranks(dims: Sequence[int], n: int) -> list[Rank]:
    return [Rank(number, dims, n) for number in range(prod(dims))]


def _logs(dims: tuple[int, ...]) -> list[int]:
    """The logarithms of sides and ranks, rounded up."""
    return [(n - 1).bit_length() for n in (prod(dims), *dims)]


def _rules(steps: Iterable[Any]) -> Iterator[tuple[Rule, Callable[[int], Any]]]:
    """The rules of steps, each with what of its value shows in a trace."""
    for one in steps:
        match one:
            case Loop():
                yield one.times, int
                yield from _rules(one.steps)
            case Exchange():
                yield from ((one.count, int), (one.tag, int))
                yield from ((rule, int) for rule in one.rows or ())
                if one.taking is not None:
                    yield one.taking, bool
            case Collective():
                yield one.count, int


@st.composite
def programs(draw: st.DrawFn, typed: bool = False) -> RandomProgram:
    """A program of a few steps, traced on three to six grids, and a larger grid of the same kind.

    Programs are left out if a rule has one value in all traces and another one on the larger grid.

    Args:
        typed: whether messages may have datatypes that follow rules.
    """
    kind = draw(st.sampled_from(["line", "powers", "squares", "planes"]))
    grids = draw({"line": _LINES, "powers": _POWERS, "squares": _SQUARES, "planes": _PLANES}[kind])
    if kind == "line":
        target: tuple[int, ...] = (max(grids)[0] + draw(st.integers(1, 8)),)
    elif kind == "powers":
        target = (2 * max(grids)[0],)
    elif kind == "squares":
        target = (max(grids)[0] + draw(st.integers(1, 2)),) * 2
    else:
        target = tuple(max(grid[d] for grid in grids) + draw(st.integers(d, 1)) for d in range(2))
    for seen, there in zip(zip(*map(_logs, grids), strict=True), _logs(target), strict=True):
        assume(len(set(seen)) > 1 or there in seen)
    n = draw(st.sampled_from([0, 0, 24, 60, 64, 100, 360, 1400]))
    inner = st.lists(_steps(typed), min_size=1, max_size=2).map(tuple)
    steps = draw(
        st.lists(st.one_of(_steps(typed), st.builds(Loop, _places(), inner)), min_size=1, max_size=3)
    )
    seen_ranks = [rank for dims in grids for rank in _ranks(dims, n)]
    for rule, outcome in _rules(steps):
        outcomes = {outcome(rule(rank, 0)) for rank in seen_ranks}
        assume(len(outcomes) > 1 or outcomes >= {outcome(rule(rank, 0)) for rank in _ranks(target, n)})
    for one in steps:
        if isinstance(one, Loop):
            assume(all(one.times(rank) <= MAX_TRIPS for dims in (*grids, target) for rank in _ranks(dims, n)))

    def body(rank: Rank) -> list[IssuedCall]:
        everybody = _ranks(rank.dims, rank.n)
        found = [one.calls(rank, everybody, 0, 100 * at + 10) for at, one in enumerate(steps)]
        return [*chain.from_iterable(found), call("Barrier", 990, comm="world")]

    return RandomProgram((*grids, target), n, body, str(steps))
