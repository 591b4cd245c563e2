"""Runs in which a rank is late, and runs on several numbers of ranks."""

from __future__ import annotations

from dataclasses import replace

from scalatrace import Trace
from scalatrace.report.scaling.recorded_growth import COMPUTATION, IN_MPI
from scalatrace.report.scaling.runs import ScalingRun
from scalatrace.trace.model.nodes import PredStats
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm

STEPS = 10


def late(loads: list[int], inside_ns: int) -> Trace:
    """Ranks compute about 8,000 ns times 2^(load / 16) before each barrier, and are in it for some time."""
    b = Builder(len(loads))
    event = b.event("Barrier", comm=Comm(), at=("a.py:7:f",))
    stats = tuple(
        PredStats(pred, tuple(Histogram(n * len(loads), ns, ns, ns, 0) for ns in (8000, inside_ns)))
        for pred, n in ((0, 1), (1, STEPS - 1))
    )
    trace = b.of(b.loop(STEPS, replace(event, stats=stats)))
    trace.stats = [RecordedStat("compute_ns", 1.0), RecordedStat("comm_ns", 1.0)]
    trace.preds.append((event.op, event.signature))
    trace.load_between = True
    trace.load = [Vec(loads), Vec([0] * len(loads))]
    return trace


def run(nranks: int, compute_ns: float, comm_ns: float, most_ns: float, ideal_ns: float) -> ScalingRun:
    total = compute_ns + comm_ns
    return ScalingRun(f"{nranks}.st", nranks, total, compute_ns, comm_ns, most_ns, ideal_ns, "", "")


STRONG = [run(n, 1600 / n, 20 + 2 * n, 1600 / n + 10, 1600 / n + 15) for n in (4, 8, 16)]
WEAK = [run(n, 400, 20 * n, 410, 420) for n in (4, 8, 16)]


def times(n: int) -> dict[tuple[str, str, str], float]:
    return {
        (IN_MPI, "Allreduce", "a.py:3"): 100.0 * n,
        (COMPUTATION, "Allreduce", "a.py:3"): 16000.0 / n,
        (IN_MPI, "Bcast", "a.py:1"): 0.1,
    }
