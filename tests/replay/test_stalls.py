"""Replays in which nothing moves end, and say which rank waits where."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.replay.common.position import ReplayPosition
from scalatrace.replay.stalls import Stalls
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm
from support.mpis import Mpi
from support.running import mpirun

LATE_NS = 3_000_000_000


def waits(event: int, computes: bool = False) -> ReplayPosition:
    return ReplayPosition(event, "Recv", computes, "app.py:3:main")


def test_a_rank_that_moves_keeps_all_going() -> None:
    stalls = Stalls(2, 60, 0)
    for second in range(0, 200, 5):
        stalls.move(0, waits(1), second)
        stalls.move(1, waits(second), second)
        assert stalls.report(second) is None


def test_a_computation_is_no_stall() -> None:
    stalls = Stalls(1, 60, 0)
    stalls.move(0, waits(1, computes=True), 100)
    assert stalls.report(150) is None
    stalls.move(0, waits(1, computes=True), 150)
    assert stalls.report(200) is None


def test_ranks_in_one_place_are_told_together() -> None:
    stalls = Stalls(4, 60, 0)
    for rank in range(3):
        stalls.move(rank, waits(rank // 2), 1)
    stalls.leave(3)
    assert stalls.report(60) is None
    assert stalls.report(61) == (
        "nothing has moved for 60 s (--stall-limit); the ranks wait in\n"
        "  ranks 0, 1: MPI_Recv at app.py:3:main (event 0)\n"
        "  rank 2: MPI_Recv at app.py:3:main (event 1)"
    )


def test_nothing_is_left_to_watch_when_all_have_ended() -> None:
    stalls = Stalls(2, 60, 0)
    stalls.leave(0)
    stalls.leave(1)
    assert stalls.report(1000) is None


@pytest.mark.mpi
def test_one_rank_waits_when_rank_0_has_ended(openmpi_first: Mpi, tmp_path: Path) -> None:
    b, alone = Builder(2), Groups([(RankList([1]), Vec(1))])
    trace = b.of(
        b.event("Barrier", comm=Comm()),
        b.event("Recv", alone, count=1, datatype=DOUBLE, source=0, tag=7, comm=Comm()),
    )
    save(trace, tmp_path / "a.st")
    mpi = openmpi_first
    command = [*mpi.scalatrace(), "replay", tmp_path / "a.st", "--stall-limit", "2"]
    done = mpirun(mpi, 2, command, cwd=tmp_path, timeout=60)
    assert done.returncode != 0
    assert "rank 1: MPI_Recv" in done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("engine", "level"),
    [
        ("python", "multiple"),
        ("compiled", "single"),
        pytest.param("python", "single", marks=pytest.mark.slow),
        pytest.param("compiled", "multiple", marks=pytest.mark.slow),
    ],
)
def test_a_deadlock_ends(mpi: Mpi, engine: str, level: str, tmp_path: Path) -> None:
    """Both ranks compute for longer than the limit, and then wait for a message that nobody sends."""
    b = Builder(2)
    late = Histogram(2, LATE_NS, LATE_NS, LATE_NS, 0)
    trace = b.of(
        b.event("Barrier", comm=Comm(), compute=late),
        b.event("Recv", count=1, datatype=DOUBLE, source=0, tag=7, comm=Comm()),
    )
    trace.meta["thread-level"] = level
    save(trace, tmp_path / "a.st")
    command = [*mpi.scalatrace(), "replay", tmp_path / "a.st", "--engine", engine, "--stall-limit", "2"]
    done = mpirun(mpi, 2, command, cwd=tmp_path, timeout=60)
    assert done.returncode != 0
    assert "nothing has moved for 2 s" in done.stderr
    assert "MPI_Recv" in done.stderr
    assert "(event 1)" in done.stderr
    assert "Traceback" not in done.stderr
