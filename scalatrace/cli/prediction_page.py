"""Simulate traces for the page of `report`: prediction, sensitivity, times on other numbers of ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.platform import Platform
    from scalatrace.report.page.predictions.simulated import Prediction

__all__ = ["predict"]

SENSITIVITY = {
    "latency": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "bandwidth": (0.25, 0.5, 1.0, 2.0, 4.0),
    "compute": (0.5, 0.75, 1.0, 1.5, 2.0),
}
"""Factors on the platform for which small traces are simulated again."""


def predict(trace: Trace, platform: Platform, others: Iterable[Trace] = ()) -> Prediction:
    """Simulate a trace.

    Args:
        others: the program on other numbers of ranks, ascending.

    Raises:
        ScalatraceError: the trace cannot be simulated.
    """
    from scalatrace.cli.simulation import Simulated
    from scalatrace.report.costs.efficiency import Efficiency
    from scalatrace.report.costs.rank_bins import rank_bins
    from scalatrace.report.page.predictions.simulated import Prediction
    from scalatrace.report.page.tree import node_numbers

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
    scaling = [{"ranks": one.nprocs, **_typical(one, platform)} for one in others]
    facts["scaling"] = [*scaling, {"ranks": trace.nprocs, **facts["means"]}] if scaling else []
    nodes = {numbers[event]: times for event, times in simulated.event_times().items()}
    rows = {by: simulated.rows(by) for by in ("operation", "site")}
    ranks = rank_bins(Efficiency(tuple(range(trace.nprocs)), *simulated.rank_times()))
    return Prediction.of(facts, rows, curves, nodes, waiting, ranks)


def _typical(trace: Trace, platform: Platform) -> dict[str, float]:
    """Return the run time and means over the ranks of the drawn run with the median time."""
    from scalatrace.cli.simulation import Simulated

    simulated = Simulated(trace, platform)
    simulated.drawn()
    simulated.show_median()
    return simulated.means()


def _machine(platform: Platform, trace: Trace) -> dict[str, Any]:
    """Return what limits messages on a platform, and the nodes that the ranks of a trace take."""
    nranks = trace.nprocs
    mpi = trace.meta.get("mpi", "").partition(",")[0]
    nodes = len({platform.node_of(rank) for rank in (0, nranks - 1)})
    if nodes > 1:
        nodes = platform.node_of(nranks - 1) + 1
    segments = (platform.network if nodes > 1 else platform.memory or platform.network).segments
    per_byte_ns = segments[-1].per_byte_ns
    return {
        "description": platform.description,
        "other_mpi": mpi if "MPI" in platform.description and mpi not in platform.description else "",
        "latency_ns": sorted({segments[0].latency_ns, segments[-1].latency_ns}),
        "bytes_per_s": 1e9 / per_byte_ns if per_byte_ns else None,
        "nodes": nodes,
    }
