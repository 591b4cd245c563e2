"""Waiting until deadlines, on a clock that the test turns."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scalatrace.replay.common.options import ComputeMode
from scalatrace.replay.timing.pace import SLEEP_SLACK_NS, Pace
from scalatrace.replay.transport.backoff import EAGER, MAX_NAP_S, NAP_S, Backoff
from support.mpis import Mpi
from support.running import mpirun


@dataclass
class Clock:
    """Every look at it takes 10 ns."""

    now: int = 1_000_000
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> int:
        self.now += 10
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(seconds * 1e9)


def make(compute: ComputeMode) -> tuple[Pace, Clock]:
    clock = Clock()
    pace = Pace(compute, clock, clock.sleep)
    pace.start()
    return pace, clock


@pytest.mark.parametrize("compute", [ComputeMode.SPIN, ComputeMode.SLEEP])
def test_wait_ends_at_the_deadline_whatever_the_engine_needs(compute: ComputeMode) -> None:
    pace, clock = make(compute)
    began = pace.last_ns
    pace.due_in(5_000_000)
    clock.now += 2_000_000  # the engine's own work
    pace.wait()
    assert began + 5_000_000 <= clock.now <= began + 5_000_100
    assert pace.late_ns <= 100
    assert pace.waited_ns == 5_000_000


def test_work_beyond_the_deadline_is_late_and_not_made_up() -> None:
    pace, clock = make(ComputeMode.SPIN)
    pace.due_in(1_000)
    clock.now += 50_000
    pace.wait()
    assert 49_000 <= pace.late_ns <= 49_100
    pace.called()
    pace.due_in(100_000)  # counts from the call before, not from its deadline
    pace.wait()
    assert clock.now - pace.last_ns >= 100_000


def test_sleep_leaves_the_last_stretch_to_spinning() -> None:
    pace, clock = make(ComputeMode.SLEEP)
    pace.due_in(SLEEP_SLACK_NS // 2)
    pace.wait()
    assert clock.slept == []
    pace.called()
    pace.due_in(10 * SLEEP_SLACK_NS)
    pace.wait()
    assert clock.slept == [pytest.approx(9 * SLEEP_SLACK_NS / 1e9, rel=1e-3)]


def test_none_does_not_wait() -> None:
    pace, clock = make(ComputeMode.NONE)
    before = clock.now
    pace.due_in(10**9)
    pace.wait()
    assert clock.now <= before + 20
    assert pace.engine_ns <= 20


def test_naps_get_longer_while_nothing_comes_and_short_again_when_something_did() -> None:
    pace, clock = make(ComputeMode.SLEEP)
    came = iter([*[False] * 5, True, *[False] * 1000])
    pace.poll = lambda: next(came)
    pace.due_in(40_000_000)
    pace.wait()
    naps = [round(seconds * 1e3, 3) for seconds in clock.slept]
    assert naps[:8] == [0.5, 1, 2, 4, 5, 0.5, 1, 2]
    assert max(naps) == 5


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each pause; no test sleeps."""
    result: list[float] = []
    monkeypatch.setattr("scalatrace.replay.transport.backoff.time.sleep", result.append)
    return result


def after_many_polls() -> Backoff:
    """Of a rank that shares its core, after many polls."""
    backoff = Backoff(shares_cores=True)
    for _ in range(EAGER + 40):
        backoff.pause()
    return backoff


def test_pauses_between_polls_grow(naps: list[float]) -> None:
    after_many_polls()
    assert naps[:EAGER] == [0] * EAGER
    assert naps[EAGER] == NAP_S
    assert naps[EAGER:] == sorted(naps[EAGER:])
    assert naps[-1] == MAX_NAP_S


def test_ranks_with_a_core_never_sleep_between_polls(naps: list[float]) -> None:
    backoff = Backoff(shares_cores=False)
    for _ in range(100):
        backoff.pause()
    assert set(naps) == {0}


def test_a_result_resets_the_pauses(naps: list[float]) -> None:
    backoff = after_many_polls()
    backoff.reset()
    backoff.pause()
    assert naps[-1] == 0


def test_receiving_takes_from_the_wait_not_from_what_comes_after() -> None:
    pace, clock = make(ComputeMode.SLEEP)
    came = iter([*[False] * 6, *[True] * 40, *[False] * 1000])

    def poll() -> bool:
        clock.now += 100_000
        return next(came)

    pace.poll = poll
    pace.due_in(25_000_000)
    pace.wait()
    assert pace.late_ns <= 200_000


@pytest.mark.mpi
def test_ranks_bound_to_cores_of_their_own_share_none(openmpi_first: Mpi, tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    program = tmp_path / "bound.py"
    program.write_text(
        "import os, sys\n"
        "from mpi4py import MPI\n"
        "from scalatrace.replay.transport.mpi import MPITransport\n"
        "cores = sorted(os.sched_getaffinity(0))\n"
        "os.sched_setaffinity(0, {cores[MPI.COMM_WORLD.rank % len(cores)]})\n"
        "sys.stdout.write(f'{MPITransport().shares_cores} ')\n"
    )
    for nprocs in (cores, cores + 1) if cores < 8 else (1,):
        done = mpirun(openmpi_first, nprocs, [openmpi_first.python, program], cwd=tmp_path).check()
        assert set(done.stdout.split()) == {str(nprocs > cores)}
