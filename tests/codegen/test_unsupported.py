"""Unsupported calls are left out with the calls that depend on them."""

from __future__ import annotations

import pytest

from scalatrace import Trace
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.emit import emitter
from scalatrace.codegen.errors import GenerateError, cannot_write
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.passes.unsupported import left_out
from scalatrace.codegen.program.tree import calls
from scalatrace.formula import Const
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To

OTHER = To(Encoding.XOR, Vec(1))


def spawning() -> Trace:
    b = Builder(2)
    children = b.family("spawn", (2,), (0, 1))
    both = b.family("merge", (2,), (0, 1))
    return b.of(
        b.event("Comm_spawn", command="worker", maxprocs=2, root=0, comm=Comm(), newcomm=children),
        b.event("Intercomm_merge", comm=children, high=0, newcomm=both),
        b.event("Barrier", comm=both),
        b.event("Bcast", count=1, datatype=DOUBLE, root=0, comm=Comm()),
    )


def test_calls_on_what_nobody_makes_are_left_out_too() -> None:
    for language in ("c", "python", "conceptual"):
        made = generate(spawning(), language, GenerateOptions(skip_unsupported=True))
        assert made.skipped == {"Comm_spawn": 1, "Intercomm_merge": 1, "Barrier": 1}
        assert made.text.count("left out: MPI_") == 3
        assert made.calls == 1


def test_windows_without_makers() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Win_create", size=8, disp_unit=1, comm=Comm(), win=0),
        b.event("Win_fence", **{"assert": "0"}, win=0, comm=Comm()),
        b.event("Win_create_dynamic", comm=Comm(), win=1),
        b.event("Win_fence", **{"assert": "0"}, win=1, comm=Comm()),
    )
    program = build(trace)
    kept, skipped = left_out(program, lambda op: op != "Win_create")
    assert [call.op for call in skipped] == ["Win_create", "Win_fence"]
    assert [call["win"] for call in calls(kept.body) if not call.dropped] == [Const(1), Const(1)]


def dynamic(with_access: bool) -> Trace:
    b = Builder(2)
    nodes = [
        b.event("Win_create_dynamic", comm=Comm(), win=0),
        b.event("Win_flush_all", win=0, comm=Comm()),
    ]
    if with_access:
        put = {"origin_count": 1, "origin_datatype": DOUBLE, "target_rank": OTHER, "target_disp": 1 << 40}
        there = {"target_count": 1, "target_datatype": DOUBLE, "win": 0, "comm": Comm()}
        nodes.append(b.event("Put", at=("a.c:3:f",), **put, **there))
    return b.of(*nodes)


@pytest.mark.parametrize("language", ["c", "python"])
def test_accesses_to_addresses_in_dynamic_windows(language: str) -> None:
    """A window that nobody accesses is as good as any other."""
    assert "Win_create_dynamic(WORLD, 0)" in generate(dynamic(False), language).text
    with pytest.raises(GenerateError, match=r"MPI_Put to an address in a dynamic window at a\.c:3:f"):
        generate(dynamic(True), language)
    made = generate(dynamic(True), language, GenerateOptions(skip_unsupported=True))
    assert made.skipped == {"Put": 1}


def test_requests_keep_their_ages() -> None:
    b = Builder(2)
    data = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    lists = {f"{way}{name}": (0, 0) for way in ("send", "recv") for name in ("counts", "displs", "types")}
    trace = b.of(
        b.event("Irecv", **data, source=OTHER),
        b.event("Isend", **data, dest=OTHER),
        b.event("Ialltoallw", **lists, comm=Comm(), in_place=0),
        b.event("Waitall", requests=(2, 1)),
        b.event("Wait", request=0),
    )
    text = generate(trace, "conceptual", GenerateOptions(skip_unsupported=True)).text
    assert "left out: MPI_Ialltoallw" in text
    assert text.count("AWAIT COMPLETION") == 1
    assert not emitter("conceptual").supports("Ialltoallw")


def test_errors_name_call_language_reason_and_way_out() -> None:
    error = cannot_write(
        "Bcast", (Foreign("a.py:3:f"), Foreign("a.py:9:main")), "conceptual", "its communicator varies"
    )
    assert str(error) == (
        "cannot write MPI_Bcast at a.py:3:f to conceptual: its communicator varies; use --to c or --to python"
    )
    assert str(cannot_write("Send", (), "c", "bad tag")) == "cannot write MPI_Send to c: bad tag"
