"""Make the crafted files; a function for each."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack

from scalatrace.trace.io.container import HEADER, MAGIC, pack_container
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.nodes import Node
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To, stencil
from support.parts import uncountable

__all__ = ["CRAFTED"]

BIG = 1 << 62
MAX_RANKS = 1 << 24
BOMB_BYTES = 200_000_000
ESCAPE = "\x1b[31mred\x9b0m"

Maker = Callable[[], bytes]
CRAFTED: dict[str, Maker] = {}
"""File name -> what makes its bytes."""


def crafted(name: str) -> Callable[[Maker], Maker]:
    """Register a file."""

    def register(make: Maker) -> Maker:
        CRAFTED[name] = make
        return make

    return register


def packed(trace: Trace) -> bytes:
    """Return the file of a trace."""
    return pack_container(pack_payload(trace))


def ring(b: Builder, repeat: Any = 1, at: str = "a.c:1:f") -> Node:
    """Everybody sends to the next rank."""
    to = To(Encoding.MODULO, Vec(1))
    return b.event("Isend", repeat, at=(at,), count=8, datatype=DOUBLE, dest=to, tag=1, comm=Comm())


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """Return the file of a stencil whose decoded payload was changed, with a right checksum."""
    payload = msgpack.unpackb(pack_payload(stencil()), strict_map_key=False)
    change(payload)
    return pack_container(msgpack.packb(payload, unicode_errors="surrogateescape"))


# --- traces that ask for much


@crafted("many-ranks.st")
def many_ranks() -> bytes:
    """A ring of 2^24 ranks in a few hundred bytes."""
    b = Builder(MAX_RANKS)
    return packed(b.of(ring(b)))


@crafted("many-repeats.st")
def many_repeats() -> bytes:
    """A call that every rank makes 2^62 times."""
    b = Builder(4)
    return packed(b.of(b.loop(BIG, ring(b))))


@crafted("nested-repeats.st")
def nested_repeats() -> bytes:
    """2^62 times 2^62 times 2^62 times a call: more than 64 bits count."""
    b = Builder(4)
    return packed(b.of(b.loop(BIG, b.loop(BIG, ring(b, BIG)))))


@crafted("overflowing-repeats.st")
def overflowing_repeats() -> bytes:
    """64 nested loops of 2^62: more than a floating-point number holds."""
    b = Builder(2)
    node = ring(b, BIG)
    for _ in range(60):
        node = b.loop(BIG, node)
    return packed(b.of(node))


@crafted("deep-nodes.st")
def deep_nodes() -> bytes:
    """100,000 loops in one another."""
    node = b"\x92\x01\x91" * 100_000 + b"\x92\x01\x90"
    return pack_container(_with_nodes(b"\x91" + node))


@crafted("deep-values.st")
def deep_values() -> bytes:
    """A value vector of loops nested 10,000 deep."""
    vec = b"\x93\x01\x00" * 10_000 + b"\x00"
    return pack_container(_with_nodes(b"\x91\x92\x91" + vec + b"\x90"))


@crafted("many-nodes.st")
def many_nodes() -> bytes:
    """300,000 empty loops in less than a kilobyte."""
    n = 300_000
    return pack_container(_with_nodes(b"\xdd" + struct.pack(">I", n) + b"\x92\x01\x90" * n))


def _with_nodes(nodes: bytes) -> bytes:
    """Return a payload with these bytes for the nodes, which come last."""
    payload = pack_payload(Trace(2))
    assert payload.endswith(b"\xa5nodes\x90")
    return payload[:-1] + nodes


@crafted("bomb.st")
def bomb() -> bytes:
    """A payload of 200 MB of zeros in 200 kB."""
    stream = zlib.compressobj(9)
    chunk = bytes(1 << 20)
    count, rest = divmod(BOMB_BYTES, len(chunk))
    stored = b"".join(stream.compress(chunk) for _ in range(count)) + stream.compress(bytes(rest))
    return _deflated(stored + stream.flush(), BOMB_BYTES)


@crafted("liar.st")
def liar() -> bytes:
    """A header that claims 2^62 bytes."""
    return _deflated(zlib.compress(bytes(100)), BIG)


def _deflated(stored: bytes, nbytes: int) -> bytes:
    header = HEADER.pack(MAGIC, 1, 1, len(stored), nbytes, 0)
    return header[:-4] + struct.pack("<I", zlib.crc32(stored, zlib.crc32(header[8:28]))) + stored


@crafted("few-of-many-ranks.st")
def few_of_many_ranks() -> bytes:
    """The first 4 of 2^22 ranks."""
    b = Builder(1 << 22)
    trace = b.of(ring(b), b.event("Barrier", comm=Comm()))
    return packed(replace(trace, ranks=RankList(range(4))))


@crafted("dimensions.st")
def dimensions() -> bytes:
    """A process grid of 2^24 dimensions."""
    return _of_arrays("Cart_create", dims=(0,), periods=(1,))


@crafted("neighbours.st")
def neighbours() -> bytes:
    """A rank with 2^24 neighbours in a communicator of four."""
    return _of_arrays("Dist_graph_create_adjacent", sources=(0,), destinations=(1,))


def _of_arrays(op: str, **arrays: tuple[int, ...]) -> bytes:
    """Return the file of a call whose arrays have 2^24 values each."""
    b = Builder(4)
    made = b.family("topology", [4], range(4))
    event = b.event(op, comm=Comm(), **arrays, newcomm=made)
    b.trace.arrays[:] = [IntArray(MAX_RANKS, Vec(value)) for (value,) in arrays.values()]
    one = {"sendcount": 1, "sendtype": DOUBLE, "recvcount": 1, "recvtype": DOUBLE}
    return packed(b.of(event, b.event("Neighbor_alltoall", **one, comm=made)))


# --- traces that hold what no recorder writes


@crafted("escapes.st")
def escapes() -> bytes:
    """Control characters of a terminal in every text of a trace."""
    b = Builder(2)
    b.trace.meta.update({"program": ESCAPE, f"key{ESCAPE}": ESCAPE})
    b.trace.counts[f"Iprobe{ESCAPE}"] = 3
    some = b.family(ESCAPE, (2,), (0, 1))
    to = To(Encoding.MODULO, Vec(1))
    return packed(
        b.of(
            b.event("Isend", at=(f"{ESCAPE}.c:1:f",), count=1, datatype=DOUBLE, dest=to, tag=1, comm=some),
            b.event("File_open", at=(f"{ESCAPE}.c:2:f",), comm=some, filename=ESCAPE, amode=ESCAPE),
        )
    )


@crafted("escape-in-operation.st")
def escape_in_operation() -> bytes:
    """An operation whose name has control characters."""
    return changed(lambda payload: payload["ops"][0].__setitem__(0, ESCAPE))


@crafted("code-in-operation.st")
def code_in_operation() -> bytes:
    """An operation whose name is a statement of C."""
    return changed(lambda payload: payload["ops"][0].__setitem__(0, "x(); system"))


@crafted("escape-in-datatype.st")
def escape_in_datatype() -> bytes:
    """A datatype whose description has control characters."""
    return changed(lambda payload: payload["types"][0].__setitem__(0, ESCAPE))


@crafted("datatype-of-nothing.st")
def datatype_of_nothing() -> bytes:
    """A datatype that is made of no other."""
    return changed(lambda payload: payload["types"][0].__setitem__(0, "contiguous"))


@crafted("code-in-parameter.st")
def code_in_parameter() -> bytes:
    """A parameter whose name is no identifier."""
    return changed(lambda payload: payload["ops"][0][1].__setitem__(0, "a b"))


@crafted("schema.st")
def schema() -> bytes:
    """A send whose destination is a datatype and whose datatype is an integer."""
    b = Builder(2)
    return packed(b.of(b.event("Isend", dest=DOUBLE, datatype=3, count=(1, 2), tag="x", comm=Comm())))


@crafted("nan-resolution.st")
def nan_resolution() -> bytes:
    """A statistic whose unit is not a number."""
    return changed(lambda payload: payload["stats"][0].__setitem__(1, float("nan")))


@crafted("loads.st")
def loads() -> bytes:
    """Loads whose factors are too large for a floating-point number, and so small that they are 0."""
    return changed(lambda payload: payload.__setitem__("load", [[BIG, -BIG, 0, 0]]))


@crafted("missing-entries.st")
def missing_entries() -> bytes:
    """An event whose datatype is in no table."""
    return changed(lambda payload: payload["types"].clear())


# --- parts


@crafted("hang.parts/rank-0.part")
def part_0() -> bytes:
    """Values that are counted one by one, 2^41 of them."""
    return _part(0)


@crafted("hang.parts/rank-1.part")
def part_1() -> bytes:
    """The part to merge it with."""
    return _part(1)


def _part(rank: int) -> bytes:
    return pack_container(uncountable(rank), compress=False, part=True)


# --- texts


@crafted("minus-900.ncptl")
def minus_900() -> bytes:
    """A program with 900 minus signs."""
    return b"TASK 0 OUTPUTS " + b"-" * 900 + b"1.\n"


@crafted("minus-100000.ncptl")
def minus_100000() -> bytes:
    """A program with 100,000 minus signs."""
    return b"TASK 0 OUTPUTS " + b"-" * 100_000 + b"1.\n"


@crafted("deep.txt")
def deep_text() -> bytes:
    """A text form with 100,000 open brackets."""
    return b"scalatrace text 1\n" + b"[" * 100_000


@crafted("deep.toml")
def deep_policy() -> bytes:
    """A policy with 100,000 open brackets."""
    return b"stats = " + b"[" * 100_000


@crafted("deep.snippets")
def deep_snippets() -> bytes:
    """A snippet with 100,000 open braces."""
    return b"snippet a " + b"{" * 100_000


@crafted("digits.snippets")
def digits() -> bytes:
    """A number of 10,000 digits."""
    return b"keep Send(tag = " + b"9" * 10_000 + b")\n"
