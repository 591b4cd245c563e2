"""Senders and alignment in traces of real programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace
from scalatrace.codegen.matching import (
    align_collectives,
    check_deadlock,
    has_wildcards,
    needs_alignment,
    resolve_wildcards,
)
from support.mpis import Mpi
from support.naive import Naive
from support.programs import Sample

Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]


@pytest.mark.mpi
@pytest.mark.parametrize(
    "sample",
    [Sample("manager_worker.py", ("--tasks", "30")), Sample("npb/lu.py", ("--steps", "2", "--size", "4"))],
    ids=str,
)
def test_wildcards_of_programs(openmpi: Mpi, recorded: Recorder, sample: Sample) -> None:
    path, _ = recorded(openmpi, 4, sample)
    trace = scalatrace.load(path)
    assert has_wildcards(trace)
    made = resolve_wildcards(trace)
    assert not has_wildcards(made)
    played = Naive(made, synchronous=False)
    assert (played.stuck, played.unreceived) == ([], [])
    assert check_deadlock(trace) is None
    if "manager" in sample.source:
        heard = [call["source"] for call in made.walk(0) if call.op == "Recv"]
        assert heard == [call["dest"] for call in made.walk(0) if call.op == "Send"]


@pytest.mark.mpi
def test_a_program_with_its_collectives_in_branches(openmpi: Mpi, recorded: Recorder) -> None:
    path, _ = recorded(openmpi, 4, Sample("../tests/codegen/programs/branches.py"))
    trace = scalatrace.load(path)
    assert needs_alignment(trace)
    made = align_collectives(trace)
    assert not needs_alignment(made)
    assert made.nnodes < trace.nnodes
    assert [(c.op, c.params) for c in made.walk(1)] == [(c.op, c.params) for c in trace.walk(1)]
