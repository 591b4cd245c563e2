"""Unfinished calls of merged parts: their texts, and who waits for whom."""

from __future__ import annotations

import json

import pytest

from scalatrace.trace.model.trace_tables import TraceTables
from scalatrace.trace.query.unfinished import awaited_ranks, unfinished_calls


def tables(*calls: object) -> TraceTables:
    """Tables of a trace whose ranks are in these calls."""
    meta = {f"in-call {rank}": json.dumps([call]) for rank, call in enumerate(calls)}
    return TraceTables(len(calls), meta={"run": "1", **meta})


def collective(op: str, comm: str, ranks: str) -> dict[str, object]:
    return {"op": op, "seconds": 2, "comm": comm, "ranks": ranks}


def test_a_collective_call_waits_for_members_that_are_not_in_it() -> None:
    calls = unfinished_calls(
        tables(
            collective("Barrier", "1", "0-3"),
            collective("Barrier", "1", "0-3"),
            collective("Bcast", "1", "0-3"),
            collective("Barrier", "7", "3"),
        )
    )
    assert awaited_ranks(calls) == {0: [2, 3], 1: [2, 3], 2: [0, 1, 3], 3: []}


def test_peers_of_calls_and_requests() -> None:
    irecv = {"op": "Irecv", "from": "any", "tag": 5}
    calls = unfinished_calls(
        tables(
            {"op": "Sendrecv", "seconds": 1.5, "from": 2, "to": 1, "tag": 4},
            {"op": "Waitall", "seconds": 1, "requests": [irecv, {"op": "Isend", "to": 0}] * 2},
            {"op": "Recv", "seconds": 1, "from": 2},
            {"op": "", "seconds": 9},
            {"op": "Finalize", "seconds": 1},
        )
    )
    assert awaited_ranks(calls) == {0: [1, 2], 1: [0, 2, 3, 4], 2: [2], 3: [], 4: [0, 1, 2, 3]}
    assert [own[0].text for own in calls.values()] == [
        "MPI_Sendrecv to rank 1 from rank 2, tag 4",
        "MPI_Waitall for Irecv from any rank, tag 5 and Isend to rank 0 and Irecv from any rank, tag 5"
        " and 1 more",
        "MPI_Recv from rank 2",
        "outside MPI",
        "MPI_Finalize",
    ]


@pytest.mark.parametrize(
    "entry", ["", "{", "[1]", "[{}]", '[{"op": 1}]', "[" * 100_000, '[{"op": "", "seconds": []}]']
)
def test_damaged_entries_are_left_out(entry: str) -> None:
    damaged = TraceTables(2, meta={"in-call 0": entry, "in-call x": "[]"})
    assert unfinished_calls(damaged) == {}
