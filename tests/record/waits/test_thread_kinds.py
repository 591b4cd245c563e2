"""Threads, locks, signals and callbacks: programs end as without the tracer; traces are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, Traced, plain, sorted_lines
from support.mpis import Mpi
from support.running import run, scalatrace

pytestmark = pytest.mark.mpi

THREADS = (
    "multiple",
    "serialized",
    "condition",
    "cancelled",
    "remaining",
    "timer",
    "jump",
    "forks",
    "systems",
    "coroutines",
    "atexit",
)
CALLBACKS = (
    "operators",
    "attributes",
    "attribute_of_self",
    "requests",
    "error_handler",
    "error_jump",
    "dlopen",
    "dlopen_thread",
    "dlopen_waits",
)
QUICK = frozenset({"multiple", "jump", "forks", "operators", "error_jump", "dlopen_waits"})
"""Kinds that the quick tests try."""
LIMIT_S = 150


def _kinds() -> list[object]:
    each = THREADS + CALLBACKS
    return [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in each]


@pytest.mark.parametrize("kind", _kinds())
def test_kind(mpi: Mpi, kind: str, build: Builder, traced: Callable[..., Traced], tmp_path: Path) -> None:
    source = "thread_kinds.c" if kind in THREADS else "callback_kinds.c"
    argv = [build(mpi, source), kind, _library(mpi, tmp_path)]
    untraced = plain(mpi, 2, argv, tmp_path)
    if untraced.returncode == 77:
        pytest.skip(f"{mpi.name} has not this level of threads")
    made = traced(mpi, 2, argv, timeout=LIMIT_S)
    assert made.finished.returncode == untraced.returncode == 0
    assert sorted_lines(made.finished) == sorted_lines(untraced)
    assert "lossless" in scalatrace(mpi, "verify", made.trace, made.logs).check().stdout


def test_calls_after_a_call_that_was_left(
    openmpi: Mpi, build: Builder, traced: Callable[..., Traced]
) -> None:
    """An error handler leaves MPI_Send by longjmp; later calls are recorded."""
    made = traced(openmpi, 2, [build(openmpi, "callback_kinds.c"), "error_jump"], timeout=LIMIT_S)
    made.finished.check()
    assert [made.ops(rank)["Allreduce"] for rank in range(2)] == [1, 1]


@pytest.mark.slow
def test_a_thousand_pairs_of_communicators(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]
) -> None:
    """Two threads create communicators at the same time, 1,000 times with one start."""
    made = traced(any_mpi, 2, [build(any_mpi, "communicator_pairs.c"), "1000"], timeout=300)
    if made.finished.returncode == 77:
        pytest.skip(f"{any_mpi.name} has no MPI_THREAD_MULTIPLE")
    made.finished.check()
    for rank in range(2):
        assert made.ops(rank)["Comm_create_group"] == 2000
    assert "lossless" in scalatrace(any_mpi, "verify", made.trace, made.logs).check().stdout


def _library(mpi: Mpi, folder: Path) -> Path:
    library = folder / "opened_library.so"
    source = PROGRAMS / "opened_library.c"
    flags = ["-shared", "-pthread", "-fPIC", "-g", "-o", library]
    run([mpi.mpicc, *flags, source], env=mpi.environment()).check()
    return library
