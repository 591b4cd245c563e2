"""The prediction of a simulation, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Curve", "Prediction"]

MAX_SITES = 12
"""Call sites in the table, those with most time in MPI."""

PATH_PARTS = ("compute_ns", "latency_ns", "bytes_ns", "overhead_ns")


@dataclass(frozen=True)
class Curve:
    """Predicted times over a factor on a parameter of the platform.

    Attributes:
        parameter: "latency", "bandwidth" or "compute".
        points: factor and time in ns, the factors ascending.
    """

    parameter: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Prediction:
    """A simulated trace.

    Attributes:
        time_ns: predicted run time.
        interval: `median_ns`, `low_ns`, `high_ns` and `runs` with drawn computation times; None: not run.
        last_rank: the rank that ends last, where the longest path ends.
        path: parts of the longest path in ns, in the order of PATH_PARTS.
        latencies: messages on the longest path.
        operations, sites: rows with `calls`, `transfer_ns`, `waiting_ns`, `compute_ns` and `path_ns`.
        hidden_sites: call sites that are not shown.
        tolerance: `parameter`, `slower` (0.01: by 1 %) and `factor` (None: no factor makes the run so slow).
        notes: assumptions about operations.
    """

    platform: str
    calls: int
    time_ns: float
    interval: Mapping[str, Any] | None
    last_rank: int
    path: tuple[float, ...]
    latencies: int
    operations: tuple[Mapping[str, Any], ...]
    sites: tuple[Mapping[str, Any], ...]
    hidden_sites: int
    tolerance: tuple[Mapping[str, Any], ...]
    curves: tuple[Curve, ...]
    notes: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls,
        facts: Mapping[str, Any],
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        curves: Mapping[str, Sequence[Mapping[str, Any]]],
    ) -> Prediction:
        """Return the prediction of plain data.

        Args:
            facts: as `simulate --json` prints them, with `drawn` and `tolerance` if they are known.
            rows: those "operation" and "site".
            curves: parameter -> its `sweep`.
        """
        sites = rows["site"]
        return cls(
            facts["platform"],
            facts["calls"],
            facts["time_ns"],
            facts.get("drawn"),
            facts["last_rank"],
            tuple(facts["path"][name] for name in PATH_PARTS),
            facts["path"]["messages"],
            tuple(rows["operation"]),
            tuple(sites[:MAX_SITES]),
            max(0, len(sites) - MAX_SITES),
            tuple(facts.get("tolerance", ())),
            tuple(_curve(name, points) for name, points in curves.items()),
            tuple(sorted(facts["notes"].items())),
        )


def _curve(parameter: str, points: Sequence[Mapping[str, Any]]) -> Curve:
    return Curve(parameter, tuple(sorted((point[parameter], point["time_ns"]) for point in points)))
