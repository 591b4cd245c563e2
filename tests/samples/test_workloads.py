"""The workloads: nothing lost, and a replay that is the same again; the quick set has 4 ranks and one MPI."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from support.judging import fixed_point, same_and_lossless
from support.mpis import Mpi
from support.programs import Sample, Workshop
from support.running import mpirun, scalatrace
from support.workloads import WORKLOADS, Workload

pytestmark = pytest.mark.mpi
Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]
#: The mesh of amr is adapted twice.
STEPS = 6


#: Neighbours that change, intercommunicators.
QUICKLY_REPLAYED = ("amr", "coupled")


def on_ranks(*counts: int, slow: Collection[str] = ()) -> pytest.MarkDecorator:
    """Every workload on those numbers of ranks that it takes; those in `slow` not in the quick set."""
    pairs = [
        pytest.param(w, n, id=f"{w.title}-{n}", marks=[pytest.mark.slow] * (w.title in slow))
        for w in WORKLOADS
        for n in counts
        if w.accepts(n)
    ]
    return pytest.mark.parametrize(("workload", "nprocs"), pairs)


#: The others are among the slow tests.
QUICK = ("bt", "lu", "amr", "coupled", "hpl")


@on_ranks(4, slow={w.title for w in WORKLOADS}.difference(QUICK))
def test_lossless(openmpi: Mpi, nprocs: int, workload: Workload, recorded: Recorder) -> None:
    trace, logs = recorded(openmpi, nprocs, workload.of_steps(STEPS))
    scalatrace(openmpi, "verify", trace, logs).check()


@on_ranks(4, slow={w.title for w in WORKLOADS}.difference(QUICKLY_REPLAYED))
def test_replay_is_a_fixed_point(
    openmpi: Mpi, nprocs: int, workload: Workload, recorded: Recorder, tmp_path: Path
) -> None:
    trace, _ = recorded(openmpi, nprocs, workload.of_steps(STEPS))
    fixed_point(openmpi, nprocs, trace, tmp_path)


def recorded_and_replayed(mpi: Mpi, nprocs: int, workload: Workload, recorded: Recorder, at: Path) -> None:
    trace, logs = recorded(mpi, nprocs, workload.of_steps(STEPS))
    scalatrace(mpi, "verify", trace, logs).check()
    fixed_point(mpi, nprocs, trace, at)


@pytest.mark.slow
@on_ranks(1, 8, 9, 16)
def test_other_sizes(
    openmpi: Mpi, nprocs: int, workload: Workload, recorded: Recorder, tmp_path: Path
) -> None:
    recorded_and_replayed(openmpi, nprocs, workload, recorded, tmp_path)


@pytest.mark.slow
@on_ranks(4)
def test_mpich(mpich: Mpi, nprocs: int, workload: Workload, recorded: Recorder, tmp_path: Path) -> None:
    recorded_and_replayed(mpich, nprocs, workload, recorded, tmp_path)


@pytest.mark.slow
@on_ranks(4, 64)
def test_the_tracer_changes_nothing(
    openmpi: Mpi, nprocs: int, workload: Workload, workshop: Workshop, tmp_path: Path
) -> None:
    same_and_lossless(openmpi, nprocs, workshop.command(openmpi, workload.of_steps(STEPS)), tmp_path)


def test_refusals_are_usage_errors(openmpi: Mpi, workshop: Workshop) -> None:
    workload = next(w for w in WORKLOADS if w.title == "mg")
    assert not workload.accepts(3)
    finished = mpirun(openmpi, 3, workshop.command(openmpi, workload))
    assert finished.returncode == 2
    assert "the number of ranks must be" in finished.stderr
