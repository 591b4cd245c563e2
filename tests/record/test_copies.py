"""Requests named by age, whatever handles MPI gives them and wherever the program keeps these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import Builder, Traced, plain, sorted_lines
from support.mpis import Mpi
from support.running import scalatrace

pytestmark = pytest.mark.mpi

SMALL, LARGE = "8", "1000000"
"""Bytes per message: sends that are complete at once, and sends with a request of their own."""


def completions(run: Traced) -> list[list[tuple[str, tuple[object, ...]]]]:
    """Each rank's completion calls with the ages of their requests."""
    return [
        [(call.op, call.values) for call in run.calls(rank) if call.op.startswith("Wait")]
        for rank in range(2)
    ]


@pytest.mark.parametrize(
    "mode", ["late", "shuffle", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("gather", "leak"))]
)
def test_ages_do_not_depend_on_handles(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced], mode: str
) -> None:
    program = build(any_mpi, "copies.c")
    large = traced(any_mpi, 2, [program, mode, LARGE])
    large.finished.check()
    expected = completions(large)
    assert len(expected[0]) > 5
    for env in ({}, {"OMPI_MCA_btl": "self,tcp"}, {"MULTIPLE": "1"}):
        small = traced(any_mpi, 2, [program, mode, SMALL], env=env)
        small.finished.check()
        assert completions(small) == expected
        assert "lossless" in scalatrace(any_mpi, "verify", small.trace, small.logs).check().stdout


def test_program_sees_the_same_statuses(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    argv = [build(any_mpi, "copies.c"), "statuses", SMALL]
    run = traced(any_mpi, 2, argv)
    assert sorted_lines(run.finished.check()) == sorted_lines(plain(any_mpi, 2, argv, tmp_path).check())
