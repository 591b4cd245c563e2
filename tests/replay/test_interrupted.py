"""SIGINT ends all ranks of a replay, and what cannot work is said before the first call."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from scalatrace.replay import ComputeMode, MissingError, ReplayOptions, check, run
from scalatrace.trace.io.writer import save
from scalatrace.trace.values.histogram import Histogram
from support.builder import Builder, Comm
from support.memory_transport import MemoryTransport
from support.mpis import Mpi

LONG_NS = 60_000_000_000


@pytest.mark.mpi
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_an_interrupted_replay_ends_at_once(mpi: Mpi, engine: str, tmp_path: Path) -> None:
    b = Builder(2)
    compute = Histogram(2, LONG_NS, LONG_NS, LONG_NS, 0)
    save(b.of(b.event("Barrier", comm=Comm(), compute=compute)), tmp_path / "a.st")
    command = [mpi.mpiexec, "-n", "2", *mpi.scalatrace(), "replay", tmp_path / "a.st", "--compute", "sleep"]
    command += ["--engine", engine]
    environment = {**os.environ, **mpi.environment()}
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the test's starter may ignore it
    )
    try:
        time.sleep(3 if engine == "python" else 6)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "Traceback" not in said


def test_a_communicator_that_nothing_makes_is_an_error_before_the_first_call() -> None:
    b = Builder(2)
    half = b.family("split", [2], [0, 1])
    trace = b.of(b.event("Barrier", comm=Comm()), b.event("Bcast", count=1, root=0, comm=half))
    with pytest.raises(MissingError, match=r"MPI_Bcast uses communicator 3 \(split\), but no call"):
        check(trace, 2)


def test_what_is_done_is_reported() -> None:
    b = Builder()
    trace = b.of(b.loop(1000, b.event("Barrier", comm=Comm())))
    told: list[int] = []
    run(trace, MemoryTransport(), ReplayOptions(ComputeMode.NONE), told.append)
    assert told == [0, 256, 512, 768]
