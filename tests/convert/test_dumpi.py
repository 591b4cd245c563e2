"""DUMPI traces: parameters, requests, communicators, datatypes and times; damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.convert import sources
from scalatrace.convert.dumpi.calls import convert_dumpi
from scalatrace.convert.dumpi.layout import END_OF_STREAM, layouts
from scalatrace.convert.sources import convert
from scalatrace.errors import FormatError
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED
from support.dumpi import END, INT, NUMBERS, WORLD, DumpiWriter, array, ints, shorts, write_dumpi


def converted(
    folder: Path, ranks: list[DumpiWriter], functions: list[tuple[int, str]] | None = None
) -> Trace:
    convert(write_dumpi(folder, ranks, functions or []), folder / "a.st")
    return scalatrace.load(folder / "a.st")


def calls_of(trace: Trace, rank: int) -> list[str]:
    return [call.op for call in trace.walk(rank)]


def test_numbers_of_functions() -> None:
    assert END_OF_STREAM == END
    assert {name: layouts()[number].name for name, number in NUMBERS.items()} == {
        name: name for name in NUMBERS
    }


def test_messages_and_requests(tmp_path: Path) -> None:
    ranks = []
    for rank in range(4):
        w = DumpiWriter()
        w.message("Irecv", (rank - 1) % 4, request=2)
        w.message("Isend", (rank + 1) % 4, request=3)
        w.call("Comm_size", shorts(WORLD) + ints(4))
        w.call("Waitall", ints(2) + array(2, 3), statuses=ints(0))
        w.message("Send", -2)
        w.message("Recv", -1, tag=-1)
        ranks.append(w)
    trace = converted(tmp_path, ranks)
    assert calls_of(trace, 2) == ["Irecv", "Isend", "Waitall", "Send", "Recv", "Finalize"]
    assert trace.nnodes == 6
    calls = list(trace.walk(2))
    assert calls[0]["source"] == 1
    assert (calls[1]["dest"], calls[1]["count"], calls[1]["tag"], calls[1]["datatype"].size) == (3, 4, 5, 4)
    assert calls[2]["requests"] == (1, 0)
    assert calls[3].raw("dest") == PROC_NULL
    assert (calls[4].raw("source"), calls[4].raw("tag")) == (ANY_SOURCE, ANY_TAG)
    waits = calls[2].stat("compute_ns")
    inside = calls[2].stat("comm_ns")
    assert waits is not None
    assert inside is not None
    assert waits.mean == pytest.approx(22_000)  # two gaps, and a local call between them
    assert inside.mean == pytest.approx(2_000)


def test_completion_of_some_requests(tmp_path: Path) -> None:
    w = DumpiWriter()
    for request in (2, 3, 4, 5):
        w.message("Irecv", 0, tag=request, request=request)
        w.message("Send", 0, tag=request)
    w.call("Testall", ints(4) + array(2, 3, 4, 5) + ints(0), statuses=ints(0))
    w.call("Waitsome", ints(4) + array(2, 3, 4, 5) + ints(2) + array(0, 2), statuses=ints(0))
    w.call("Waitany", ints(2) + array(3, 5) + ints(1), statuses=ints(0))
    w.call("Wait", ints(3), statuses=ints(0))
    calls = list(converted(tmp_path, [w]).walk(0))[8:]
    assert [call.op for call in calls] == ["Waitall", "Waitany", "Wait", "Finalize"]
    assert calls[0]["requests"] == (3, 1)
    assert (calls[1]["requests"], calls[1]["index"]) == ((1, 0), 1)
    assert calls[2]["request"] == 0
    first = calls[0].stat("compute_ns")
    assert first is not None
    assert first.mean == pytest.approx(22_000)  # with the time in the unsuccessful poll


def test_time_of_calls_that_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NUMBERS, "File_sync", 281)
    w = DumpiWriter(length_us=5000)
    w.call("File_sync", shorts(3))
    w.call("Iprobe", ints(0, 5) + shorts(WORLD) + ints(0), statuses=ints(0))
    w.call("Barrier", shorts(WORLD))
    calls = list(converted(tmp_path, [w]).walk(0))
    assert [call.op for call in calls] == ["Barrier", "Finalize"]
    times = calls[0].stat("compute_ns")
    assert times is not None
    assert times.mean == pytest.approx(10_030_000)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (array(0, 1), r"a range of ranks is \(0, 1\), expected first, last and a stride"),
        (array(0, 1, 0), r"a range of ranks is \(0, 1, 0\), expected first, last and a stride"),
        (array(0, 2**31 - 1, 1), r"it names a rank that its group of 2 has not"),
    ],
)
def test_ranges_of_ranks(
    ranges: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NUMBERS, "Group_range_incl", 78)
    w = DumpiWriter()
    w.call("Comm_group", shorts(WORLD, 3))
    w.call("Group_range_incl", shorts(3) + ints(1) + ints(1) + ranges + shorts(4))
    with pytest.raises(FormatError, match=rf"run-0000.bin: MPI_Group_range_incl: {message}"):
        converted(tmp_path, [w, DumpiWriter()])


def test_communicators_on_all_ranks(tmp_path: Path) -> None:
    """Numbers of communicators differ between ranks; members follow from all their calls."""
    ranks = []
    for rank in range(6):
        w = DumpiWriter()
        mine = 4 + rank
        w.call("Comm_split", shorts(WORLD) + ints(rank % 2, -rank) + shorts(mine))
        w.call("Barrier", shorts(mine))
        w.call(
            "Cart_create", shorts(WORLD) + ints(2) + array(2, 3) + array(0, 1) + ints(0) + shorts(mine + 10)
        )
        w.call("Cart_sub", ints(2) + shorts(mine + 10) + array(0, 1) + shorts(mine + 20))
        w.call("Bcast", ints(3) + shorts(INT) + ints(0) + shorts(mine + 20))
        w.call("Comm_group", shorts(WORLD, 3))
        w.call("Group_incl", shorts(3) + ints(2) + array(5, 1) + shorts(4))
        w.call("Comm_create", shorts(WORLD, 4, 30 if rank in (1, 5) else 1))
        ranks.append(w)
    trace = converted(tmp_path, ranks)
    calls = {call.op: call for call in trace.walk(1)}
    assert tuple(calls["Barrier"].comm.members) == (5, 3, 1)
    assert tuple(calls["Bcast"].comm.members) == (0, 1, 2)
    assert tuple(next(c for c in trace.walk(4) if c.op == "Bcast").comm.members) == (3, 4, 5)
    assert (calls["Comm_create"]["group"], calls["Comm_create"]["newcomm"].rank) == ((5, 1), 1)
    assert trace.nnodes == 7


def test_collectives_and_derived_types(tmp_path: Path) -> None:
    ranks = []
    for rank in range(3):
        w = DumpiWriter()
        w.call("Type_vector", ints(3, 2, 5) + shorts(INT, 40))
        w.message("Send", -2, count=2, datatype=40)
        gather = ints(rank, 7) + shorts(INT) + ints(1) + shorts(WORLD)
        w.call("Gather", gather + (ints(7) + shorts(INT) if rank == 1 else b""))
        w.call("Allreduce", ints(1) + shorts(INT) + b"\x03" + shorts(WORLD))
        w.call("Put", ints(1) + shorts(INT) + ints(0, 0, 1) + shorts(INT, 1))
        ranks.append(w)
    left_out = convert_dumpi(write_dumpi(tmp_path, ranks), tmp_path / "a.st")
    assert left_out == {"MPI_Put": 3}
    trace = scalatrace.load(tmp_path / "a.st")
    calls = {call.op: call for call in trace.walk(0)}
    assert (calls["Send"]["count"], calls["Send"]["datatype"].description) == (48, "MPI_BYTE")
    assert calls["Gather"].raw("recvcount") == UNDEFINED
    assert next(c for c in trace.walk(1) if c.op == "Gather")["recvcount"] == 7
    assert calls["Allreduce"]["op"] == "MPI_SUM"


def test_call_sites_and_long_runs(tmp_path: Path) -> None:
    w = DumpiWriter()
    w.call("Function_enter", bytes(6) + b"\x10\x00")
    w.call("Barrier", shorts(WORLD))
    for _ in range(2):  # more seconds than 16 bits hold
        w.skip_us(40_000_000_000)
        w.call("Barrier", shorts(WORLD))
    w.call("Function_exit", bytes(6) + b"\x10\x00")
    calls = list(converted(tmp_path, [w], [(0x1000, "solve")]).walk(0))
    assert calls[0].site == "solve"
    times = calls[-2].stat("compute_ns")
    assert times is not None
    assert times.mean == pytest.approx(40e12, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.call("Barrier", shorts(9)), r"run-0000.bin: MPI_Barrier: no call made its comm.* 9"),
        (lambda w: w.message("Send", 0, datatype=50), r"the size of its datatype 50 is not known \(byte \d+"),
        (lambda w: w.call("Comm_split", shorts(WORLD) + ints(0, 0) + shorts(4)), r"rank 1 is in its comm"),
        (lambda w: w.call("Comm_create", shorts(WORLD, 8, 4)), r"rank 1 is in its communicator|its group 8"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be_followed(change: object, message: str, tmp_path: Path) -> None:
    ranks = [DumpiWriter(), DumpiWriter()]
    change(ranks[0])  # type: ignore[operator]
    with pytest.raises(FormatError, match=message):
        converted(tmp_path, ranks)


GRID = shorts(WORLD) + ints(2) + array(5, 3) + array(0, 1) + ints(0) + shorts(12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.message("Send", 9), r"Send: its dest 9 is none of the ranks 0 to 0"),
        (lambda w: w.call("Bcast", ints(3) + shorts(INT) + ints(7) + shorts(WORLD)), r"Bcast: its root 7"),
        (lambda w: w.call("Cart_create", GRID), r"Cart_create: its dims 5x3 are no grid within the 1 ranks"),
    ],
)  # fmt: skip
def test_values_that_no_trace_can_have(change: object, message: str, tmp_path: Path) -> None:
    """The error names the input, and an output that is there stays."""
    w = DumpiWriter()
    change(w)  # type: ignore[operator]
    (tmp_path / "a.st").write_text("before")
    with pytest.raises(FormatError, match=rf"run-0000.bin: MPI_{message} .*\(byte 44 "):
        converted(tmp_path, [w])
    assert (tmp_path / "a.st").read_text() == "before"


def test_what_only_loading_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: bytes) -> None:
        raise FormatError("damaged")

    monkeypatch.setattr(sources, "loads", fail)
    (tmp_path / "a.st").write_text("before")
    with pytest.raises(FormatError, match=r"run.meta: no trace can have its calls: damaged"):
        converted(tmp_path, [DumpiWriter()])
    assert (tmp_path / "a.st").read_text() == "before"


def test_sizes_of_more_than_64_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NUMBERS, "Type_contiguous", 35)
    w = DumpiWriter()
    for old, new in ((INT, 40), (40, 41), (41, 42)):
        w.call("Type_contiguous", ints(2**31 - 1) + shorts(old, new))
    w.message("Send", -2, count=1, datatype=42)
    with pytest.raises(FormatError, match=r"MPI_Send: its count \d+ takes more than 64 bits \(byte"):
        converted(tmp_path, [w])


def test_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta = write_dumpi(tmp_path, [DumpiWriter(), DumpiWriter()])
    (tmp_path / "run-0001.bin").unlink()
    assert main(["import", str(meta), "-o", str(tmp_path / "a.st")]) == 1
    assert "there is no file of rank 1: expected run-0001.bin" in capsys.readouterr().err
    meta.write_text("numprocs=many\n")
    assert main(["import", str(tmp_path), "-o", str(tmp_path / "a.st")]) == 1
    assert "numprocs is 'many'" in capsys.readouterr().err


def test_traces_that_are_cut_off(tmp_path: Path) -> None:
    meta = write_dumpi(tmp_path, [DumpiWriter()])
    path = tmp_path / "run-0000.bin"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="without an index: it is cut off"):
        convert(meta, tmp_path / "a.st")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("dumpi")
    w = DumpiWriter()
    w.message("Irecv", 0, request=2)
    w.message("Send", 0)
    w.call("Waitall", ints(1) + array(2), statuses=ints(1) + ints(16, 0) + bytes(2) + ints(5))
    w.call("Comm_split", shorts(WORLD) + ints(0, 0) + shorts(4))
    meta = write_dumpi(folder, [w])
    raw = bytearray((folder / "run-0000.bin").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    (folder / "run-0000.bin").write_bytes(bytes(raw))
    try:
        convert(meta, folder / "a.st")
    except FormatError as error:
        assert str(folder) in str(error)  # noqa: PT017
