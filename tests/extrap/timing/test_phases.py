"""Start-up and shut-down of a result are those of the largest trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import Trace
from scalatrace.extrap.extrapolate import extrapolate
from support.timed import S, Timed, timed, trace_of

RANKS = (2, 4, 8, 16)


def program(nprocs: int, rank: int) -> list[Timed]:
    """Start-up, steps and shut-down take longer on more ranks, by the same law."""
    step = timed("Barrier", 0.01 * nprocs * S, 0.001 * S, 4, comm="world")
    return [
        timed("Comm_set_name", 0.1 * nprocs * S, 0.01 * nprocs * S, 1, comm="world"),
        timed("Barrier", 0.2 * nprocs * S, 0.001 * S, 3, comm="world"),
        *[step] * 20,
        timed("Comm_get_name", 0.05 * nprocs * S, 0, 5, comm="world"),
    ]


def run(folder: Path, nprocs: int) -> Trace:
    return trace_of(folder / f"{nprocs}.st", [program(nprocs, rank) for rank in range(nprocs)])


@pytest.mark.parametrize("choice", [None, "normal-form"])
def test_phases_do_not_grow(tmp_path: Path, choice: str | None) -> None:
    traces = [run(tmp_path, nprocs) for nprocs in RANKS]
    result = extrapolate(traces, 128, timing_model=choice).trace
    phases, largest = result.phases, traces[-1].phases
    assert phases.start_up.mean_ns == pytest.approx(16 * 0.31 * S, rel=0.01)
    assert phases.shut_down.mean_ns == pytest.approx(16 * 0.05 * S, rel=0.01)
    assert phases.start_up.mean_ns == pytest.approx(largest.start_up.mean_ns, rel=0.01)
    steps = [leaf for leaf in result.without_phases.leaves() if result.ops[leaf.op].name == "Barrier"]
    means = [h.mean for leaf in steps for row in leaf.stats if (h := row.histograms[0])]
    assert max(means) == pytest.approx(1.28 * S, rel=0.05)  # what lies between them does
