"""Workers: the same results in the same order, the first error, and an answer when one is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scalatrace import extrap, save
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.workers import each
from support.grids import trace_of, wavefront
from support.mpis import Mpi
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
