"""The tracer runs out of memory in an MPI program: results stay, and each rank prints one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, plain, sorted_lines
from scalatrace import load
from support.mpis import Mpi
from support.running import Argument, record, run

pytestmark = pytest.mark.mpi

NRANKS = 3
FAILED = "failing_core: an allocation fails"


@pytest.fixture(scope="module")
def failing(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Library that lets allocations of the core fail."""
    library = tmp_path_factory.mktemp("failing") / "failing_core.so"
    source = PROGRAMS / "failing_core.c"
    run(["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", library, source, "-ldl"]).check()
    return library


def checked(mpi: Mpi, argv: list[Argument], trace: Path, rank: int, environment: dict[str, str]) -> list[str]:
    """Run a program plainly and traced; return the tracer's messages from the rank and from others."""
    expected = plain(mpi, NRANKS, argv, trace.parent).check()
    traced = record(mpi, NRANKS, argv, trace, env={**environment, "FAIL_RANK": str(rank)})
    assert traced.returncode == expected.returncode
    assert sorted_lines(traced) == sorted_lines(expected)
    assert FAILED in traced.stderr
    return [line for line in traced.warnings.splitlines() if line.startswith("scalatrace: ")]


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("first", "all_later"),
    [
        (0, True),  # st_core_new
        (150, False),
        (400, True),  # events
        pytest.param(5, True, marks=pytest.mark.slow),  # settings
        pytest.param(30, False, marks=pytest.mark.slow),
        pytest.param(300, False, marks=pytest.mark.slow),
        pytest.param(600, True, marks=pytest.mark.slow),
    ],
)
def test_core(
    openmpi: Mpi, build: Builder, failing: Path, tmp_path: Path, rank: int, first: int, all_later: bool
) -> None:
    environment = {
        "LD_PRELOAD": str(failing),
        "FAIL_LIBRARY": "libscalatrace_core",
        "FAIL_BYTES": "0",
        "FAIL_FIRST": str(first),
        **({"FAIL_ALL": "1"} if all_later else {}),
    }
    messages = checked(openmpi, [build(openmpi, "memory.c"), "60"], tmp_path / "a.st", rank, environment)
    of_rank = [line for line in messages if line.startswith(f"scalatrace: rank {rank}: ")]
    assert len(of_rank) == 1, messages
    assert "out of memory" in of_rank[0]
    assert len(messages) <= 2, messages  # the parent says that nothing came


def test_no_memory_for_the_trace_of_another_rank(
    openmpi: Mpi, build: Builder, failing: Path, tmp_path: Path
) -> None:
    """The sender does not wait for a receive that never comes."""
    trace = tmp_path / "a.st"
    environment = {
        "LD_PRELOAD": str(failing),
        "FAIL_LIBRARY": "libscalatrace_mpi",
        "FAIL_BYTES": "20000",  # more than tables of handles, less than the trace of a rank
        "FAIL_FIRST": "0",
        "FAIL_ALL": "1",
    }
    messages = checked(openmpi, [build(openmpi, "memory.c"), "3000"], trace, 0, environment)
    assert messages == ["scalatrace: rank 0: nothing came from rank 1; the trace lacks it"]
    assert list(load(trace).ranks) == [0]
