"""The place of a peer on the grid: guessed on small grids, then proved for all sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from scalatrace.errors import FormulaError
from scalatrace.extrap.proofs.prover import Prover
from scalatrace.extrap.proofs.scenario import Scenario, mixed_radix
from scalatrace.extrap.proofs.values import Unprovable
from scalatrace.formula import (
    Binary,
    Compare,
    Cond,
    Const,
    Expr,
    Var,
    add,
    all_of,
    choose,
    compare,
    either,
    evaluate,
    mul,
    names_in,
    sub,
)
from scalatrace.formula.prove import Proved
from scalatrace.trace.model.peer_encoding import Encoding

SHIFTS = (0, 1, -1, 2, -2, 3, -3)
"""Distances between neighbours, the most usual first."""

TURNS = (0, 1, -1, 2)
"""How often a distance modulo the number of ranks goes round, at most."""

ITERATIONS = (0, 1, 2)
"""Iterations for which places are guessed."""

__all__ = ["PeerPlace", "is_same", "place_of"]


@dataclass(frozen=True)
class PeerPlace:
    """The place of a peer.

    Attributes:
        coords: its coordinates as expressions of the own ones; () for a peer at an XOR distance.
        distance: that distance, the same for all ranks.
    """

    coords: tuple[Expr, ...]
    distance: Expr | None = None


def is_same(a: PeerPlace, b: PeerPlace) -> Cond:
    """Return whether two peers of one rank are equal. Raises Unprovable."""
    if a.distance is not None and b.distance is not None:
        return _equal(a.distance, b.distance)
    if a.distance is not None or b.distance is not None:
        raise Unprovable("bits of ranks and coordinates are mixed")
    return all_of(*(_equal(x, y) for x, y in zip(a.coords, b.coords, strict=True)))


def _equal(a: Expr, b: Expr) -> Cond:
    return compare("==", sub(a, b), Const(0))


def place_of(
    prover: Prover, condition: Cond, peer: Expr, encoding: Encoding, axes: tuple[int, ...]
) -> PeerPlace:
    """Return the place of a peer.

    Args:
        prover: for the sizes.
        given: when there is such a peer.
        peer: as it is stored.
        encoding: of it.
        axes: the dimensions that the communicator is a slice along, the slowest first.

    Raises:
        Refuted: there is none, for some sizes.
        Unprovable: none is found.
    """
    scenario = prover.scenario
    size = mixed_radix([(Const(1), Const(1))])
    for axis in axes:
        size = mul(size, scenario.sides[axis]) if size != Const(1) else scenario.sides[axis]
    own_number = _number(scenario, axes, scenario.coords)
    if encoding is Encoding.XOR:
        return _at_distance(prover, condition, peer, size, len(axes))
    target = add(own_number, peer) if encoding in (Encoding.RELATIVE, Encoding.MODULO) else peer
    for coords in _guesses(scenario, condition, target, encoding, axes):
        number = _number(scenario, axes, coords)
        turns = TURNS if encoding is Encoding.MODULO else (0,)
        reached = either(*(_equal(sub(target, mul(size, Const(k))), number) for k in turns))
        if isinstance(prover.holds(condition, all_of(*scenario.inside(coords), reached)), Proved):
            return PeerPlace(coords)
    prover.require(
        "the peer is in its communicator",
        condition,
        all_of(Compare(">=", target, Const(0)), Compare("<", target, size))
        if encoding is not Encoding.MODULO
        else Compare("==", Const(0), Const(0)),
    )
    raise Unprovable("no place on the grid was found for its peer")


def _at_distance(prover: Prover, condition: Cond, distance: Expr, size: Expr, ndims: int) -> PeerPlace:
    """Return the place of a peer at an XOR distance, among a power of two of ranks."""
    scenario = prover.scenario
    if not scenario.powers or ndims < len(scenario.sides):
        raise Unprovable("its peer is at an XOR distance")
    if names_in(distance) & set(scenario.grid.coords):
        raise Unprovable("its peer is at an XOR distance that differs from rank to rank")
    below = [
        all_of(Compare(">=", distance, Const(0)), Compare("<", distance, n)) for n in (*scenario.sides, size)
    ]
    if not any(isinstance(prover.holds(condition, inside), Proved) for inside in below):
        prover.require("the peer is in its communicator", condition, below[-1])
    return PeerPlace((), distance)


def _number(scenario: Scenario, axes: tuple[int, ...], coords: Sequence[Expr]) -> Expr:
    """Return the rank in a communicator of a place on the grid."""
    return mixed_radix([(coords[axis], scenario.sides[axis]) for axis in axes])


def _guesses(
    scenario: Scenario, condition: Cond, target: Expr, encoding: Encoding, axes: tuple[int, ...]
) -> Iterator[tuple[Expr, ...]]:
    """Coordinates that are right on small grids."""
    points = list(_points(scenario, condition, target, encoding, axes))
    if not points:
        yield scenario.coords  # nobody has such a peer
        return
    guesses: list[list[Expr]] = []
    for axis in range(len(scenario.sides)):
        if axis not in axes:
            guesses.append([scenario.coords[axis]])
            continue
        fitting = [
            e
            for e in _candidates(scenario, axis)
            if all(_fits(e, names, place[axis]) for names, place in points)
        ]
        guesses.append(fitting[:3])
    yield from product(*guesses)


def _fits(e: Expr, names: dict[str, object], wanted: object) -> bool:
    try:
        return bool(np.all(evaluate(e, names) == wanted))
    except FormulaError:
        return False


def _points(
    scenario: Scenario, condition: Cond, target: Expr, encoding: Encoding, axes: tuple[int, ...]
) -> Iterator[tuple[dict[str, object], list[object]]]:
    """Names of ranks that have the peer, and its coordinates, per small grid."""
    inputs = [inputs for _, inputs in scenario.model.seen]
    counters = names_in(target, condition) - {*scenario.grid.sizes, *scenario.grid.coords, *inputs[0]}
    for grid in scenario.samples:
        for k in ITERATIONS if counters else (0,):
            names = {**inputs[-1], **grid.columns, **dict.fromkeys(counters, k)}
            try:
                mine = np.broadcast_to(np.asarray(evaluate(condition, names), dtype=bool), (grid.nprocs,))
                if not mine.any():
                    continue
                peers = np.broadcast_to(evaluate(target, names), (grid.nprocs,))[mine]
            except FormulaError:
                continue
            sides = [grid.dims[axis] for axis in axes]
            count = int(np.prod(sides))
            if encoding is Encoding.MODULO:
                peers = peers % count
            if ((peers < 0) | (peers >= count)).any():
                continue
            own_coords = {c: grid.columns[c][mine] for c in grid.coords}
            coords: list[object] = [own_coords[c] for c in grid.coords]
            for axis, column in zip(axes, np.unravel_index(peers, sides), strict=True):
                coords[axis] = column
            yield {**names, **own_coords}, coords


def _candidates(scenario: Scenario, axis: int) -> Iterator[Expr]:
    """Expressions that the coordinate of a peer can be."""
    own_coord, side, unit = scenario.coords[axis], scenario.sides[axis], Const(1)
    last = sub(side, unit)
    for k in SHIFTS:
        yield add(own_coord, Const(k))
    for k in SHIFTS[1:]:
        beyond = (
            compare(">=", add(own_coord, Const(k)), side)
            if k > 0
            else compare("<", add(own_coord, Const(k)), Const(0))
        )
        yield choose(
            beyond,
            sub(add(own_coord, Const(k)), side) if k > 0 else add(add(own_coord, Const(k)), side),
            add(own_coord, Const(k)),
        )
    yield from (Const(0), last, unit, sub(last, own_coord))
    for coordinate in (Var(c.name) for n, c in enumerate(scenario.coords) if n != axis):
        for k in SHIFTS[:3]:
            yield add(coordinate, Const(k))
        for k in (2, 4):
            yield Binary("//", coordinate, Const(k))
            yield add(mul(coordinate, Const(k)), Binary("%", own_coord, Const(k)))
        yield sub(last, coordinate)
    for k in (1, 2, 3):
        pair = mul(Binary("//", own_coord, Const(2)), Const(2))
        yield add(pair, Const(k - 1))
    yield choose(
        compare("==", Binary("%", own_coord, Const(2)), Const(0)), add(own_coord, unit), sub(own_coord, unit)
    )
