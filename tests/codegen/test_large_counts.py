"""Counts that an int does not hold: the calls that MPI 4 has for them, in C."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scalatrace import Trace, load, save
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.emit.c.data import construct
from scalatrace.codegen.emit.c.emitter import CEmitter
from scalatrace.codegen.emit.c.large import LARGE
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.model.typetree import parse
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import PROC_NULL
from support.builder import DOUBLE, Builder, Comm
from support.generated import compiled
from support.mpis import Mpi
from support.running import record

MANY = 1 << 32
NOTHING = Datatype("contiguous(0,MPI_BYTE)", 0, 0)
"""A datatype without bytes: any number of its elements fits into any memory."""

FRAME = ("Init", "Init_thread", "Finalize")
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")


def calls_of(text: str) -> list[str]:
    """The calls of a generated benchmark, without indentation and call sites."""
    body = text.partition("static void benchmark(void)\n{\n")[2].partition("\n}")[0]
    return [re.sub(r"\s*/\*.*", "", line).strip() for line in body.split("\n")]


def compiles(mpi: Mpi, text: str, folder: Path, *more: str) -> Path:
    """The binary of a C program; no warning is allowed."""
    source = folder / "bench.c"
    source.write_text(text)
    return compiled(mpi, source, *more, flags=STRICT)


def mixed() -> Trace:
    """A large message, an ordinary one, one that is large in some iterations, and large collectives."""
    b = Builder(2)
    rest = {"dest": PROC_NULL, "tag": 7, "comm": Comm()}
    places = {"sdispls": (0, 3 * MANY), "rdispls": (0, 5)}
    return b.of(
        b.event("Send", at=("app.py:3:main",), count=MANY, datatype=NOTHING, **rest),
        b.event("Send", count=4, datatype=DOUBLE, **rest),
        b.loop(3, b.event("Isend", count=vec_of([1, MANY, 1]), datatype=NOTHING, **rest),
               b.event("Wait", request=0)),
        b.event("Bcast", count=MANY, datatype=NOTHING, root=0, comm=Comm()),
        b.event("Alltoallv", sendcounts=(MANY, 2), sdispls=places["sdispls"], sendtype=NOTHING,
                recvcounts=(MANY, 2), rdispls=places["rdispls"], recvtype=NOTHING, comm=Comm(), in_place=0),
        b.event("Alltoallv", sendcounts=(1, 1), sdispls=(0, 1), sendtype=DOUBLE,
                recvcounts=(1, 1), rdispls=(0, 1), recvtype=DOUBLE, comm=Comm(), in_place=0),
    )  # fmt: skip


def test_what_needs_it_is_called_in_its_large_form() -> None:
    text = generate(mixed(), "c").text
    assert calls_of(text) == [
        f"Send_c({MANY}L, CONTIGUOUS0, MPI_PROC_NULL, 7, WORLD);",
        "Send(4, DOUBLE, MPI_PROC_NULL, 7, WORLD);",
        "for (int i1 = 0; i1 < 3; i1++) {",
        "Isend_c(table1[i1], CONTIGUOUS0, MPI_PROC_NULL, 7, WORLD);",
        "Wait(0);",
        "}",
        f"Bcast_c({MANY}L, CONTIGUOUS0, 0, WORLD);",
        "Alltoallv_c(A0, A1, CONTIGUOUS0, A0, A2, CONTIGUOUS0, WORLD, 0);",
        "Alltoallv(A3, A4, DOUBLE, A3, A4, DOUBLE, WORLD, 0);",
    ]
    assert "MPI_Send_c(" in text
    assert f"static const long a0[] = {{{MANY}L, 2L}};" in text
    assert "static const int a3[] = {1, 1};" in text
    assert f"static const long table1[] = {{1, {MANY}, 1}};" in text
    assert "#error" in text


def test_ordinary_programs_need_no_new_mpi() -> None:
    b = Builder(2)
    text = generate(b.of(b.event("Bcast", count=1, datatype=DOUBLE, root=0, comm=Comm())), "c").text
    assert not re.search(r"#error|\b(MPI_)?Bcast_c\b|\blong \*wide|MPI_Count", text)


def test_what_has_no_large_form_is_refused() -> None:
    b = Builder(2)
    tag = b.event("Send", at=("app.py:3:main",), count=1, datatype=DOUBLE, dest=1, tag=MANY, comm=Comm())
    with pytest.raises(GenerateError, match=rf"MPI_Send at app.py:3:main to c: tag goes up to {MANY}"):
        generate(b.of(tag), "c")
    b = Builder(2)
    new = b.family("cart", (2,), (0, 1))
    cart = b.event("Cart_create", comm=Comm(), ndims=1, dims=(MANY,), periods=(0,), reorder=0, newcomm=new)
    with pytest.raises(GenerateError, match="MPI_Cart_create to c: an array holds numbers that an int does"):
        generate(b.of(cart), "c")


def test_messages_in_place_of_large_collectives() -> None:
    b = Builder(2)
    trace = b.of(b.event("Bcast", count=MANY, datatype=NOTHING, root=0, comm=Comm()))
    text = generate(trace, "c", GenerateOptions(by_messages=True)).text
    assert calls_of(text) == [f"Bcast_by_messages_c({MANY}L, CONTIGUOUS0, 0, WORLD);"]
    assert "MPI_Isend_c(" in text


def test_scaled_messages_may_become_large() -> None:
    b = Builder(2)
    trace = b.of(b.event("Bcast", count=1 << 30, datatype=DOUBLE, root=0, comm=Comm()))
    text = generate(trace, "c", GenerateOptions(bytes_scale=4)).text
    assert calls_of(text) == [f"Bcast_c({MANY}L, DOUBLE, 0, WORLD);"]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (f"contiguous({MANY},MPI_BYTE)", f"MPI_Type_contiguous_c({MANY}, MPI_BYTE, &t1);"),
        (f"vector({MANY},1,2,MPI_INT)", f"MPI_Type_vector_c({MANY}, 1, 2, MPI_INT, &t1);"),
        (f"hvector(2,1,{MANY},MPI_INT)", f"MPI_Type_create_hvector(2, 1, {MANY}, MPI_INT, &t1);"),
        (
            f"hindexed([{MANY},1],[0,8],MPI_INT)",
            f"MPI_Type_create_hindexed_c(2, (MPI_Count[]){{{MANY}, 1}}, (MPI_Count[]){{0, 8}},"
            " MPI_INT, &t1);",
        ),
        (
            f"struct([1,{MANY}],[0,8],MPI_INT,MPI_DOUBLE)",
            f"MPI_Type_create_struct_c(2, (MPI_Count[]){{1, {MANY}}}, (MPI_Count[]){{0, 8}},"
            " (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &t1);",
        ),
        (
            f"subarray([{MANY},4],[2,2],[0,0],C,MPI_INT)",
            f"MPI_Type_create_subarray_c(2, (MPI_Count[]){{{MANY}, 4}}, (MPI_Count[]){{2, 2}},"
            " (MPI_Count[]){0, 0}, MPI_ORDER_C, MPI_INT, &t1);",
        ),
        (f"opaque({MANY},{MANY})", f"MPI_Type_contiguous_c({MANY}, MPI_BYTE, &t1b);"),
    ],
)
def test_constructors_of_large_datatypes(description: str, expected: str) -> None:
    assert expected in construct(parse(description))[0]


def large_type() -> Trace:
    """A datatype of 4 GB in a message that goes nowhere, and one of no bytes made of many pieces."""
    b = Builder(2)
    big = Datatype(f"contiguous({MANY},MPI_BYTE)", MANY, MANY)
    none = Datatype(f"contiguous({MANY},contiguous(0,MPI_BYTE))", 0, 0)
    rest = {"tag": 7, "comm": Comm()}
    return b.of(
        b.event("Irecv", count=0, datatype=big, source=PROC_NULL, **rest),
        b.event("Wait", request=0),
        b.event("Send", count=3, datatype=none, dest=PROC_NULL, **rest),
    )


def test_large_datatypes_have_their_size_in_64_bits() -> None:
    text = generate(large_type(), "c").text
    assert "MPI_Type_size_c(" in text
    assert "    MPI_Count size;" in text
    assert f"made_c(CONTIGUOUS0, t1, {MANY}, {MANY}, 1);" in text
    assert "#error" in text


def every_piece(large: Sequence[str]) -> str:
    """A program with all functions of the library in their large forms, none of them called."""
    b = Builder(2)
    both = Datatype("struct([1,1],[0,0],MPI_INT,MPI_DOUBLE)", 12, 8)
    sides = {"sendcounts": (MANY, 1), "sdispls": (0, 16), "sendtypes": both}
    more = {"recvcounts": (1, 1), "rdispls": (0, 16), "recvtypes": both}
    program = build(b.of(b.event("Alltoallw", **sides, **more, comm=Comm(), in_place=0)))
    writing = CEmitter().writing(program, EmitOptions())
    writing.wanted.update(dict.fromkeys(large))
    return writing.text()


LIBRARY = CEmitter().library.pieces
LARGE_FORMS = [name for name in LIBRARY if name.endswith(LARGE) and name[0].isupper()]


def test_all_operations_with_counts_have_a_large_form() -> None:
    moving = {Category.SEND, Category.RECV, Category.SENDRECV, Category.COLLECTIVE, Category.NEIGHBOUR}
    without = {
        name for name, piece in LIBRARY.items()
        if name[0].isupper() and operation(name).category in moving and name + LARGE not in LIBRARY
        and not name.endswith(LARGE) and "count" in str(piece.parameters)
    }  # fmt: skip
    assert without == set()
    assert {"Send_c", "Alltoallv_init_c", "Put_c", "File_write_at_all_c", "Mrecv_c"} <= set(LARGE_FORMS)


@pytest.mark.mpi
def test_all_large_forms_compile(mpich: Mpi, tmp_path: Path) -> None:
    compiles(mpich, every_piece(["Mprobe", *LARGE_FORMS]), tmp_path, "-Wno-unused-function")


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("made", [mixed, large_type])
def test_large_counts_are_recorded_again(mpich: Mpi, made: Callable[[], Trace], tmp_path: Path) -> None:
    """Messages of any number of elements without bytes: the benchmark's calls are those of the trace."""
    save(made(), tmp_path / "a.st")
    binary, again = compiles(mpich, generate(made(), "c").text, tmp_path), tmp_path / "again.st"
    record(mpich, 2, [binary], again, timeout=60).check()
    ours, theirs = made(), load(again)
    for rank in range(2):
        events = [(c.op, c.get("count"), c.get("sendcounts")) for c in theirs.walk(rank) if c.op not in FRAME]
        assert events == [(c.op, c.get("count"), c.get("sendcounts")) for c in ours.walk(rank)]
