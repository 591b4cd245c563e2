"""Calls without a partner in the trace, found from its compressed form."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scalatrace.trace.consistency.partners import first_unmatched
from scalatrace.trace.model.elastic import Elastic, Groups, Summary
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, Vec
from support.builder import INT, Builder, Comm, To, stencil

NEXT, BEFORE = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))
ANYONE, NO_PARTNER = To(Encoding.ABSOLUTE, Vec(ANY_SOURCE)), To(Encoding.ABSOLUTE, Vec(PROC_NULL))


class Ring:
    """Calls of three ranks."""

    def __init__(self) -> None:
        self.b = Builder(3)

    def send(self, dest: To = NEXT, tag: int = 5, op: str = "Send", repeat: Elastic | int = 1) -> Event:
        return self.b.event(op, repeat, count=1, datatype=INT, dest=dest, tag=tag, comm=Comm())

    def recv(self, source: To = BEFORE, tag: int = 5, op: str = "Recv", repeat: Elastic | int = 1) -> Event:
        return self.b.event(op, repeat, count=1, datatype=INT, source=source, tag=tag, comm=Comm())

    def probe(self, op: str, tag: int = 5) -> Event:
        return self.b.event(op, source=BEFORE, tag=tag, comm=Comm())

    def alone(self, *nodes: Node) -> str | None:
        return first_unmatched(self.b.of(*nodes))


def _of(*ranks: int) -> Groups:
    return Groups([(RankList.from_runs([(rank, rank + 1) for rank in ranks]), Vec(1))])


def test_nothing_is_alone_in_a_whole_program() -> None:
    assert first_unmatched(stencil()) is None


def test_messages_in_a_loop() -> None:
    ring = Ring()
    assert ring.alone(ring.b.loop(10, ring.send(), ring.recv())) is None


@pytest.mark.parametrize(
    ("sends", "receives", "said"),
    [
        ({}, {"tag": 6}, "rank 0 waits for 1 message with tag 6 from rank 2"),
        ({"repeat": 3}, {"repeat": 2}, "rank 0 sends 3 messages with tag 5 to rank 1 on .*, but 2 are"),
        (
            {"repeat": 2},
            {"source": ANYONE, "tag": ANY_TAG, "repeat": 3},
            "3 messages from any rank on .*2 are",
        ),
        ({"dest": NO_PARTNER}, {}, "but 0 are sent"),
        ({"op": "Isend"}, {"source": NO_PARTNER}, "but 0 are received"),
        ({"repeat": _of(0, 1)}, {}, "from rank 2 on communicator 0 .world., but 0 are sent"),
    ],
)
def test_messages_alone(sends: dict[str, Any], receives: dict[str, Any], said: str) -> None:
    ring = Ring()
    found = ring.alone(ring.send(**sends), ring.recv(**receives))
    assert found is not None
    assert re.search(said, found), found


def test_wildcards_take_what_the_others_leave() -> None:
    """Whatever their order: the one with the tag must have it."""
    ring = Ring()
    sends = [ring.send(tag=tag) for tag in (1, 2, 3)]
    receives = [ring.recv(ANYONE, ANY_TAG), ring.recv(BEFORE, 3), ring.recv(ANYONE, 1)]
    assert ring.alone(*sends, *receives) is None


def test_a_matched_probe_is_the_receive() -> None:
    ring = Ring()
    mrecv = ring.b.event("Mrecv", count=1, datatype=INT, message=0)
    assert ring.alone(ring.send(), ring.probe("Mprobe"), mrecv) is None


def test_a_probe_takes_nothing_but_waits() -> None:
    ring = Ring()
    assert ring.alone(ring.send(), ring.probe("Probe"), ring.recv()) is None
    ring = Ring()
    assert "probes for 1 message with tag 6" in str(
        ring.alone(ring.send(), ring.probe("Probe", 6), ring.recv())
    )


def test_a_persistent_send_counts_when_started() -> None:
    ring = Ring()
    nodes: list[Node] = [ring.send(op="Send_init"), ring.b.event("Start", 2, request=0)]
    assert ring.alone(*nodes, ring.recv(repeat=2)) is None
    assert "but 2 are received" in str(ring.alone(ring.b.event("Start", request=0)))


def test_what_was_not_kept_or_is_cancelled_is_not_compared() -> None:
    ring = Ring()
    unknown: Any = To(Encoding.ABSOLUTE, Summary(None, 0))
    assert ring.alone(ring.send(unknown)) is None
    ring = Ring()
    assert ring.alone(ring.recv(), ring.b.event("Cancel", request=0)) is None


def test_collectives() -> None:
    b = Builder(4)
    halves = b.family("split", [2, 2], [0, 2, 1, 3])
    b.of(b.event("Barrier", _of(0, 2), comm=halves), b.event("Barrier", 3, comm=Comm()))
    assert first_unmatched(b.trace) is None
    b.of(b.event("Bcast", _of(0, 2, 3), root=0, comm=halves))
    assert first_unmatched(b.trace) == (
        "rank 3 calls MPI_Bcast on communicator 3 (split) 1 times, rank 1 0 times"
    )


def test_windows_and_files() -> None:
    b = Builder(2)
    put = b.event("Put", target_rank=0, win=0, comm=Comm())
    lock = b.event("Win_lock", rank=0, win=0, comm=Comm())
    b.of(b.event("Win_fence", win=1, comm=Comm()), put)
    assert "the trace has none that opens an epoch" in str(first_unmatched(b.trace))
    b.of(lock)
    assert "Win_lock 1 times, MPI_Win_unlock not" in str(first_unmatched(b.trace))
    b.of(b.event("Win_unlock", rank=0, win=0, comm=Comm()))
    assert first_unmatched(b.trace) is None
    b.of(b.event("File_write", _of(0), fh=0, comm=Comm()), b.event("File_seek", _of(1), fh=0, comm=Comm()))
    assert first_unmatched(b.trace) is None
    b.of(b.event("File_set_view", _of(0), fh=0, comm=Comm()))
    assert "MPI_File_set_view" in str(first_unmatched(b.trace))
