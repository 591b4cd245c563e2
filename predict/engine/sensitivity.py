"""Sensitivity of the run time to latency and bandwidth: curves, and tolerances along the longest path.

Where calls match the same messages, the time is a convex, piecewise linear function of a factor on all
latencies, or on all times per byte: a maximum over paths. Its slope is that part of the longest path. So
Newton's method finds the factor at which a run is 1 % slower in a few simulations, exactly. Tangents bound
the time from below, the line through two runs from above. Where these bounds meet, no further run is needed.
LLAMP (Shen et al. 2024) solves linear programs for the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from operator import attrgetter

from scalatrace.errors import UsageError
from scalatrace.executor.call_times import TooLongCallError
from scalatrace.predict.engine.simulate import SimulateOptions, Simulation, Simulator
from scalatrace.predict.platform.model import Network, Platform, Segment
from scalatrace.spelling import did_you_mean

__all__ = ["FACTORS", "LATENCY", "PER_BYTE", "Tolerance", "scale_platform", "sweep", "tolerances"]

FACTORS = ("latency", "bandwidth", "overhead", "compute")
"""What can be scaled: a bandwidth of 2 halves the time per byte, a compute of 2 doubles computation times."""


def scale_platform(platform: Platform, **factors: float) -> Platform:
    """Return a platform with its parameters times factors, by the names in `FACTORS`.

    Raises:
        UsageError: an unknown name, or a factor that is negative, or 0 for the bandwidth.
    """
    for name, factor in factors.items():
        if name not in FACTORS:
            names = ", ".join(FACTORS) + did_you_mean(name, FACTORS)
            raise UsageError(f"{name}: no parameter to scale; known: {names}")
        if not 0 <= factor < float("inf") or (name == "bandwidth" and factor == 0):
            raise UsageError(f"{name}={factor:g}: factors must be 0 or more, that of the bandwidth above 0")
    full = {name: factors.get(name, 1.0) for name in FACTORS}
    return replace(
        platform,
        network=_network(platform.network, full),
        memory=None if platform.memory is None else _network(platform.memory, full),
        topology=platform.topology.scaled(full["latency"], 1 / full["bandwidth"]),
        compute_scale=platform.compute_scale * full["compute"],
    )


def _network(network: Network, factors: dict[str, float]) -> Network:
    return replace(
        network,
        segments=tuple(_segment(segment, factors) for segment in network.segments),
        rendezvous_latency_ns=network.rendezvous_latency_ns * factors["latency"],
    )


def _segment(segment: Segment, factors: dict[str, float]) -> Segment:
    overhead = factors["overhead"]
    return replace(
        segment,
        latency_ns=segment.latency_ns * factors["latency"],
        per_byte_ns=segment.per_byte_ns / factors["bandwidth"],
        send_overhead_ns=segment.send_overhead_ns * overhead,
        recv_overhead_ns=segment.recv_overhead_ns * overhead,
        send_overhead_per_byte_ns=segment.send_overhead_per_byte_ns * overhead,
        recv_overhead_per_byte_ns=segment.recv_overhead_per_byte_ns * overhead,
    )


LATENCY, PER_BYTE = "latency", "per_byte"

MAX_STEPS = 60
MAX_FACTOR = 2.0**40
GROWTH = 16.0
"""Factor from run to run as long as the parameter is not on the longest path."""
MAX_TOLERANCE_ERROR = 1e-6
"""Relative difference of times, or of factors below and above it, at which a tolerance is accepted."""
ROUNDING_PS = 1.0
"""Rounding error of a message's time."""

_PATH_PART = {LATENCY: 1, PER_BYTE: 2}
"""Parameter -> its part of the longest path, after the time."""


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


@dataclass(frozen=True)
class _ScaledRun:
    """The time of a run, in ps, and its slope, with a factor on a parameter.

    Attributes:
        slack: difference (ps) from a time at which the run is accepted for it.
    """

    factor: float
    time: float
    slope: float
    slack: float

    @classmethod
    def of(cls, simulation: Simulation, parameter: str, factor: float) -> _ScaledRun:
        time, *parts, nmessages = (float(part) for part in simulation.path)
        slope = parts[_PATH_PART[parameter]] / factor
        return cls(factor, time, slope, MAX_TOLERANCE_ERROR * time + nmessages * ROUNDING_PS)

    def tangent(self, factor: float) -> float:
        """Return the time that the slope predicts, which no run falls below."""
        return self.time + self.slope * (factor - self.factor)


def tolerances(
    simulator: Simulator,
    platform: Platform,
    shares: Sequence[float],
    options: SimulateOptions | None = None,
    start: Simulation | None = None,
) -> Iterator[Tolerance]:
    """Yield the tolerances of both parameters for each share.

    Args:
        start: the run on the platform as it is, if there is one.

    Raises:
        SimulationDeadlockError, FormatError, LimitError: as `Simulator.run`.
    """
    start = start or simulator.run(platform, options)
    for parameter in (LATENCY, PER_BYTE):

        def run(factor: float, parameter: str = parameter) -> _ScaledRun:
            changed = {"latency": factor} if parameter == LATENCY else {"bandwidth": 1 / factor}
            try:
                return _ScaledRun.of(
                    simulator.run(scale_platform(platform, **changed), options), parameter, factor
                )
            except TooLongCallError:
                return _ScaledRun(factor, inf, 0.0, 0.0)

        search = _ToleranceSearch(run, _ScaledRun.of(start, parameter, 1.0))
        # The largest first: its runs bound the others.
        factors = {share: search.factor_of(start.time_ps * (1 + share)) for share in sorted(shares)[::-1]}
        for share in shares:
            yield Tolerance(parameter, share, factors[share])


class _ToleranceSearch:
    """Runs of a trace with factors on one parameter, of which all searches for a time make use."""

    def __init__(self, run: Callable[[float], _ScaledRun], start: _ScaledRun) -> None:
        self._run, self._runs, self._is_convex = run, [start], True

    def factor_of(self, target: float) -> float | None:
        """Return the factor, above 1, at which the time reaches a target.

        A step along the tangent of a convex function passes the factor, and from there Newton's method does
        not pass it again. Brackets keep it safe where other matches of wildcards break the convexity.
        """
        if self._runs[0].time >= target:
            return 1.0 if target > 0 else None
        for _ in range(MAX_STEPS):
            above = [run for run in self._runs if run.time >= target]
            high = min(above, key=_factor, default=None)
            below = [run for run in self._runs if high is None or run.factor < high.factor]
            low = max(below, key=_factor)
            for run in (low, high):
                if run and abs(run.time - target) <= run.slack:
                    return run.factor
            if high and high.factor - low.factor <= MAX_TOLERANCE_ERROR * low.factor:
                return high.factor
            step = _step(low, high, target)
            if step is None:
                step = (low.factor + high.factor) / 2 if high else min(low.factor * GROWTH, MAX_FACTOR)
            elif high and self._is_convex and abs(_chord(low, high, step) - target) <= high.slack:
                return step
            if step <= low.factor:
                return None  # not even with the greatest factor
            self._add(self._run(step))
        return high.factor if high else None

    def _add(self, reached: _ScaledRun) -> None:
        """Keep a run, and note whether all runs so far are on a convex function."""
        self._is_convex = self._is_convex and all(
            reached.time >= run.tangent(reached.factor) - reached.slack
            and run.time >= reached.tangent(run.factor) - run.slack
            for run in self._runs
        )
        self._runs.append(reached)


_factor = attrgetter("factor")


def _step(low: _ScaledRun, high: _ScaledRun | None, target: float) -> float | None:
    """Return the lowest factor between two runs at which a tangent reaches a time; None if there is none."""
    limit = high.factor if high else MAX_FACTOR
    steps = [run.factor + (target - run.time) / run.slope for run in (low, high) if run and run.slope > 0]
    return min((step for step in steps if low.factor < step < limit), default=None)


def _chord(low: _ScaledRun, high: _ScaledRun, factor: float) -> float:
    """Return the time on the line through two runs, which no run between them exceeds."""
    return low.time + (factor - low.factor) * (high.time - low.time) / (high.factor - low.factor)


def sweep(
    simulator: Simulator,
    platform: Platform,
    factors: Mapping[str, Sequence[float]],
    options: SimulateOptions | None = None,
) -> Iterator[tuple[dict[str, float], Simulation]]:
    """Yield the result of each combination of factors; `platform.scaled` has their names.

    Raises:
        UsageError: a factor is no factor.
        SimulationDeadlockError, FormatError, LimitError: as `Simulator.run`.
    """
    for values in product(*factors.values()):
        chosen = dict(zip(factors, values, strict=True))
        # Kernels with a model take no factor of the platform.
        run_options = options or SimulateOptions()
        run_options = replace(
            run_options, compute_scale=run_options.compute_scale * chosen.get("compute", 1.0)
        )
        changed = replace(scale_platform(platform, **chosen), compute_scale=platform.compute_scale)
        yield chosen, simulator.run(changed, run_options)
