"""Costs of the algorithms of collective operations (Thakur, Rabenseifner, Gropp 2005; Hoefler 2010).

For each algorithm there is a formula in alpha, beta, gamma and tau, and the rounds one after the other with
their message sizes, so that each message takes the parameters of its own protocol range. All ranks start at
the same time. Formulas are exact for powers of two; between them trees take at most one round less. Recursive
doubling takes one more, for the ranks beyond a power of two, which its rounds count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sympy  # type: ignore[import-untyped]

from scalatrace.predict.models.messages import NO_DELAYS, Delays, gap_ns, message_ns, network_of
from scalatrace.predict.models.symbols import ALPHA, BETA, GAMMA, LOG, TAU, P, S
from scalatrace.predict.platform import Platform

__all__ = ["COSTS", "Cost", "Round", "time_ns"]


@dataclass(frozen=True)
class Round:
    """Equal steps of the slowest rank.

    Attributes:
        nbytes: of the message of each step.
        times: how many steps.
        reduced: bytes that the operator of a reduction combines in each.
        is_gap: whether a step waits only until the same sender sends again.
    """

    nbytes: float
    times: int = 1
    reduced: float = 0.0
    is_gap: bool = False


Rounds = Callable[[float, int], Iterator[Round]]


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
    total = 0.0
    for step in COSTS[operation][algorithm].rounds(float(nbytes), nranks):
        one = gap_ns if step.is_gap else message_ns
        total += step.times * (one(network, step.nbytes, delays) + step.reduced * gamma)
    return total


def _log(nranks: int) -> int:
    return (nranks - 1).bit_length()


def _blocks(nranks: int) -> Iterator[int]:
    """Yield the blocks that the root of a binomial scatter sends, the largest subtree first."""
    masks = [1 << i for i in reversed(range(_log(nranks)))]
    return (min(mask, nranks - mask) for mask in masks)


def _doubling(reduces: int = 0) -> Rounds:
    """Rounds with the whole message."""
    return lambda s, p: iter([Round(s, _log(p), reduces * s)])


def _folded(reduces: int = 0) -> Rounds:
    """As `_doubling` over a power of two; other ranks send to one of these before, and receive after."""

    def rounds(s: float, p: int) -> Iterator[Round]:
        is_power = p & (p - 1) == 0
        yield Round(s, p.bit_length() - 1 if is_power else p.bit_length(), reduces * s)
        if not is_power:
            yield Round(s)

    return rounds


def _each(reduces: int = 0, share: bool = False, passes: int = 1) -> Rounds:
    """P - 1 rounds, with the message or its P-th part; the operator works in the first pass."""

    def rounds(s: float, p: int) -> Iterator[Round]:
        nbytes = s / p if share else s
        yield Round(nbytes, p - 1, reduces * nbytes)
        if passes > 1:
            yield Round(nbytes, (passes - 1) * (p - 1))

    return rounds


def _tree(reduces: int = 0, share: bool = False) -> Rounds:
    """Rounds of the blocks of a binomial tree: of S bytes each, or of the P-th part of S."""

    def rounds(s: float, p: int) -> Iterator[Round]:
        for blocks in _blocks(p):
            nbytes = blocks * (s / p if share else s)
            yield Round(nbytes, 1, reduces * nbytes)

    return rounds


def _linear(reduces: int = 0) -> Rounds:
    """One rank sends to all others, or receives from all."""

    def rounds(s: float, p: int) -> Iterator[Round]:
        yield Round(s, 1, reduces * s)
        yield Round(s, p - 2, reduces * s, is_gap=True)

    return rounds


def _bruck(s: float, p: int) -> Iterator[Round]:
    """Half of all blocks in each round: those whose distance has that bit."""
    for i in range(_log(p)):
        yield Round(s * sum(1 for distance in range(1, p) if distance >> i & 1))


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
_LINEAR_REDUCE = _R + (P - 2) * (TAU(S) + GAMMA * S)
_TREE = LOG * ALPHA + (P - 1) * BETA * S
_SHARED_TREE = LOG * ALPHA + _PART * BETA * S
_WHOLE = {S: P * S}

COSTS: dict[str, dict[str, Cost]] = {
    "barrier": {
        "dissemination": Cost(LOG * ALPHA, _empty(_doubling())),
        "recursive_doubling": Cost(LOG * ALPHA, _empty(_folded())),
        "tree": Cost(2 * LOG * ALPHA, _empty(_then(_doubling(), _doubling()))),
        "linear": Cost(2 * (ALPHA + (P - 2) * TAU(0)), _empty(_then(_linear(), _linear()))),
    },
    "bcast": {
        "binomial": Cost(LOG * _T, _doubling()),
        "scatter_allgather": Cost(
            (LOG + P - 1) * ALPHA + 2 * _PART * BETA * S, _then(_tree(share=True), _each(share=True))
        ),
        "chain": Cost((P - 1) * _T, _each()),
        "linear": Cost(_LINEAR, _linear()),
    },
    "reduce": {
        "binomial": Cost(LOG * _R, _doubling(1)),
        "rabenseifner": Cost(
            2 * _SHARED_TREE + _PART * GAMMA * S, _then(_tree(1, share=True), _tree(share=True))
        ),
        "linear": Cost(_LINEAR_REDUCE, _linear(1)),
    },
    "allreduce": {
        "recursive_doubling": Cost(LOG * _R, _folded(1)),
        "rabenseifner": Cost(
            2 * _SHARED_TREE + _PART * GAMMA * S, _then(_tree(1, share=True), _tree(share=True))
        ),
        "ring": Cost(
            2 * (P - 1) * ALPHA + 2 * _PART * BETA * S + _PART * GAMMA * S, _each(1, share=True, passes=2)
        ),
        "reduce_bcast": Cost(LOG * (_R + _T), _then(_doubling(1), _doubling())),
    },
    "gather": {"binomial": Cost(_TREE, _tree()), "linear": Cost(_LINEAR, _linear())},
    "scatter": {"binomial": Cost(_TREE, _tree()), "linear": Cost(_LINEAR, _linear())},
    "allgather": {
        "recursive_doubling": Cost(_TREE, _tree()),
        "ring": Cost((P - 1) * _T, _each()),
        "bruck": Cost(_TREE, _tree()),
        "gather_bcast": Cost(_TREE + LOG * _T.subs(_WHOLE), _then(_tree(), _whole(_doubling()))),
    },
    "alltoall": {
        "bruck": Cost(LOG * (ALPHA + P / 2 * BETA * S), _bruck),
        "pairwise": Cost((P - 1) * _T, _each()),
        "linear": Cost(_LINEAR, _linear()),
    },
    "reduce_scatter": {
        "pairwise": Cost((P - 1) * _R, _each(1)),
        "recursive_halving": Cost(_TREE + (P - 1) * GAMMA * S, _tree(1)),
        "linear": Cost(_LINEAR_REDUCE.subs(_WHOLE) + _LINEAR, _then(_whole(_linear(1)), _linear())),
    },
    "scan": {
        "recursive_doubling": Cost(LOG * _R, _doubling(1)),
        "linear": Cost((P - 1) * _R, _each(1)),
    },
}
"""Operation -> algorithm -> cost, of all algorithms that a platform may name."""
