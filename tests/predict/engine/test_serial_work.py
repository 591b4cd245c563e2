"""Ranks that compute one after another, against runs in which single ranks are late."""

from __future__ import annotations

import numpy as np
import pytest

from scalatrace import Trace
from scalatrace.arrays import Ints
from scalatrace.executor.ideal_run import SerialWork
from scalatrace.predict.engine.root_causes import run_ideally
from scalatrace.predict.engine.serial_work import PathPiece, serial_work
from scalatrace.trace.model.nodes import Node, node_numbers
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm, To
from support.lowered import on
from support.random_loops import both


def compute(b: Builder, rank: int, ns: int) -> Node:
    return b.event("Pcontrol", repeat=on({rank: 1}), level=1, compute=Histogram.of(ns))


def serial_of(trace: Trace) -> SerialWork | None:
    return run_ideally(trace).serial


def chain(nranks: int, steps: int, ns: int = 100) -> Trace:
    """Each rank receives from the one before it, computes, and sends to the next."""
    b = Builder(nranks)
    before, after = To(Encoding.RELATIVE, Vec(-1)), To(Encoding.RELATIVE, Vec(1))
    nodes = []
    for rank in range(nranks):
        if rank:
            nodes.append(b.event("Recv", repeat=on({rank: 1}), source=before, **both(8)))
        nodes.append(compute(b, rank, ns))
        if rank + 1 < nranks:
            nodes.append(b.event("Send", repeat=on({rank: 1}), dest=after, **both(8)))
    return b.of(b.loop(steps, *nodes, b.event("Barrier", comm=Comm())), every=True)


@pytest.mark.parametrize("nranks", [2, 4, 7])
def test_ranks_of_a_chain_run_one_after_another(nranks: int) -> None:
    trace = chain(nranks, steps=5)
    serial = serial_of(trace)
    assert serial is not None
    assert serial.time_ns == pytest.approx(5 * nranks * 100)
    assert serial.mean_ranks == pytest.approx(1)
    assert serial.ranks == tuple(range(nranks))
    assert sum(ns for *_, ns in serial.places) == pytest.approx(serial.time_ns)
    numbers = node_numbers(trace.nodes)
    pauses = {numbers[id(leaf)] for leaf in trace.leaves() if trace.ops[leaf.op].name == "Pcontrol"}
    assert {node for _, node, _ in serial.places} == pauses


def test_late_ranks_do_not_run_one_after_another() -> None:
    """Another rank is late before each barrier: the others wait, but none hands over to the next."""
    b, nodes = Builder(4), []
    for late in range(4):
        nodes += [compute(b, rank, 300 if rank == late else 100) for rank in range(4)]
        nodes.append(b.event("Barrier", comm=Comm()))
    assert serial_of(b.of(*nodes, every=True)) is None


def test_two_ranks_take_turns() -> None:
    """A lock: rank 0 lets rank 1 work and waits for its answer, before both compute at once."""
    b = Builder(2)
    to = {rank: To(Encoding.RELATIVE, Vec(1 - 2 * rank)) for rank in range(2)}
    body = (
        compute(b, 0, 100),
        b.event("Send", repeat=on({0: 1}), dest=to[0], **both(8)),
        b.event("Recv", repeat=on({1: 1}), source=to[1], **both(8)),
        compute(b, 1, 100),
        b.event("Send", repeat=on({1: 1}), dest=to[1], **both(8)),
        b.event("Recv", repeat=on({0: 1}), source=to[0], **both(8)),
        compute(b, 0, 300),
        compute(b, 1, 300),
        b.event("Barrier", comm=Comm()),
    )
    serial = serial_of(b.of(*body, every=True))
    assert serial is not None
    assert serial.time_ns == pytest.approx(200)
    assert serial.ranks == (0, 1)


def test_ranks_that_hand_over_by_a_collective() -> None:
    b, nodes = Builder(4), []
    for rank in range(4):
        nodes += [compute(b, rank, 100), b.event("Barrier", comm=Comm())]
    serial = serial_of(b.of(*nodes, every=True))
    assert serial is not None
    assert (serial.time_ns, serial.ranks) == (pytest.approx(400), (0, 1, 2, 3))


def test_a_rank_that_has_nearly_all_of_the_time_is_late() -> None:
    """Rank 0 computes alone for 90 ps, rank 1 after it for 10 ps."""
    path = [PathPiece(0, 90, 0, 0, 1), PathPiece(90, 100, 1, 1, 2)]
    assert serial_work(path, computing(path), 2) is None
    equal = [PathPiece(0, 60, 0, 0, 1), PathPiece(60, 100, 1, 1, 2)]
    serial = serial_work(equal, computing(equal), 2)
    assert serial is not None
    assert serial.time_ns == pytest.approx(0.1)
    assert [(after, node) for after, node, _ in serial.places] == [(0, 1), (1, 2)]


def test_busy_ranks_are_not_serial() -> None:
    """The path goes over two ranks, but three of four ranks compute all the time."""
    path = [PathPiece(0, 60, 0, 0, 1), PathPiece(60, 100, 1, 1, 2)]
    further = [PathPiece(0, 100, rank, 0, 1) for rank in (2, 3)]
    assert serial_work(path, computing([*path, *further]), 4) is None
    assert serial_work(path, computing([*path, further[0]]), 4) is not None


def computing(pieces: list[PathPiece]) -> Ints:
    return np.array([(piece.begin, piece.end) for piece in pieces], dtype=np.int64)
