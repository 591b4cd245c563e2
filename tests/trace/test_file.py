"""Trace files: exact round trips, and nothing but one clear error for whatever is damaged or hostile."""

from __future__ import annotations

import contextlib
import gc
import struct
import zlib
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalatrace
from scalatrace.errors import FormatError, ScalatraceError
from scalatrace.trace.io.check import MAX_NODE_DEPTH
from scalatrace.trace.io.container import HEADER, SMALL_PAYLOAD, pack_container, read_container
from scalatrace.trace.io.reader import load, loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.groups import Groups
from scalatrace.trace.model.nodes import Event, Node, Peer, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, IntArray, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.traces import OPS, traces


def _small() -> Trace:
    hist = Histogram(10, 3, 88, 20, 15, (Bin(7, 3, 9, 5), Bin(3, 50, 88, 60)))
    send = Event(
        Vec(((0, 0, 1, 2),)),
        0,
        1,
        (Vec(5), Vec(0), Peer(Encoding.MODULO, Vec(1)), Vec(0)),
        (PredStats(0, (hist,)),),
    )
    loop = Sequence(Vec(3), (send, Event(Vec(1), 2, 0, (Vec(0), Vec(0), Vec(0)))))
    return Trace(
        4,
        [loop],
        meta={"program": "x"},
        ops=OPS,
        stats=[RecordedStat("compute_ns", 1.0)],
        frames=["a.py:1:f"],
        signatures=[(), (0,)],
        types=[Datatype("MPI_INT", 4, 4)],
        arrays=[IntArray(4, Vec(2))],
        preds=[START, (0, 1)],
    )


def _consume(trace: Trace) -> None:
    """Use everything that a reader of a trace uses, for a while."""
    for rank in islice(trace.ranks, 2):
        for call in islice(trace.walk(rank), 50):
            _ = (call.params, call.comm, call.stack, call.stat("compute_ns"))
        trace.nevents(rank)
    for node in trace.nodes:
        trace.participants(node)


@given(traces(), st.booleans())
def test_round_trip(trace: Trace, compress: bool) -> None:
    assert loads(pack_container(pack_payload(trace), compress)) == trace


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "a.st"
    scalatrace.save(_small(), path)
    assert scalatrace.load(path) == _small()
    assert [p.name for p in tmp_path.iterdir()] == ["a.st"]


def test_nodes_that_never_ran_are_left_out() -> None:
    """Earlier versions stored them, with parameters that have no values."""
    empty = Vec(())
    never = Event(Vec(0), 0, 1, (empty, empty, Peer(Encoding.MODULO, empty), empty))
    ranks = Groups([(RankList([0]), Vec((0, 0))), (RankList([2, 3]), Vec(0))])
    small = _small()
    old = replace(small, nodes=[Sequence(Vec(2), (never,)), *small.nodes, replace(never, repeat=ranks)])
    (loop,) = small.nodes
    assert isinstance(loop, Sequence)
    old.nodes.append(replace(loop, nodes=(*loop.nodes, never)))
    for read in (loads(pack_container(pack_payload(old))), parse(text(old))):
        assert read.nodes == [loop, loop]


def test_unwritable(tmp_path: Path) -> None:
    with pytest.raises(ScalatraceError, match="cannot write"):
        scalatrace.save(_small(), tmp_path / "none" / "a.st")
    with pytest.raises(ScalatraceError, match="cannot be stored"):
        scalatrace.save(Trace(1, [Sequence(Vec(1 << 70), ())]), tmp_path / "a.st")
    assert list(tmp_path.iterdir()) == []


def test_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.st"):
        with pytest.raises(FormatError, match="cannot read"):
            scalatrace.load(path)


@pytest.mark.parametrize("compress", [False, True])
def test_every_cut_and_every_flip_is_one_clear_error(compress: bool) -> None:
    data = pack_container(pack_payload(_small()), compress)
    assert bool(data[10] & 1) == compress
    for n in range(len(data)):
        with pytest.raises(FormatError, match=r"^x\.st: ") as caught:
            loads(data[:n], "x.st")
        assert caught.value.offset is not None
    for i in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            damaged = data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :]
            with pytest.raises(FormatError, match=r"^x\.st: "):
                loads(damaged, "x.st")


def test_every_flip_behind_a_right_checksum_is_an_error_or_a_trace() -> None:
    payload = pack_payload(_small())
    for i in range(len(payload)):
        for flip in (1, 2, 0x10, 0x80, 0xFF):
            _try(payload[:i] + bytes([payload[i] ^ flip]) + payload[i + 1 :])
        _try(payload[:i])
        _try(payload[:i] + payload[i + 1 :])


@given(traces(), st.data())
def test_random_damage_behind_a_right_checksum(trace: Trace, data: st.DataObject) -> None:
    payload = bytearray(pack_payload(trace))
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(payload) - 1))
        payload[i : i + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    _try(bytes(payload))


def _try(payload: bytes) -> None:
    """Anything but a FormatError fails the test."""
    with contextlib.suppress(FormatError):
        _consume(loads(pack_container(payload, compress=False)))


def _hostile(**changes: Any) -> bytes:
    fields = msgpack.unpackb(pack_payload(_small()), strict_map_key=False) | changes
    return pack_container(msgpack.packb(fields))


def _deep(levels: int) -> Any:
    node: Any = [1, []]
    for _ in range(levels):
        node = [1, [node]]
    return node


@pytest.mark.parametrize(
    "changes",
    [
        {"nprocs": 1 << 60},
        {"nprocs": 0},
        {"nprocs": -1},
        {"nprocs": "4"},
        {"ranks": [[1 << 40, 1, 0]]},
        {"ranks": []},
        {"ranks": [3, 2]},
        {"meta": {"a": 1}},
        {"meta": []},
        {"ops": [["Isend", ["dest", 9]]]},
        {"ops": [["Isend", ["dest"]]]},
        {"ops": [["X", []], ["X", []]]},
        {"ops": []},
        {"stats": [["a", float("nan")]]},
        {"stats": []},
        {"signatures": []},
        {"signatures": [[0], [0, 7]]},
        {"comms": [["world", 7, 4, [[4, 1, 0]]]]},
        {"comms": [["world", -1, 4, [[1 << 60, 1, 0]]]]},
        {"comms": [["world", -1, 4, [[0, 1, 0]]]]},
        {"types": [["x", 1]]},
        {"arrays": [[1 << 60, 3]]},
        {"arrays": [[5, [1, 2]]]},
        {"preds": []},
        {"preds": [[-1, 0], [90, 0]]},
        {"counts": {"Send": -1}},
        {"load": [3, 3]},
        {"nodes": [[-1, []]]},
        {"nodes": [[[[0, -1, 5]], []]]},
        {"nodes": [[1, 99, 0, [], []]]},
        {"nodes": [[1, 0, 99, [], []]]},
        {"nodes": [[1, 0, 0, [], []]]},
        {"nodes": [[1, 4, 0, [], [[0]]]]},
        {"nodes": [[1, 4, 0, [], [[9, 1]]]]},
        {"nodes": [[1, 4, 0, [], [[]]]]},
        {"nodes": [[1, 2, 3]]},
        {"nodes": 5},
        {"nodes": [_deep(400)]},
        {"nodes": [[{0: [0, 1, 0, 1]}, []]]},
        {"turns": [[0, [[0, 0, 0, 1]]]]},
        {"turns": [[0, 1]]},
        {"turns": [[99, [0, 1]]]},
        {"surprise": 1},
    ],
    ids=str,
)
def test_hostile_contents(changes: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"^evil.st: .+ \(byte \d+ of the"):
        loads(_hostile(**changes), "evil.st")


def test_claimed_lengths_allocate_nothing() -> None:
    claims = [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01",
    ]
    for claim in claims:
        for key in (b"\xa6nprocs", b"\xa4meta", b"\xa5nodes"):
            with pytest.raises(FormatError):
                loads(pack_container(b"\x81" + key + claim))
        with pytest.raises(FormatError):
            loads(pack_container(claim))


def test_deepest_msgpack() -> None:
    for levels in (500, 5000, 200_000):
        with pytest.raises(FormatError):
            loads(pack_container(b"\x82\xa6nprocs\x04\xa5ranks" + b"\x91" * levels + b"\x01"))


@pytest.mark.parametrize("size", [1 << 62, 100_000_000])
def test_a_bomb_is_not_inflated(size: int) -> None:
    """Neither if its header lies, nor if it says the truth."""
    stored = zlib.compress(bytes(100_000_000), 9)
    header = HEADER.pack(b"\x89STRC\r\n\x1a", 1, 1, len(stored), size, 0)
    header = header[:-4] + struct.pack("<I", zlib.crc32(stored, zlib.crc32(header[8:28])))
    with pytest.raises(FormatError, match="cannot inflate"):
        read_container(header + stored)


def test_what_deflates_too_well_is_stored() -> None:
    payload = bytes(SMALL_PAYLOAD + 1)
    read = read_container(pack_container(payload))
    assert (read.payload == payload, read.deflated) == (True, False)
    assert read_container(pack_container(payload[1:])).deflated


def test_depth_that_is_allowed_is_read_and_walked() -> None:
    node: Node = Event(Vec(1), 4, 0)
    for _ in range(MAX_NODE_DEPTH):
        node = Sequence(Vec(1), (node,))
    trace = Trace(1, [node], ops=OPS)
    assert len(list(loads(pack_container(pack_payload(trace))).walk(0))) == 1


def test_parts_and_other_versions_are_told_apart() -> None:
    payload = pack_payload(_small())
    with pytest.raises(FormatError, match="scalatrace merge"):
        loads(pack_container(payload, part=True))
    data = bytearray(pack_container(payload))
    data[8] = 3
    with pytest.raises(FormatError, match="version 3"):
        loads(bytes(data))
    with pytest.raises(FormatError, match="not a scalatrace trace"):
        loads(b"hello world, this is a text file and no trace")


@pytest.mark.parametrize("enabled", [True, False])
def test_reading_leaves_the_collector_as_it_was(enabled: bool, tmp_path: Path) -> None:
    (tmp_path / "a.st").write_bytes(pack_container(b"\xc1"))
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(FormatError):
            load(tmp_path / "a.st")
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
