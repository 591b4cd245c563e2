"""The prediction of a simulation, as the page shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalatrace.report.costs.efficiency import RankBin
from scalatrace.report.scaling.extrapolated_growth import exponent

__all__ = ["PagePrediction", "SimulatedCurve", "predicted_rows"]

MAX_SITES = 12
"""Call sites in the table, those with most time in MPI."""

PATH_PARTS = ("compute_ns", "latency_ns", "bytes_ns", "overhead_ns")


SCALING_COLUMNS = ("time_ns", "compute_ns", "most_compute_ns", "transfer_ns", "waiting_ns")

GAINS = {
    "latency": (0.5, "half the latency"),
    "bandwidth": (2.0, "twice the bandwidth"),
    "compute": (0.5, "cores twice as fast"),
}
"""Factors on parameters of the platform that stand for a better machine, in words."""


@dataclass(frozen=True)
class SimulatedCurve:
    """Predicted times over a factor on a parameter of the platform.

    Attributes:
        parameter: "latency", "bandwidth" or "compute".
        points: factor and time in ns, the factors ascending.
    """

    parameter: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class PagePrediction:
    """A simulated trace.

    Attributes:
        predicted_ns: the predicted run time: the median of drawn runs, if there are any.
        time_ns: run time of the simulated run that `path` and all further attributes are of.
        mean_ns: run time where each computation takes its mean time.
        seed: of the drawn run that is shown, which has the median time; None: the run with mean times.
        interval: `median_ns`, `low_ns`, `high_ns` and `runs` with drawn computation times; None: not run.
        last_rank: the rank that ends last, where the longest path ends.
        path: parts of the longest path in ns, in the order of PATH_PARTS.
        latencies: messages on the longest path.
        operations, sites: rows with `calls`, `transfer_ns`, `waiting_ns`, `compute_ns` and `path_ns`.
        hidden_sites: call sites that are not shown.
        tolerance: `parameter`, `slower` (0.01: by 1 %) and `factor` (None: no factor makes the run so slow).
        gains: a better machine in words, and its run time in ns.
        notes: assumptions about operations.
        nodes: number of a node in the tree -> `compute_ns`, `transfer_ns` and `waiting_ns` of all ranks, and
            `path_compute_ns`: the computation that is on the longest path.
        mean_waiting: number of a node -> waiting of all ranks in the run with mean times, ns.
        means: `compute_ns`, `transfer_ns` and `waiting_ns` of a rank, and `most_compute_ns` of any.
        machine: `description`, `other_mpi` (the program's, if the description names another one), least and
            most `latency_ns` of messages, `bytes_per_s` of long ones, and `nodes`.
        ranks: times by rank.
        links: those that are busy longest in the run with mean times, as `simulate --json` has them; (): none
            is shared.
        link_map: rows of links with `name`, number `links`, shares of the run `busy`, and `most` of these.
        link_drawing: the machine with the loads of its links; None: too large, or none is shared.
        scaling: of an extrapolated trace with its model: `ranks`, and `time_ns` and `means` of the run with
            the median time on as many ranks as each input and the result have.
        scaling_growth: in words from where to where, and exponents of the number of ranks with which the
            columns of `scaling` grow; None: not known.
    """

    platform: str
    calls: int
    predicted_ns: float
    time_ns: float
    mean_ns: float
    seed: int | None
    interval: Mapping[str, Any] | None
    last_rank: int
    path: tuple[float, ...]
    latencies: int
    operations: tuple[Mapping[str, Any], ...]
    sites: tuple[Mapping[str, Any], ...]
    hidden_sites: int
    tolerance: tuple[Mapping[str, Any], ...]
    curves: tuple[SimulatedCurve, ...]
    gains: tuple[tuple[str, float], ...]
    notes: tuple[tuple[str, str], ...]
    nodes: Mapping[int, Mapping[str, float]]
    mean_waiting: Mapping[int, float]
    means: Mapping[str, float]
    machine: Mapping[str, Any]
    scaling: tuple[Mapping[str, float], ...] = ()
    ranks: tuple[RankBin, ...] = ()
    scaling_growth: tuple[tuple[str, tuple[float | None, ...]], ...] = ()
    links: tuple[Mapping[str, Any], ...] = ()
    link_map: tuple[Mapping[str, Any], ...] = ()
    link_drawing: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        facts: Mapping[str, Any],
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        curves: Mapping[str, Sequence[Mapping[str, Any]]],
        nodes: Mapping[int, Mapping[str, float]] | None = None,
        mean_waiting: Mapping[int, float] | None = None,
        ranks: tuple[RankBin, ...] = (),
    ) -> PagePrediction:
        """Return the prediction of plain data.

        Args:
            facts: as `simulate --json` prints them; with `drawn`, `mean_ns`, `seed`, `tolerance`, `means`,
                `machine`, `links`, `link_map`, `link_drawing` and `scaling` if they are known.
            rows: those "operation" and "site".
            curves: parameter -> its `sweep`.
            nodes, mean_waiting, ranks: as the attributes; None, (): not known.
        """
        sites, drawn = rows["site"], facts.get("drawn")
        return cls(
            facts["platform"],
            facts["calls"],
            drawn["median_ns"] if drawn else facts["time_ns"],
            facts["time_ns"],
            facts.get("mean_ns", facts["time_ns"]),
            facts.get("seed"),
            drawn,
            facts["last_rank"],
            tuple(facts["path"][name] for name in PATH_PARTS),
            facts["path"]["messages"],
            tuple(rows["operation"]),
            tuple(sites[:MAX_SITES]),
            max(0, len(sites) - MAX_SITES),
            tuple(facts.get("tolerance", ())),
            tuple(_curve(name, points) for name, points in curves.items()),
            tuple(_gains(curves)),
            tuple(sorted(facts["notes"].items())),
            nodes or {},
            mean_waiting or {},
            facts.get("means", {}),
            facts.get("machine", {}),
            tuple(facts.get("scaling", ())),
            ranks,
            tuple(_scaling_growth(facts.get("scaling", ()))),
            tuple({**row, "call site": row["site"]} for row in facts.get("links", ())),
            tuple(facts.get("link_map", ())),
            facts.get("link_drawing"),
        )


def _scaling_growth(rows: Sequence[Mapping[str, float]]) -> Iterator[tuple[str, tuple[float | None, ...]]]:
    """Yield the growth on the ranks of the inputs, and from there to the result."""
    for first, last in ((0, -2), (-2, -1)) if len(rows) > 2 else ():
        smallest, largest = rows[first], rows[last]
        words = f"from {smallest['ranks']:,} to {largest['ranks']:,} ranks"
        yield (
            words,
            tuple(
                exponent(smallest["ranks"], smallest[name], largest["ranks"], largest[name])
                for name in SCALING_COLUMNS
            ),
        )


def _gains(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, float]]:
    for parameter, points in curves.items():
        factor, text = GAINS[parameter]
        yield from ((text, point["time_ns"]) for point in points if point[parameter] == factor)


def _curve(parameter: str, points: Sequence[Mapping[str, Any]]) -> SimulatedCurve:
    return SimulatedCurve(parameter, tuple(sorted((point[parameter], point["time_ns"]) for point in points)))


def predicted_rows(
    rows: Sequence[Mapping[str, Any]], time_ns: float, nranks: int
) -> Iterator[dict[str, Any]]:
    """Yield operations or call sites with the columns of PREDICTED_SITES; times are means of the ranks.

    Args:
        time_ns: of the run.
    """
    for row in rows:
        times = {name: row[name] / nranks for name in ("transfer_ns", "waiting_ns", "compute_ns")}
        shares: dict[str, float | None] = dict.fromkeys(("in_mpi", "path_calls", "path_compute"))
        if time_ns:
            shares["in_mpi"] = (times["transfer_ns"] + times["waiting_ns"]) / time_ns
        if time_ns and row["path_ns"] is not None:
            shares["path_calls"] = (row["path_ns"] - row["path_compute_ns"]) / time_ns
            shares["path_compute"] = row["path_compute_ns"] / time_ns
        yield {**row, **times, **shares, "call site": row.get("site", "")}
