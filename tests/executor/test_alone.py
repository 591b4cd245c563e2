"""The recorded part of a program: whether its calls can run without those that were not recorded."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.executor.alone import why_not_alone
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Node
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm, stencil


def _part(trace: Trace) -> Trace:
    return replace(trace, counts={"switched off": 3})


def test_a_whole_program_is_not_searched() -> None:
    b = Builder(2)
    assert not why_not_alone(b.of(b.event("Barrier", _of(0), comm=Comm())))


def test_a_part_with_all_partners() -> None:
    assert not why_not_alone(_part(stencil()))


def test_numbers_of_calls() -> None:
    b = Builder(2)
    note = why_not_alone(_part(b.of(b.event("Barrier", _of(0), comm=Comm()))))
    assert note == (
        "3 calls were made while recording was switched off (MPI_Pcontrol), and the trace cannot run alone: "
        "rank 0 calls MPI_Barrier on communicator 0 (world) 1 times, rank 1 0 times"
    )


def test_order_of_calls() -> None:
    """Each rank calls each operation once, in another order."""
    b = Builder(2)

    def barrier(rank: int) -> Node:
        return b.event("Barrier", _of(rank), comm=Comm())

    def dup(rank: int) -> Node:
        return b.event("Comm_dup", _of(rank), comm=Comm(), newcomm=Comm(1))

    note = why_not_alone(_part(b.of(barrier(0), dup(0), dup(1), barrier(1))))
    assert "rank 0 calls MPI_Barrier" in note
    assert "where rank 1 calls MPI_Comm_dup" in note


def _of(*ranks: int) -> Groups:
    return Groups([(RankList.from_runs([(rank, rank + 1) for rank in ranks]), Vec(1))])
