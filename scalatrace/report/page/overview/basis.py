"""Times by which waiting is judged: measured ones, or simulated ones where ranks shared cores."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.report.page.overview.summary import TraceSummary
from scalatrace.report.page.predictions.simulated import SimulatedTrace
from scalatrace.report.page.tree import TreeNode

__all__ = ["WaitBasis", "basis_of"]


@dataclass(frozen=True)
class WaitBasis:
    """Times of all ranks by which waiting is judged.

    Attributes:
        simulated: times are those of a simulated run, in which each rank has a core. Measured times of calls
            contain waiting for cores where ranks shared them.
        whole_ns: time of all ranks; 0: the trace has no times.
        nranks: number of ranks.
        compute_factor: computation by this basis over the recorded one.
    """

    simulated: bool
    whole_ns: float
    nranks: int
    compute_factor: float = 1.0

    def waiting_ns(self, leaf: TreeNode) -> float:
        """Return the time of a call's executions that is waiting: simulated, or at most so much."""
        return (leaf.waiting_ns or 0.0) if self.simulated else leaf.beyond_ns


def basis_of(summary: TraceSummary, nranks: int, prediction: SimulatedTrace | None) -> WaitBasis:
    """Return the times to judge a trace of so many ranks by."""
    computed = summary.compute_ns or 0.0
    if summary.shared_cores and prediction is not None:
        simulated = sum(times["compute_ns"] for times in prediction.nodes.values())
        return WaitBasis(True, prediction.time_ns * nranks, nranks, simulated / computed if computed else 1.0)
    return WaitBasis(False, (summary.comm_ns or 0.0) + computed, nranks)
