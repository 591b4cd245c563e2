"""Workers: the same results in the same order, the first error, and an answer when one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scalatrace import extrap, save
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.workers import concurrently, each
from support.grids import trace_of, wavefront
from support.mpis import ROOT, Mpi
from support.running import mpirun

PLANES = [(4, 4), (5, 4), (5, 5), (6, 5)]


@pytest.mark.parametrize("workers", [1, 2, 3, 20])
def test_results_come_in_order(workers: int) -> None:
    assert each(lambda n: n * n, range(10), workers) == [n * n for n in range(10)]


def test_nothing_to_do() -> None:
    assert each(str, [], 4) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_error_counts(workers: int) -> None:
    def work(n: int) -> int:
        if n in (3, 8):
            raise ExtrapolationError(f"no rule for {n}")
        return n

    with pytest.raises(ExtrapolationError, match="no rule for 3"):
        each(work, range(10), workers)


def test_without_a_killed_worker() -> None:
    here = os.getpid()

    def work(n: int) -> int:
        if n == 3 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return -n

    assert each(work, range(6), 2) == [-n for n in range(6)]


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait up to 30 s, on a busy machine, for what should take a moment."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("call", ["each(work, range(4), 2)", "concurrently(work, lambda: work(2), 2)"])
def test_workers_end_with_a_killed_parent(call: str, tmp_path: Path) -> None:
    code = (
        "import os, time\nfrom scalatrace.extrap.workers import concurrently, each\n"
        f"def work(n):\n    open(f'{tmp_path}/{{os.getpid()}}', 'w').close()\n    time.sleep(600)\n{call}\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as parent:
        try:
            wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        finally:
            parent.kill()
    wait_until(lambda: not any(Path("/proc", file.name).exists() for file in tmp_path.iterdir()))


@pytest.mark.parametrize("workers", [1, 2])
def test_two_pieces_at_the_same_time(workers: int) -> None:
    assert concurrently(lambda inner: (inner, "check"), lambda: "trace", workers) == ((1, "check"), "trace")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("first", "second"), [(True, False), (True, True), (False, True)])
def test_the_error_of_the_first_piece_counts(workers: int, first: bool, second: bool) -> None:
    def work(fails: bool, name: str) -> str:
        if fails:
            raise ExtrapolationError(name)
        return name

    with pytest.raises(ExtrapolationError, match="check" if first else "trace"):
        concurrently(lambda _: work(first, "check"), lambda: work(second, "trace"), workers)


def test_the_first_piece_runs_again_if_its_process_is_killed() -> None:
    here = os.getpid()

    def check(_: int) -> str:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return "check"

    assert concurrently(check, lambda: "trace", 2) == ("check", "trace")


def test_a_worker_leaves_out_what_comes_after_an_error(tmp_path: Path) -> None:
    def work(n: int) -> int:
        (tmp_path / str(n)).touch()
        if n % 10 == 3:
            raise ExtrapolationError(f"no rule for {n}")
        return n

    with pytest.raises(ExtrapolationError, match="no rule for 3"):
        each(work, range(80), 2)
    assert len(list(tmp_path.iterdir())) < 40


def test_the_trace_is_the_same_byte_by_byte(tmp_path: Path) -> None:
    traces = [trace_of(wavefront, dims, 24) for dims in PLANES]
    for workers in (1, 3):
        made = extrap.extrapolate(traces, 63, (9, 7), workers=workers)
        save(made.trace, tmp_path / f"{workers}.st")
    assert (tmp_path / "1.st").read_bytes() == (tmp_path / "3.st").read_bytes()


def test_ranks_of_an_mpi_program_make_the_same_trace(mpi: Mpi, tmp_path: Path) -> None:
    """Only the first one reports and writes."""
    paths = [tmp_path / f"{n}.st" for n in range(len(PLANES))]
    for path, dims in zip(paths, PLANES, strict=True):
        save(trace_of(wavefront, dims, 24), path)
    command = [*mpi.scalatrace(), "extrapolate", *map(str, paths), "--inputs", "n=24"]
    printed = []
    for name, workers in (("one", "1"), ("mpi", "mpi")):
        target = ["-P", "63", "--dims", "9x7", "--workers", workers, "-o", str(tmp_path / name)]
        done = mpirun(mpi, 3 if workers == "mpi" else 1, [*command, *target]).check()
        printed.append(done.stdout.count("63 ranks (9x7)"))
    assert printed[0] == printed[1]
    assert (tmp_path / "one").read_bytes() == (tmp_path / "mpi").read_bytes()


def test_errors_are_reported_once(mpi: Mpi, tmp_path: Path) -> None:
    command = [*mpi.scalatrace(), "extrapolate", "none.st", "-P", "8", "-o", "a.st"]
    done = mpirun(mpi, 2, [*command, "--workers", "mpi"], cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("none.st") == 1


def test_error_on_one_rank_ends_all(mpi: Mpi, tmp_path: Path) -> None:
    """Only the second rank has no traces; the first would wait for its share for ever."""
    (tmp_path / "empty").mkdir()
    names = []
    for dims in PLANES:
        names.append(f"{dims[0] * dims[1]}.st")
        save(trace_of(wavefront, dims, 24), tmp_path / names[-1])
    command = " ".join([*mpi.scalatrace(), "extrapolate", *names, "--inputs n=24 -P 63 --dims 9x7"])
    enter = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || cd empty"
    script = f"{enter}; exec {command} --workers mpi -o big.st"
    done = mpirun(mpi, 2, ["sh", "-c", script], cwd=tmp_path)
    assert done.returncode != 0
    assert "rank 1" in done.stderr
    assert "16.st" in done.stderr
