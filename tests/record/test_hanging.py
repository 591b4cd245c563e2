"""Programs that hang: parts say in which call each rank is, `merge` who waits for whom."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from record.conftest import Builder
from scalatrace import load
from support.mpis import Mpi
from support.running import record, scalatrace

pytestmark = pytest.mark.mpi
NPROCS = 6
TEXTS = {
    "0": ("MPI_Waitall for Irecv from rank 1, tag 5 and Irecv from rank 2, tag 6", "ranks 1-2"),
    "1": ("MPI_Recv from any rank", "ranks 0, 2-5"),
    "2": ("MPI_Barrier of ranks 0,2,4", "ranks 0, 4"),
    "3": ("outside MPI", ""),
    "4": ("MPI_Ssend to rank 2, tag 8", "rank 2"),
    "5": ("MPI_Finalize", "ranks 0-4"),
}


def _end_hanging(mpi: Mpi, program: Path, trace: Path, number: signal.Signals, *options: str) -> None:
    """Record a program, and end its launcher by a signal when all ranks hang."""
    argv = [mpi.mpiexec, "-n", NPROCS, *mpi.recorder(), "-o", trace, *options, "--", program]
    process = subprocess.Popen(
        [str(word) for word in argv],
        env=mpi.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        parts = trace.with_name(trace.name + ".parts")
        for _ in range(600):  # until the helpers of all ranks have written the first checkpoint
            if len(list(parts.glob("rank-*.part"))) == NPROCS:
                break
            time.sleep(0.1)
        time.sleep(3)
        process.send_signal(number)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()


def test_who_waits_for_whom(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    trace = tmp_path / "a.st"
    _end_hanging(mpi, build(mpi, "hangs.c"), trace, signal.SIGTERM, "--checkpoint", "1")
    merged = scalatrace(mpi, "merge", f"{trace}.parts", "-o", trace, "--json").check()
    facts = json.loads(merged.stdout)
    assert {row["ranks"]: (row["call"], row["waits for"]) for row in facts["unfinished"]} == TEXTS
    assert facts["cycle"] == [0, 1]
    assert all(0.5 < row["seconds"] < 60 for row in facts["unfinished"])
    shown = scalatrace(mpi, "show", trace, "--rank", "4").check().stdout.splitlines()
    assert shown[-1].startswith("unfinished  MPI_Ssend to rank 2, tag 8, for ")
    assert [call.op for call in load(trace).walk(4)] == ["Comm_split", "Barrier"]


def test_traces_of_programs_that_end_have_no_unfinished_calls(
    openmpi: Mpi, build: Builder, tmp_path: Path
) -> None:
    trace = tmp_path / "a.st"
    record(openmpi, 3, [build(openmpi, "late.c")], trace, options=["--checkpoint", "1"]).check()
    assert not any(name.startswith("in-call") for name in load(trace).meta)


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2", "SIGALRM"])
def test_signals_that_end_a_process_by_default(
    openmpi: Mpi, name: str, build: Builder, tmp_path: Path
) -> None:
    """One process: its part is saved, and it dies of the signal as it would have."""
    trace = tmp_path / "a.st"
    command = [*openmpi.recorder(), "-o", trace, "--", build(openmpi, "ending.c"), "signal"]
    process = subprocess.Popen(
        [str(word) for word in command], env=openmpi.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "rank 0: 1\n"
        process.send_signal(signal.Signals[name])
        assert process.wait(timeout=30) == -signal.Signals[name]
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "a.st.parts/rank-0.part").exists()
