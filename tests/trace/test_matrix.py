"""The communication matrix and the table of operations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from scalatrace.errors import FormatError, UsageError
from scalatrace.operations import Category, operation, received_bytes, sent_bytes
from scalatrace.trace.model.nodes import Event, Peer, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import PROC_NULL, ROOT, Vec
from support.builder import DOUBLE, INT
from support.traces import evens_and_odds, traces

SEND = Op("Isend", (("count", Kind.INT), ("datatype", Kind.TYPE), ("dest", Kind.PEER), ("comm", Kind.COMM)))


def _send(encoding: Encoding, dest: Vec, count: Vec, comm: int = 0, repeat: int = 1) -> Event:
    return Event(Vec(repeat), 0, 0, (count, Vec(0), Peer(encoding, dest), Vec(comm)))


def _trace(*nodes: Event | Sequence) -> Trace:
    trace = Trace(4, list(nodes), ops=[SEND], types=[DOUBLE])
    trace.comms.append(evens_and_odds(4))
    return trace


def test_a_ring_of_growing_messages() -> None:
    growing = _send(Encoding.MODULO, Vec(1), Vec(((0, 1, 1),)))
    trace = _trace(Sequence(Vec(10), (growing, _send(Encoding.ABSOLUTE, Vec(PROC_NULL), Vec(9)))))
    ring = np.roll(np.eye(4, dtype=int), 1, axis=1)
    assert (trace.matrix("messages") == 10 * ring).all()
    assert (trace.matrix("bytes") == 8 * 55 * ring).all()


def test_peers_of_a_communicator_become_world_ranks() -> None:
    matrix = _trace(_send(Encoding.XOR, Vec(1), Vec(2), comm=3, repeat=5)).matrix()
    assert {(i, j): matrix[i, j] for i, j in zip(*np.nonzero(matrix), strict=True)} == {
        (0, 2): 80, (2, 0): 80, (1, 3): 80, (3, 1): 80,
    }  # fmt: skip


@given(traces())
def test_matrix_equals_walk(trace: Trace) -> None:
    expected = np.zeros((trace.nprocs, trace.nprocs), int)
    try:
        for rank in range(trace.nprocs):
            for call in trace.walk(rank):
                if call.op == "Isend" and call["dest"] >= 0:
                    expected[rank, call.comm.members[call["dest"]]] += 1
    except IndexError:
        with pytest.raises(FormatError, match="not in the communicator"):
            trace.matrix("messages", "p2p")
        return
    assert (trace.matrix("messages", "p2p") == expected).all()


def test_unknown_measure() -> None:
    with pytest.raises(UsageError, match="give bytes or messages"):
        _trace().matrix("colour")


@pytest.mark.parametrize(
    ("name", "category", "nonblocking"),
    [
        ("Send", Category.SEND, False),
        ("Isend", Category.SEND, True),
        ("Send_c", Category.SEND, False),
        ("Issend", Category.SEND, True),
        ("Ssend_init", Category.PERSISTENT, True),
        ("Psend_init", Category.PERSISTENT, True),
        ("Imrecv", Category.RECV, True),
        ("Isendrecv_replace", Category.SENDRECV, True),
        ("Iprobe", Category.PROBE, False),
        ("Ibcast", Category.COLLECTIVE, True),
        ("Ireduce_scatter_block", Category.COLLECTIVE, True),
        ("Alltoallw_init", Category.COLLECTIVE, True),
        ("Ineighbor_alltoallv", Category.NEIGHBOUR, True),
        ("Waitall", Category.COMPLETION, False),
        ("Startall", Category.START, False),
        ("Comm_split", Category.COMMUNICATOR, False),
        ("Type_create_struct", Category.DATATYPE, False),
        ("Rget_accumulate", Category.ONE_SIDED, True),
        ("Win_fence", Category.WINDOW, False),
        ("File_iwrite_at_all", Category.IO, True),
        ("File_open", Category.FILE, False),
        ("Init_thread", Category.ENVIRONMENT, False),
        ("Info_create", Category.OTHER, False),
        ("Frobnicate", Category.OTHER, False),
    ],
)
def test_categories(name: str, category: Category, nonblocking: bool) -> None:
    row = operation(name)
    assert (row.name, row.category, row.nonblocking) == (name, category, nonblocking)


class FakeCall(dict[str, Any]):
    """A call on a communicator of three, made by rank 1."""

    comm = SimpleNamespace(rank=1, peers=(4, 5, 6), remote=None)


ONE = {"count": 10, "datatype": INT}
PAIR = {"sendcount": 10, "sendtype": INT, "recvcount": 10, "recvtype": DOUBLE}


@pytest.mark.parametrize(
    ("name", "params", "sent", "received"),
    [
        ("Send", ONE, 40, 0),
        ("Irecv", ONE, 0, 40),
        ("Send_init", ONE, 0, 0),
        ("Sendrecv", PAIR, 40, 80),
        ("Bcast", {**ONE, "root": 1}, 40, 0),
        ("Bcast", {**ONE, "root": 0}, 0, 40),
        ("Gather", {**PAIR, "root": 1}, 40, 240),
        ("Gather", {**PAIR, "root": 0}, 40, 0),
        ("Scatter", {**PAIR, "root": 1}, 120, 80),
        ("Scatterv", {**PAIR, "sendcounts": (1, 2, 3), "root": 1}, 24, 80),
        ("Allgather", PAIR, 40, 240),
        ("Alltoall", PAIR, 120, 240),
        ("Alltoallv", {**PAIR, "sendcounts": (1, 2, 3), "recvcounts": (0, 0, 1)}, 24, 8),
        ("Iallreduce", ONE, 40, 40),
        ("Reduce", {**ONE, "root": 0}, 40, 0),
        ("Reduce_scatter", {"recvcounts": (1, 2, 3), "datatype": INT}, 24, 8),
        ("Barrier", {}, 0, 0),
        ("Put", {"origin_count": 3, "origin_datatype": DOUBLE}, 24, 0),
        ("Fetch_and_op", {"datatype": DOUBLE}, 8, 8),
        ("File_write_at", ONE, 40, 0),
        ("File_read_all", ONE, 0, 40),
        ("Iprobe", {"source": 1}, 0, 0),
        ("Send", {"count": -1, "datatype": INT}, 0, 0),
        ("Send", {"count": 3, "datatype": -1000000004}, 0, 0),
        ("Send", {}, 0, 0),
    ],
)
def test_bytes(name: str, params: dict[str, Any], sent: int, received: int) -> None:
    assert (sent_bytes(name, FakeCall(params)), received_bytes(name, FakeCall(params))) == (sent, received)


def test_roots_of_intercommunicators() -> None:
    class Inter(FakeCall):
        comm = SimpleNamespace(rank=0, peers=(4, 5), remote=(4, 5))

    roots = [(ROOT, (40, 0)), (0, (0, 40)), (PROC_NULL, (0, 0))]
    for root, expected in roots:
        call = Inter({**ONE, "root": root})
        assert (sent_bytes("Bcast", call), received_bytes("Bcast", call)) == expected
