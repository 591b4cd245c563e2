"""Costs of the algorithms of collective operations (Thakur, Rabenseifner, Gropp 2005; Hoefler 2010).

For each algorithm there is a formula in alpha, beta, gamma and tau, and the rounds one after the other with
their message sizes, so that each message takes the parameters of its own protocol range. All ranks start at
the same time. Formulas are exact for powers of two. Between them trees take at most one round less; recursive
doubling and halving take more, for the ranks beyond a power of two, which the rounds count. Neighbor exchange
is a ring on odd numbers of ranks, likewise. Models of binary trees are within a message of the longest path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import fsum

import sympy  # type: ignore[import-untyped]

from scalatrace.predict.models.messages import (
    NO_DELAYS,
    Delays,
    exchange_gap_ns,
    gap_ns,
    message_ns,
    network_of,
    receive_gap_ns,
)
from scalatrace.predict.models.symbols import ALPHA, BETA, GAMMA, LOG, PHI, RHO, TAU, P, S
from scalatrace.predict.platform import Platform

__all__ = ["COSTS", "Cost", "ModelRound", "time_ns"]


MESSAGE, SENDS, RECEIVES, EXCHANGES = "message", "sends", "receives", "exchanges"

_TIMES = {
    MESSAGE: message_ns,
    SENDS: gap_ns,
    RECEIVES: receive_gap_ns,
    EXCHANGES: exchange_gap_ns,
}


@dataclass(frozen=True)
class ModelRound:
    """Equal steps of the slowest rank.

    Attributes:
        nbytes: of the message of each step.
        times: how many steps.
        reduced: bytes that the operator of a reduction combines in each.
        kind: MESSAGE, or a gap: until the same rank sends, receives, or both, again.
    """

    nbytes: float
    times: int = 1
    reduced: float = 0.0
    kind: str = MESSAGE

    @property
    def is_gap(self) -> bool:
        """Whether it is less than a message."""
        return self.kind != MESSAGE


Rounds = Callable[[float, int], Iterator[ModelRound]]


@dataclass(frozen=True)
class Cost:
    """An algorithm: its formula, and its rounds for S bytes and P ranks."""

    formula: sympy.Expr
    rounds: Rounds


def time_ns(
    platform: Platform, operation: str, algorithm: str, nbytes: float, nranks: int, delays: Delays = NO_DELAYS
) -> float:
    """Return the time of an operation, each message by its own protocol range.

    Args:
        operation, algorithm: of `platform/algorithms.py`.
        nbytes: as the rules of that operation count them.
        nranks: 1 or more; one rank alone takes no time.
    """
    if nranks < 2:
        return 0.0
    network, gamma = network_of(platform, nranks), platform.reduce_per_byte_ns
    delays = replace(delays, has_interface=platform.interface != "unlimited")
    # Algorithms with the same messages in another order take exactly the same time.
    return fsum(
        step.times * (_TIMES[step.kind](network, step.nbytes, delays) + step.reduced * gamma)
        for step in COSTS[operation][algorithm].rounds(float(nbytes), nranks)
    )


def _log(nranks: int) -> int:
    return (nranks - 1).bit_length()


def _blocks(nranks: int) -> Iterator[int]:
    """Yield the blocks that the root of a binomial scatter sends, the largest subtree first."""
    masks = [1 << i for i in reversed(range(_log(nranks)))]
    return (min(mask, nranks - mask) for mask in masks)


def _doubling(reduces: int = 0) -> Rounds:
    """Rounds with the whole message."""
    return lambda s, p: iter([ModelRound(s, _log(p), reduces * s)])


def _binomial(kind: str, reduces: int = 0) -> Rounds:
    """As `_doubling`; beyond a power of two, the root sends or receives once more beside the others."""

    def rounds(s: float, p: int) -> Iterator[ModelRound]:
        yield ModelRound(s, p.bit_length() - 1, reduces * s)
        if p & (p - 1):
            yield ModelRound(s, 1, reduces * s, kind)

    return rounds


def _fold(reduces: int = 0) -> Rounds:
    """As `_doubling` over a power of two; other ranks send to one of these before, and receive after."""

    def rounds(s: float, p: int) -> Iterator[ModelRound]:
        is_power = p & (p - 1) == 0
        yield ModelRound(s, p.bit_length() - 1 if is_power else p.bit_length(), reduces * s)
        if not is_power:
            yield ModelRound(s)

    return rounds


def _each(reduces: int = 0, share: bool = False, passes: int = 1) -> Rounds:
    """P - 1 rounds, with the message or its P-th part; the operator works in the first pass."""

    def rounds(s: float, p: int) -> Iterator[ModelRound]:
        nbytes = s / p if share else s
        yield ModelRound(nbytes, p - 1, reduces * nbytes)
        if passes > 1:
            yield ModelRound(nbytes, (passes - 1) * (p - 1))

    return rounds


def _tree(reduces: int = 0, share: bool = False) -> Rounds:
    """Rounds of the blocks of a binomial tree: of S bytes each, or of the P-th part of S."""

    def rounds(s: float, p: int) -> Iterator[ModelRound]:
        for blocks in _blocks(p):
            nbytes = blocks * (s / p if share else s)
            yield ModelRound(nbytes, 1, reduces * nbytes)

    return rounds


def _linear(kind: str, reduces: int = 0) -> Rounds:
    """One rank sends to all others, or receives from all; or each rank does both."""

    def rounds(s: float, p: int) -> Iterator[ModelRound]:
        yield ModelRound(s, 1, reduces * s)
        yield ModelRound(s, p - 2, reduces * s, kind)

    return rounds


def _halving(s: float, p: int) -> Iterator[ModelRound]:
    """Exchange and reduce half of what is left; ranks beyond a power of two send all of theirs before."""
    if p & (p - 1):
        yield ModelRound(s, 1, s)
    for i in range(1, p.bit_length()):
        yield ModelRound(s / 2**i, 1, s / 2**i)


def _rabenseifner(s: float, p: int) -> Iterator[ModelRound]:
    """Halving, then the reduced parts; ranks beyond a power of two get the result last."""
    yield from _halving(s, p)
    yield from (ModelRound(s / 2**i) for i in range(1, p.bit_length()))
    if p & (p - 1):
        yield ModelRound(s)


def _recursive_halving(s: float, p: int) -> Iterator[ModelRound]:
    """Halving of the blocks of all ranks."""
    yield from _halving(s * p, p)
    if p & (p - 1):
        yield ModelRound(s)


def _bruck(s: float, p: int) -> Iterator[ModelRound]:
    """Half of all blocks in each round: those whose distance has that bit."""
    for i in range(_log(p)):
        yield ModelRound(s * sum(1 for distance in range(1, p) if distance >> i & 1))


def _neighbor_exchange(s: float, p: int) -> Iterator[ModelRound]:
    """One block, then two in each round; odd numbers of ranks use a ring."""
    if p % 2:
        yield from _each()(s, p)
        return
    yield ModelRound(s)
    yield ModelRound(2 * s, p // 2 - 1)


def _sparbit(s: float, p: int) -> Iterator[ModelRound]:
    """After the round of distance 2^i, a rank has (P - 1) // 2^i blocks, and its own."""
    for i in reversed(range(_log(p))):
        yield ModelRound(s * ((p - 1 >> i) - (p - 1 >> i + 1)))


def _binary(kind: str, reduces: int = 0) -> Rounds:
    """The deepest rank's messages, and those that ranks above it send or receive before: about."""

    def rounds(s: float, p: int) -> Iterator[ModelRound]:
        depth = p.bit_length() - 1
        lowest = p + 1 - (1 << depth)
        yield ModelRound(s, depth, reduces * s)
        yield ModelRound(s, max(depth - 1, lowest.bit_length() - 1), reduces * s, kind)

    return rounds


def _split_binary(s: float, p: int) -> Iterator[ModelRound]:
    """Halves of the message down the tree, then to another rank: about."""
    yield ModelRound(s / 2, _log(p))
    yield ModelRound(s / 2, max(_log(p) - 1, 1), kind=SENDS)


def _knomial(s: float, p: int) -> Iterator[ModelRound]:
    """At each distance, ranks send to up to three others."""
    distance = 1
    while distance * 4 < p:
        distance *= 4
    while distance:
        yield ModelRound(s)
        yield ModelRound(s, min(3, (p - 1) // distance) - 1, kind=SENDS)
        distance //= 4


def _scatter_doubling(s: float, p: int) -> Iterator[ModelRound]:
    """Doubling in place of the ring, on powers of two."""
    yield from _tree(share=True)(s, p)
    yield from (_each if p & (p - 1) else _tree)(share=True)(s, p)


def _then(*parts: Rounds) -> Rounds:
    return lambda s, p: (step for part in parts for step in part(s, p))


def _whole(part: Rounds) -> Rounds:
    """Rounds of the blocks of all ranks together."""
    return lambda s, p: part(s * p, p)


def _empty(part: Rounds) -> Rounds:
    return lambda s, p: part(0.0, p)


_T = ALPHA + BETA * S
_R = _T + GAMMA * S
_PART = (P - 1) / P
_LINEAR = _T + (P - 2) * TAU(S)
_LINEAR_RECEIVE = _T + (P - 2) * RHO(S)
_LINEAR_REDUCE = _R + (P - 2) * (RHO(S) + GAMMA * S)
_TREE = LOG * ALPHA + (P - 1) * BETA * S
_SHARED_TREE = LOG * ALPHA + _PART * BETA * S
_WHOLE = {S: P * S}

COSTS: dict[str, dict[str, Cost]] = {
    "barrier": {
        "dissemination": Cost(LOG * ALPHA, _empty(_doubling())),
        "recursive_doubling": Cost(LOG * ALPHA, _empty(_fold())),
        "tree": Cost(2 * LOG * ALPHA, _empty(_then(_binomial(RECEIVES), _binomial(SENDS)))),
        "linear": Cost(
            2 * ALPHA + (P - 2) * (RHO(0) + TAU(0)), _empty(_then(_linear(RECEIVES), _linear(SENDS)))
        ),
    },
    "bcast": {
        "binomial": Cost(LOG * _T, _binomial(SENDS)),
        "scatter_allgather": Cost(
            (LOG + P - 1) * ALPHA + 2 * _PART * BETA * S, _then(_tree(share=True), _each(share=True))
        ),
        "chain": Cost((P - 1) * _T, _each()),
        "linear": Cost(_LINEAR, _linear(SENDS)),
        "scatter_doubling": Cost(2 * _SHARED_TREE, _scatter_doubling),
        "binary": Cost(LOG * _T + (LOG - 1) * TAU(S), _binary(SENDS)),
        "split_binary": Cost(LOG * (ALPHA + BETA * S / 2) + (LOG - 1) * TAU(S / 2), _split_binary),
        "knomial": Cost(LOG / 2 * (_T + 2 * TAU(S)), _knomial),
    },
    "reduce": {
        "binomial": Cost(LOG * _R, _binomial(RECEIVES, 1)),
        "rabenseifner": Cost(2 * _SHARED_TREE + _PART * GAMMA * S, _rabenseifner),
        "linear": Cost(_LINEAR_REDUCE, _linear(RECEIVES, 1)),
        "chain": Cost((P - 1) * _R, _each(1)),
        "binary": Cost(LOG * _R + (LOG - 1) * (RHO(S) + GAMMA * S), _binary(RECEIVES, 1)),
    },
    "allreduce": {
        "recursive_doubling": Cost(LOG * _R, _fold(1)),
        "rabenseifner": Cost(2 * _SHARED_TREE + _PART * GAMMA * S, _rabenseifner),
        "ring": Cost(
            2 * (P - 1) * ALPHA + 2 * _PART * BETA * S + _PART * GAMMA * S, _each(1, share=True, passes=2)
        ),
        "linear": Cost(_LINEAR_REDUCE + _LINEAR, _then(_linear(RECEIVES, 1), _linear(SENDS))),
        "reduce_bcast": Cost(LOG * (_R + _T), _then(_binomial(RECEIVES, 1), _binomial(SENDS))),
    },
    "gather": {"binomial": Cost(_TREE, _tree()), "linear": Cost(_LINEAR_RECEIVE, _linear(RECEIVES))},
    "scatter": {"binomial": Cost(_TREE, _tree()), "linear": Cost(_LINEAR, _linear(SENDS))},
    "allgather": {
        "recursive_doubling": Cost(_TREE, _tree()),
        "ring": Cost((P - 1) * _T, _each()),
        "bruck": Cost(_TREE, _tree()),
        "gather_bcast": Cost(_TREE + LOG * _T.subs(_WHOLE), _then(_tree(), _whole(_binomial(SENDS)))),
        "neighbor_exchange": Cost(P / 2 * ALPHA + (P - 1) * BETA * S, _neighbor_exchange),
        "sparbit": Cost(_TREE, _sparbit),
    },
    "alltoall": {
        "bruck": Cost(LOG * (ALPHA + P / 2 * BETA * S), _bruck),
        "pairwise": Cost((P - 1) * _T, _each()),
        "linear": Cost(_T + (P - 2) * PHI(S), _linear(EXCHANGES)),
    },
    "reduce_scatter": {
        "pairwise": Cost((P - 1) * _R, _each(1)),
        "recursive_halving": Cost(_TREE + (P - 1) * GAMMA * S, _recursive_halving),
        "linear": Cost(
            _LINEAR_REDUCE.subs(_WHOLE) + _LINEAR, _then(_whole(_linear(RECEIVES, 1)), _linear(SENDS))
        ),
        "ring": Cost((P - 1) * _R, _each(1)),
        "recursive_doubling": Cost(LOG * _R.subs(_WHOLE), _whole(_fold(1))),
        "reduce_scatterv": Cost(
            LOG * _R.subs(_WHOLE) + _LINEAR, _then(_whole(_binomial(RECEIVES, 1)), _linear(SENDS))
        ),
    },
    "scan": {
        "recursive_doubling": Cost(LOG * _R, _doubling(1)),
        "linear": Cost((P - 1) * _R, _each(1)),
    },
}
"""Operation -> algorithm -> cost, of all algorithms that a platform may name."""
