"""The four levels of a performance model: asymptotic, dominant term, bounded, exact (Hoefler 2010).

The exact level is without congestion, with contiguous data and empty queues, and all ranks start together.
The upper bound adds links shared in the worst mapping and by the messages to one receiver, a matching queue
of R entries, and strided data.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy  # type: ignore[import-untyped]

from scalatrace.errors import UsageError
from scalatrace.predict.models.collectives import COSTS, time_ns
from scalatrace.predict.models.congestion import shared_links_ns, worst_case
from scalatrace.predict.models.growth import Dominant, asymptotic, dominant
from scalatrace.predict.models.messages import Delays, message_ns, network_of
from scalatrace.predict.models.symbols import (
    ALPHA,
    BETA,
    CONGESTION,
    MATCH,
    PHI,
    QUEUE,
    RHO,
    STRIDED,
    TAU,
    P,
    S,
)
from scalatrace.predict.platform import Platform
from scalatrace.spelling import did_you_mean

__all__ = ["MESSAGE", "OPERATIONS", "LevelTimes", "Levels", "algorithms_of", "levels", "times"]

MESSAGE = "message"
"""The operation of one point-to-point message; it has one algorithm of the same name."""

OPERATIONS = (MESSAGE, *COSTS)


@dataclass(frozen=True)
class Levels:
    """Models of an operation by an algorithm, in the symbols of `symbols.py`; ns.

    Attributes:
        asymptotic: growth with S and P.
        dominant: terms with the largest growth, with coefficients.
        lower, upper: bounds; `congestion` is the C of the upper one as a function of P.
        exact: for powers of two.
    """

    operation: str
    algorithm: str
    asymptotic: sympy.Expr
    dominant: Dominant
    lower: sympy.Expr
    upper: sympy.Expr
    congestion: sympy.Expr
    exact: sympy.Expr


@dataclass(frozen=True)
class LevelTimes:
    """Values for one size.

    Attributes:
        exact_ns: without congestion, queues and strides: the lower bound, too.
        upper_ns: with them: by the links of the topology, or in the worst mapping where it does not say.
    """

    nbytes: int
    nranks: int
    algorithm: str
    exact_ns: float
    upper_ns: float


def algorithms_of(operation: str) -> tuple[str, ...]:
    """Return the names of an operation's algorithms. Raises UsageError for one that has no models."""
    if operation == MESSAGE:
        return (MESSAGE,)
    if operation not in COSTS:
        operations = ", ".join(OPERATIONS) + did_you_mean(operation, OPERATIONS)
        raise UsageError(f"{operation}: no models of this operation; there are {operations}")
    return tuple(COSTS[operation])


def levels(
    platform: Platform, operation: str, algorithm: str, queue: int = 0, strided: bool = False
) -> Levels:
    """Return the models of an operation.

    Args:
        queue: entries of the matching queue that the upper bound assumes.
        strided: whether the upper bound assumes data with holes.

    Raises:
        UsageError: there is no such operation or algorithm.
    """
    _check(operation, algorithm)
    exact = ALPHA + BETA * S if operation == MESSAGE else COSTS[operation][algorithm].formula
    congestion = worst_case(platform)
    slower = {
        ALPHA: ALPHA + (MATCH * QUEUE if queue else 0),
        BETA: BETA * (CONGESTION if congestion != 1 else 1) + (2 * STRIDED if strided else 0),
    }
    upper = exact.subs(slower, simultaneous=True)
    upper = upper.replace(RHO, TAU)
    if congestion != 1:
        for gap in (TAU, PHI):
            upper = upper.replace(gap, lambda size, gap=gap: gap(size) * CONGESTION)
    return Levels(operation, algorithm, asymptotic(exact), dominant(exact), exact, upper, congestion, exact)


def times(
    platform: Platform,
    operation: str,
    nbytes: int,
    nranks: int,
    algorithm: str | None = None,
    queue: int = 0,
    strided: bool = False,
) -> LevelTimes:
    """Evaluate the model of an operation.

    Args:
        algorithm: None: the platform's choice for this size.
        queue, strided: as in `levels`.

    Raises:
        UsageError: there is no such operation or algorithm.
    """
    if algorithm is None:
        chosen = operation == MESSAGE or operation not in COSTS
        algorithm = MESSAGE if chosen else platform.algorithm(operation, nbytes, nranks)
    _check(operation, algorithm)
    shared_ns = shared_links_ns(platform, operation, algorithm, nbytes, nranks)
    worst = float(worst_case(platform).subs(P, max(nranks, 1))) if shared_ns is None else 1.0
    delays = Delays(
        congestion=max(worst, 1.0),
        per_message_ns=queue * platform.matching.per_entry_ns,
        per_byte_ns=2 * platform.strided.per_byte_ns if strided else 0.0,
        shares_receiver=True,
    )
    if operation == MESSAGE:
        network = network_of(platform, nranks)
        values = message_ns(network, nbytes), message_ns(network, nbytes, delays)
    else:
        values = (
            time_ns(platform, operation, algorithm, nbytes, nranks),
            time_ns(platform, operation, algorithm, nbytes, nranks, delays) + (shared_ns or 0.0),
        )
    return LevelTimes(nbytes, nranks, algorithm, *values)


def _check(operation: str, algorithm: str) -> None:
    algorithms = algorithms_of(operation)
    if algorithm not in algorithms:
        raise UsageError(f"{operation} has no algorithm {algorithm!r}; there are {', '.join(algorithms)}")
