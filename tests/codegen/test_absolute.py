"""Programs without the application's communicators: the same messages between the same processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scalatrace import Trace
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.passes.absolute import absolute_ranks
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall, calls
from scalatrace.errors import FormatError
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_TAG, PROC_NULL, SPECIAL_MAX, Vec
from support.builder import DOUBLE, Builder, Comm, To

DATA = {"count": 3, "datatype": DOUBLE}


def rows(*more: str) -> Trace:
    """Eight ranks in two rows of four, a ring in each; 2 to 5 swap in pairs in a reversed half."""
    b = Builder(8)
    row = b.family("split", (4, 4), tuple(range(8)))
    middle = b.family("split", (4,), (5, 4, 3, 2))
    some = Groups([(RankList([2, 3, 4, 5]), Vec(1))])
    own, rest = {"tag": 7, "comm": row}, {"tag": 7, "comm": middle}
    nodes = [
        b.event("Comm_split", comm=Comm(), color=0, key=0, newcomm=row),
        b.event("Isend", **DATA, dest=To(Encoding.MODULO, Vec(1)), **own),
        b.event("Recv", **DATA, source=To(Encoding.MODULO, Vec(3)), **own),
        b.event("Sendrecv", some, sendcount=1, sendtype=DOUBLE, dest=To(Encoding.XOR, Vec(1)), sendtag=1,
                recvcount=1, recvtype=DOUBLE, source=To(Encoding.XOR, Vec(1)), recvtag=1, comm=middle),
        b.event("Send", Groups([(RankList([2]), Vec(1))]), **DATA, dest=PROC_NULL, **rest),
        b.event("Allreduce", count=1, datatype=DOUBLE, op="MPI_SUM", comm=row, in_place=0),
    ]  # fmt: skip
    return b.of(*nodes)


def messages(program: BenchmarkProgram, trace: Trace, rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each message of a rank: operation, and peers in MPI_COMM_WORLD."""

    def communicator(number: int) -> tuple[int, int]:
        comm = trace.communicator(number, rank)
        return comm.rank, len(comm.peers)

    for stmt, at in run(program, InterpretSetting({"rank": rank}, communicator)):
        if isinstance(stmt, MpiCall) and any(name in stmt for name in ("dest", "source")):
            peers = trace.communicator(value(stmt["comm"], at), rank).peers
            named = [value(stmt[name], at) for name in ("dest", "source") if name in stmt]
            yield stmt.op, tuple(p if p < SPECIAL_MAX else peers[p] for p in named)


def test_messages_have_the_same_peers() -> None:
    trace = rows()
    before = build(trace)
    after = absolute_ranks(before)
    for rank in range(8):
        assert list(messages(after, trace, rank)) == list(messages(before, trace, rank))
    assert {
        value(c["comm"], InterpretSetting({}, lambda n: (0, 0))) for c in calls(after.body) if "dest" in c
    } == {0}
    assert not any(c.op.startswith("Comm_") for c in calls(after.body))


def test_tags_tell_what_communicators_told() -> None:
    after = absolute_ranks(build(rows()))
    at = InterpretSetting({"rank": 2}, lambda n: (0, 0))
    tags = {c.op: value(c["tag"], at) for c in calls(after.body) if "tag" in c}
    assert tags["Isend"] == tags["Recv"] != tags["Send"]


def test_groups_are_there_from_the_start() -> None:
    trace = rows()
    (subset,) = absolute_ranks(build(trace)).subsets
    at = [InterpretSetting({"rank": rank}, lambda n: (0, 0)) for rank in range(8)]
    assert [value(subset.color, a) for a in at] == [0, 0, 0, 0, 4, 4, 4, 4]
    assert [value(subset.key, a) for a in at] == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("language", ["c", "python"])
def test_the_text(language: str) -> None:
    text = generate(rows(), language, GenerateOptions(absolute_ranks=True)).text
    assert "Comm_split(" not in text.replace("MPI_Comm_split(", "")
    assert "subset(SPLIT3, rank / 4 * 4, rank % 4)" in text.replace("//", "/")


def test_any_tag_beside_other_communicators_is_refused() -> None:
    b = Builder(4)
    pair = b.family("split", (2, 2), (0, 1, 2, 3))
    trace = b.of(
        b.event("Recv", **DATA, source=To(Encoding.XOR, Vec(1)), tag=ANY_TAG, comm=pair),
        b.event("Send", **DATA, dest=To(Encoding.XOR, Vec(1)), tag=3, comm=Comm()),
    )
    with pytest.raises(GenerateError, match="MPI_Recv: a receive of any tag"):
        absolute_ranks(build(trace))


def test_neighbours_need_their_topology() -> None:
    b = Builder(4)
    cart = b.family("cart", (4,), (0, 1, 2, 3))
    event = b.event(
        "Neighbor_alltoall", sendcount=1, sendtype=DOUBLE, recvcount=1, recvtype=DOUBLE, comm=cart
    )
    with pytest.raises(GenerateError, match="topology"):
        absolute_ranks(build(b.of(event)))


def test_ranks_outside_a_communicator_are_no_trouble() -> None:
    trace = rows()
    with pytest.raises(FormatError):
        trace.communicator(4, 0)
    assert absolute_ranks(build(trace)).nprocs == 8
