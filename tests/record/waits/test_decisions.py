"""Delays on some ranks at each of the tracer's waits for others: all ranks decide the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, plain, sorted_lines
from scalatrace import load
from support.mpis import Mpi
from support.running import Finished, record, run, scalatrace

pytestmark = pytest.mark.mpi
TIMEOUT_S = 120
LIMIT_S = 1
Untraced = Callable[[Mpi, int], Finished]
EACH = -1
"""Delayed rank: each, by its number times."""


@pytest.fixture(scope="module")
def delays(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library that delays the tracer's calls."""
    library = tmp_path_factory.mktemp("delays") / "delays.so"
    run([mpi.mpicc, "-shared", "-fPIC", "-o", library, PROGRAMS / "delays.c"], env=mpi.environment()).check()
    return library


@pytest.fixture(scope="module")
def untraced(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Untraced:
    """Return a function for the run of wildcards.c without the tracer; one run for each number of ranks."""

    @cache
    def run_once(mpi: Mpi, nprocs: int) -> Finished:
        return plain(mpi, nprocs, [build(mpi, "wildcards.c")], tmp_path_factory.mktemp("untraced"))

    return run_once


def _delayed(library: Path, call: str, rank: int, ms: int) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(library),
        "DELAYED_CALL": call,
        "DELAYED_RANK": str(rank),
        "DELAY_MS": str(ms),
        "SCALATRACE_WAIT_LIMIT": str(LIMIT_S),
    }


def _said(done: Finished, expected: Finished) -> list[str]:
    """Check that the program did the same. Return the tracer's lines."""
    assert done.returncode == expected.returncode == 0, done.stderr
    assert sorted_lines(done) == sorted_lines(expected)
    return [line for line in done.stderr.splitlines() if line.startswith("scalatrace: rank")]


def _start_limit_s(nprocs: int) -> int:
    """Return the limit in MPI_Init, which is longer with more ranks than cores."""
    return LIMIT_S * max(1, nprocs // (os.cpu_count() or 1))


@pytest.mark.parametrize("nprocs", [3, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rank", [0, 1, EACH])
def test_late_ranks_in_init(
    mpi: Mpi, nprocs: int, rank: int, build: Builder, delays: Path, untraced: Untraced, tmp_path: Path
) -> None:
    """One rank is later than the limit: nothing is recorded. Limits count from the last arrival."""
    limit_s = _start_limit_s(nprocs)
    program, trace = [build(mpi, "wildcards.c")], tmp_path / "a.st"
    delay_ms = 700 * limit_s // (1 if nprocs == 3 else 4) if rank == EACH else 3000 * limit_s
    env = _delayed(delays, "PMPI_Comm_rank", rank, delay_ms)
    done = record(mpi, nprocs, program, trace, env=env, timeout=TIMEOUT_S)
    lines = _said(done, untraced(mpi, nprocs))
    assert trace.exists() == (rank == EACH)
    assert all("nothing is recorded" in line for line in lines)
    assert (len(lines) > 0) == (rank != EACH)


@pytest.mark.parametrize("first_is_recorded", [True, False])
def test_ranks_without_a_tracer(
    mpi: Mpi, first_is_recorded: bool, build: Builder, untraced: Untraced, tmp_path: Path
) -> None:
    """No message of the tracer comes into a receive of the program, and collectives match."""
    program, trace = build(mpi, "wildcards.c"), tmp_path / "a.st"
    recorded = [*mpi.recorder(), "-o", trace, "--", program]
    first, second = (recorded, [program]) if first_is_recorded else ([program], recorded)
    done = run(
        [mpi.mpiexec, "-n", "1", *first, ":", "-n", "2", *second],
        env={**mpi.environment(), "SCALATRACE_WAIT_LIMIT": str(LIMIT_S)},
        timeout=TIMEOUT_S,
    )
    lines = _said(done, untraced(mpi, 3))
    assert len(lines) == (1 if first_is_recorded else 2)
    assert not trace.exists()


@pytest.mark.parametrize(
    "call", ["PMPI_Comm_dup", "PMPI_Comm_split_type", "PMPI_Iallreduce", "PMPI_Isend", "PMPI_Comm_free"]
)
@pytest.mark.parametrize("nprocs", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_late_ranks_after_it(
    mpi: Mpi, nprocs: int, call: str, build: Builder, delays: Path, untraced: Untraced, tmp_path: Path
) -> None:
    """Longer than the limit: the others wait, since all take part."""
    program, trace = [build(mpi, "wildcards.c")], tmp_path / "a.st"
    env = _delayed(delays, call, 1, 500 if call == "PMPI_Isend" else 1100 * LIMIT_S)
    done = record(mpi, nprocs, program, trace, env=env, timeout=TIMEOUT_S)
    assert _said(done, untraced(mpi, nprocs)) == []
    assert len(load(trace).ranks) == nprocs


@pytest.mark.parametrize(
    ("rank", "call"),
    [
        (0, "PMPI_Irecv"),
        (3, "PMPI_Isend"),
        *(pytest.param(rank, "PMPI_Isend", marks=pytest.mark.slow) for rank in (0, 1)),
        *(pytest.param(rank, "PMPI_Irecv", marks=pytest.mark.slow) for rank in (1, 3)),
    ],
)
def test_late_ranks_in_finalize(
    mpi: Mpi, rank: int, call: str, build: Builder, delays: Path, untraced: Untraced, tmp_path: Path
) -> None:
    """Later than the limit of MPI_Finalize, at each message: the parts of all ranks are left."""
    program, trace = [build(mpi, "wildcards.c")], tmp_path / "a.st"
    env = _delayed(delays, call, rank, 1700)
    env |= {"SCALATRACE_RANK_LIMIT": "1", "SCALATRACE_WAIT_LIMIT": "10"}
    done = record(mpi, 4, program, trace, env=env, timeout=TIMEOUT_S)
    _said(done, untraced(mpi, 4))
    if not trace.exists():
        merged = scalatrace(mpi, "merge", f"{trace}.parts", "-o", tmp_path / "merged.st").check()
        assert "4 of 4 ranks" in merged.stdout
