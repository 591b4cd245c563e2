"""Endless waits inside the tracer: it gives up after a limit and prints one line; the program continues."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, plain, sorted_lines
from scalatrace import load
from support.mpis import Mpi
from support.running import Finished, record, run, scalatrace

pytestmark = pytest.mark.mpi
LIMIT_S = 2
TIMEOUT_S = 120
LIMITS = {"SCALATRACE_WAIT_LIMIT": str(LIMIT_S)}


@pytest.fixture
def stuck(mpi: Mpi, tmp_path: Path) -> Path:
    """Build the program whose functions replace some of the core's."""
    program = tmp_path / "stuck"
    flags = ["-rdynamic", "-pthread", "-o", program, PROGRAMS / "stuck.c", "-ldl"]
    run([mpi.mpicc, *flags], env=mpi.environment()).check()
    return program


def _same(done: Finished, untraced: Finished) -> list[str]:
    """Check that the program did the same. Return the tracer's lines."""
    if untraced.returncode == 77:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert done.returncode == untraced.returncode == 0
    assert sorted_lines(done) == sorted_lines(untraced)
    return [line for line in done.stderr.splitlines() if line.startswith("scalatrace: rank")]


def test_a_lock_that_is_never_released(mpi: Mpi, stuck: Path, tmp_path: Path) -> None:
    """Rank 1 records nothing more; the trace lacks it, since its compressor is in use."""
    trace = tmp_path / "a.st"
    done = record(mpi, 2, [stuck, "append"], trace, env=LIMITS, timeout=TIMEOUT_S)
    lines = _same(done, plain(mpi, 2, [stuck, "late", "0"], tmp_path))
    assert sum("waited 2 s for the lock of the recorder" in line for line in lines) == 1
    assert sum("nothing came from rank 1" in line for line in lines) == 1
    assert len(lines) == 2
    assert Counter(call.op for call in load(trace).walk(0))["Allreduce"] == 11


def test_a_checkpoint_that_never_ends(mpi: Mpi, stuck: Path, tmp_path: Path) -> None:
    """The helper thread keeps the lock while it writes."""
    trace = tmp_path / "a.st"
    done = record(
        mpi, 2, [stuck, "checkpoint"], trace, options=["--checkpoint", "1"], env=LIMITS, timeout=TIMEOUT_S
    )
    lines = _same(done, plain(mpi, 2, [stuck, "late", "0"], tmp_path))
    assert sum("waited 2 s for the lock" in line for line in lines) == 1
    assert sum("waited 2 s for the end of a checkpoint" in line for line in lines) == 1


def test_a_rank_that_comes_to_finalize_too_late(mpi: Mpi, stuck: Path, tmp_path: Path) -> None:
    """The others save their parts and go on; so does the late rank."""
    trace = tmp_path / "a.st"
    argv = [stuck, "late", "6"]
    limits = {"SCALATRACE_RANK_LIMIT": str(LIMIT_S)}
    done = record(mpi, 3, argv, trace, env=limits, timeout=TIMEOUT_S)
    lines = _same(done, plain(mpi, 3, argv, tmp_path))
    assert any("for other ranks in MPI_Finalize" in line for line in lines)  # rank 0 may then release rank 2
    assert not trace.exists()
    merged = scalatrace(mpi, "merge", f"{trace}.parts", "-o", tmp_path / "merged.st").check()
    assert "3 of 3 ranks" in merged.stdout


def test_ranks_without_a_tracer(mpi: Mpi, stuck: Path, tmp_path: Path) -> None:
    """Only the first program of mpiexec is recorded: nothing is, and all ranks end."""
    trace = tmp_path / "a.st"
    recorded = [*mpi.recorder(), "-o", trace, "--", stuck, "late", "0"]
    words = [mpi.mpiexec, "-n", "1", *recorded, ":", "-n", "1", stuck, "late", "0"]
    done = subprocess.run(
        [str(word) for word in words],
        env={**mpi.environment(), **LIMITS},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["rank 0: 2", "rank 1: 2"]
    assert done.stderr.count("nothing is recorded") == 1
    assert not trace.exists()


def test_the_gil_of_a_thread_that_waits(mpi: Mpi, tmp_path: Path) -> None:
    """Python knows the calling thread, and another thread keeps the GIL until the call has returned."""
    library, program, trace = tmp_path / "holder.so", tmp_path / "holds.py", tmp_path / "a.st"
    source = PROGRAMS / "gil_holder.c"
    run([mpi.mpicc, "-shared", "-fPIC", "-pthread", "-o", library, source], env=mpi.environment()).check()
    program.write_text(
        "import ctypes, sys, threading\nfrom mpi4py import MPI\n"
        "keeps, releases = ctypes.PyDLL(sys.argv[1]), ctypes.CDLL(sys.argv[1])\n"
        "for _ in range(3):\n"
        "    thread = threading.Thread(target=releases.call)\n    thread.start()\n"
        "    keeps.hold()\n    thread.join()\n"
        "print('rank', MPI.COMM_WORLD.allreduce(1))\n"
    )
    done = record(mpi, 2, [mpi.python, program, library], trace, env=LIMITS, timeout=TIMEOUT_S)
    lines = _same(done, plain(mpi, 2, [mpi.python, program, library], tmp_path))
    assert [line.split(": ")[2][:22] for line in lines] == ["waited 2 s for the GIL"] * 2
    for rank in range(2):
        assert Counter(call.op for call in load(trace).walk(rank))["Barrier"] == 3
