"""Sensitivity of the run time to latency and bandwidth: curves, and tolerances along the longest path.

Where calls match the same messages, the time is a convex, piecewise linear function of a factor on all
latencies, or on all times per byte: a maximum over paths. Its slope is that part of the longest path. So
Newton's method finds the factor at which a run is 1 % slower in a few simulations, exactly. LLAMP (Shen et
al. 2024) solves linear programs for the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from scalatrace.predict.engine.simulate import Options, Simulation, Simulator
from scalatrace.predict.platform import Platform
from scalatrace.predict.platform.scaled import scaled

__all__ = ["LATENCY", "PER_BYTE", "Tolerance", "sweep", "tolerances"]

LATENCY, PER_BYTE = "latency", "per_byte"

MAX_STEPS = 60
MAX_FACTOR = 2.0**40
NEAR_ENOUGH = 1e-7
"""Relative difference of times at which a tolerance is accepted."""

_PATH_PART = {LATENCY: 2, PER_BYTE: 3}
"""Parameter -> its part of `Simulation.path`."""


@dataclass(frozen=True)
class Tolerance:
    """A factor on a parameter until a run is slower by a share.

    Attributes:
        share: 0.01 for 1 %.
        factor: None if no factor makes the run so slow.
    """

    parameter: str
    share: float
    factor: float | None


def tolerances(
    simulator: Simulator,
    platform: Platform,
    shares: Sequence[float],
    options: Options | None = None,
    start: Simulation | None = None,
) -> Iterator[Tolerance]:
    """Yield the tolerances of both parameters for each share.

    Args:
        start: the run on the platform as it is, if there is one.

    Raises:
        DeadlockError, FormatError, LimitError: as `Simulator.run`.
    """
    start = start or simulator.run(platform, options)
    for parameter in (LATENCY, PER_BYTE):

        def run(factor: float, parameter: str = parameter) -> tuple[float, float]:
            changed = {"latency": factor} if parameter == LATENCY else {"bandwidth": 1 / factor}
            result = simulator.run(scaled(platform, **changed), options)
            return float(result.time_ps), float(result.path[_PATH_PART[parameter]]) / factor

        for share in shares:
            target = start.time_ps * (1 + share)
            slope = float(start.path[_PATH_PART[parameter]])
            yield Tolerance(parameter, share, _solve(run, start.time_ps, slope, target))


def _solve(
    run: Callable[[float], tuple[float, float]], time: float, slope: float, target: float
) -> float | None:
    """Return the factor, above 1, at which the time reaches a target; run(factor) gives time and slope.

    A step along the tangent of a convex function passes the root, and from there Newton's method does not
    pass it again. Brackets keep it safe where other matches of wildcards break the convexity.
    """
    low, high = 1.0, MAX_FACTOR
    factor = 1.0
    for _ in range(MAX_STEPS):
        step = factor + (target - time) / slope if slope > 0 else factor * 2
        if not low < step < high:
            step = factor * 2 if high == MAX_FACTOR else (low + high) / 2
        if step >= MAX_FACTOR:
            return None
        factor = step
        time, slope = run(factor)
        if abs(time - target) <= NEAR_ENOUGH * target:
            return factor
        if time < target:
            low = factor
        else:
            high = factor
    return factor


def sweep(
    simulator: Simulator,
    platform: Platform,
    factors: Mapping[str, Sequence[float]],
    options: Options | None = None,
) -> Iterator[tuple[dict[str, float], Simulation]]:
    """Yield the result of each combination of factors; `platform.scaled` has their names.

    Raises:
        UsageError: a factor is no factor.
        DeadlockError, FormatError, LimitError: as `Simulator.run`.
    """
    for values in product(*factors.values()):
        chosen = dict(zip(factors, values, strict=True))
        # Kernels with a model take no factor of the platform.
        own = options or Options()
        own = replace(own, compute_scale=own.compute_scale * chosen.get("compute", 1.0))
        changed = replace(scaled(platform, **chosen), compute_scale=platform.compute_scale)
        yield chosen, simulator.run(changed, own)
