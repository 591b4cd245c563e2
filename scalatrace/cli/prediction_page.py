"""Simulate traces for the page of `report`: prediction, sensitivity, times on other numbers of ranks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.arrays import Floats
    from scalatrace.predict.platform import Platform
    from scalatrace.report.page.predictions.simulated import PagePrediction

__all__ = ["predict"]

_MPI = re.compile(r"(Open MPI|MPICH|MVAPICH\d?|Intel\(R\) MPI Library) v?[\d.]*\d")
"""MPI in the description of a platform that was calibrated."""

SENSITIVITY = {
    "latency": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "bandwidth": (0.25, 0.5, 1.0, 2.0, 4.0),
    "compute": (0.5, 0.75, 1.0, 1.5, 2.0),
}
"""Factors on the platform for which small traces are simulated again."""


def predict(
    trace: Trace, platform: Platform, other_traces: Iterable[Trace] = ()
) -> tuple[PagePrediction, tuple[Floats, Floats]]:
    """Simulate a trace; return the prediction, and computation and time in calls of each rank, ns.

    Args:
        other_traces: the program on other numbers of ranks, ascending.

    Raises:
        ScalatraceError: the trace cannot be simulated.
    """
    from scalatrace.cli.simulation import Simulated
    from scalatrace.report.costs.efficiency import Efficiency, rank_bins
    from scalatrace.report.page.predictions.simulated import PagePrediction
    from scalatrace.report.page.tree import node_numbers
    from scalatrace.trace.consistency.failed import repeatable

    trace = repeatable(trace, keep_failed=True).without_phases
    simulated = Simulated(trace, platform)
    numbers = node_numbers(trace)
    mean_ns, interval = simulated.means()["time_ns"], simulated.drawn()
    waiting = {numbers[event]: times["waiting_ns"] for event, times in simulated.event_times().items()}
    seed = simulated.show_median()
    facts, curves = simulated.facts(), dict[str, list[dict[str, Any]]]()
    facts |= {"drawn": interval, "mean_ns": mean_ns, "seed": seed, "means": simulated.means()}
    facts["machine"] = _machine(platform, trace)
    if simulated.is_small:
        facts["tolerance"] = simulated.tolerance()
        curves = {name: simulated.sweep({name: factors}) for name, factors in SENSITIVITY.items()}
    scaling = list(_scaling(other_traces, platform))
    facts["scaling"] = [*scaling, {"ranks": trace.nprocs, **facts["means"]}] if scaling else []
    nodes = {numbers[event]: times for event, times in simulated.event_times().items()}
    rows = {by: simulated.rows(by) for by in ("operation", "site")}
    times = simulated.rank_times()
    ranks = rank_bins(Efficiency(tuple(trace.ranks), *times))
    return PagePrediction.of(facts, rows, curves, nodes, waiting, ranks), times


def _scaling(traces: Iterable[Trace], platform: Platform) -> Iterator[dict[str, float]]:
    """Yield ranks, and run time and means of a rank of the drawn run with the median time.

    Traces that cannot be simulated are left out.
    """
    from scalatrace.cli.simulation import Simulated
    from scalatrace.errors import ScalatraceError

    for trace in traces:
        with suppress(ScalatraceError):
            simulated = Simulated(trace, platform)
            simulated.drawn()
            simulated.show_median()
            yield {"ranks": trace.nprocs, **simulated.means()}


def _machine(platform: Platform, trace: Trace) -> dict[str, Any]:
    """Return what limits messages on a platform, and the nodes that the ranks of a trace take."""
    mpi = trace.meta.get("mpi", "").partition(",")[0]
    nodes = platform.node_of(trace.nprocs - 1) + 1
    segments = (platform.network if nodes > 1 else platform.memory or platform.network).segments
    per_byte_ns = segments[-1].per_byte_ns
    latencies = [segment.latency_ns for segment in segments]
    measured = _MPI.search(platform.description)
    return {
        "description": platform.description,
        "other_mpi": mpi if mpi and measured and not mpi.startswith(measured[0]) else "",
        "latency_ns": sorted({min(latencies), max(latencies)}),
        "bytes_per_s": 1e9 / per_byte_ns if per_byte_ns else None,
        "nodes": nodes,
    }
