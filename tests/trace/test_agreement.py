"""Sizes and roots on which the ranks of a trace do not agree."""

from __future__ import annotations

import re

import pytest

from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.values.vec import ANY_SOURCE
from support.calls import IssuedCall, call, record

INT = "MPI_INT"


def _send(count: int, tag: int = 1) -> IssuedCall:
    return call("Send", 1, count=count, datatype=INT, dest=1, tag=tag, comm="world")


def _recv(count: int, source: int = 0, tag: int = 1) -> IssuedCall:
    return call("Recv", 2, count=count, datatype=INT, source=source, tag=tag, comm="world")


def _alltoallv(sends: tuple[int, ...], recvs: tuple[int, ...], in_place: int = 0) -> IssuedCall:
    return call(
        "Alltoallv", 3, sendcounts=sends, sendtype=INT, recvcounts=recvs, recvtype=INT, comm="world",
        in_place=in_place,
    )  # fmt: skip


def test_shorter_messages_fit() -> None:
    assert first_conflict(record([[_send(3), _send(5)], [_recv(5), _recv(4)]])) is None


def test_longer_messages_do_not() -> None:
    found = first_conflict(record([[_send(3)] * 4 + [_send(6)], [_recv(4)] * 5]))
    assert found is not None
    assert re.search("rank 0 sends 48 bytes with tag 1 to rank 1 .* whose receive has room for 32", found)


def test_tags_are_kept_apart() -> None:
    fitting = [[_send(3, 1), _send(6, 2)], [_recv(3, tag=1), _recv(6, tag=2)]]
    assert first_conflict(record(fitting)) is None


def test_receives_from_any_rank_are_not_compared() -> None:
    assert first_conflict(record([[_send(6)], [_recv(4, ANY_SOURCE)]])) is None


@pytest.mark.parametrize("op", ["Bcast", "Ibcast", "Reduce"])
def test_roots(op: str) -> None:
    def of(root: int) -> list[IssuedCall]:
        return [call(op, 4, count=1, datatype=INT, root=root, comm="world")]

    assert first_conflict(record([of(1), of(1)])) is None
    expected = f"MPI_{op} on communicator 0: rank 0 gives 8 bytes and root 0, rank 1 8 bytes and root 1"
    assert first_conflict(record([of(0), of(1)])) == expected


def test_sizes_of_collective_calls() -> None:
    def of(count: int) -> list[IssuedCall]:
        return [call("Allreduce", 4, count=count, datatype=INT, comm="world")] * 3

    expected = "MPI_Allreduce on communicator 0: rank 0 gives 8 bytes, rank 2 16 bytes"
    assert first_conflict(record([of(1), of(1), of(2)])) == expected


def test_roots_of_gathers_without_sizes() -> None:
    def of(root: int) -> list[IssuedCall]:
        return [call("Gatherv", 4, sendcount=1, sendtype=INT, root=root, comm="world")]

    expected = "MPI_Gatherv on communicator 0: rank 0 gives root 0, rank 1 root 1"
    assert first_conflict(record([of(0), of(1)])) == expected


def test_bytes_of_alltoallv() -> None:
    fitting = [[_alltoallv((1, 2), (1, 3))], [_alltoallv((3, 4), (2, 4))]]
    assert first_conflict(record(fitting)) is None
    wrong = [[_alltoallv((1, 2), (1, 3))], [_alltoallv((5, 4), (2, 4))]]
    found = first_conflict(record(wrong))
    assert found == "MPI_Alltoallv on communicator 0: rank 1 sends 16 bytes more to rank 0 than that receives"
    in_place = [[_alltoallv((), (1, 3), 1)], [_alltoallv((), (2, 4), 1)]]
    assert first_conflict(record(in_place)) is None


def test_missing_partners_come_first() -> None:
    found = first_conflict(record([[_send(6)], [_recv(4, tag=2)]]))
    assert found is not None
    assert "waits for 1 message with tag 2" in found
