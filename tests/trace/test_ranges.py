"""Edited traces with values, times and peers that no run has: one line when the trace is read or packed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.errors import FormatError, TextError
from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.elastic import Columns, Elastic, Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT, UNDEFINED, Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.lowered import on

NPROCS = 6
HUGE = 1 << 62


def sends(value: Elastic, encoding: Encoding = Encoding.ABSOLUTE, comm: int = 0, repeat: Elastic | int = 1,
          compute: int = 1000, count: Elastic | int = 1) -> Trace:  # fmt: skip
    """Return six ranks that send; communicator 3 has rows of two, 4 has ranks 0 to 3 and the rest."""
    b = Builder(NPROCS)
    b.family("split", [2, 2, 2], range(NPROCS))
    b.family("split", [4, 2], range(NPROCS))
    event = b.event("Send", repeat=repeat, at=("a.py:3:f",), compute=Histogram.of(compute), count=count,
                    datatype=DOUBLE, dest=To(encoding, value), tag=1, comm=Comm(comm))  # fmt: skip
    return b.of(event)


RANKS = RankList.all(NPROCS)
WRONG = {
    "absolute": (sends(Vec(6)), "is 6 on rank 0, whose communicator has the ranks 0 to 5"),
    "negative": (sends(Vec(-1)), "is -1 on rank 0,"),
    "relative": (sends(Vec(1), Encoding.RELATIVE), "is 6 on rank 5,"),
    "exclusive or": (sends(Vec(2), Encoding.XOR), "is 6 on rank 4,"),
    "one execution": (sends(Vec((0, 5, 6)), repeat=3), "is 6 on rank 0,"),
    "progression": (sends(Vec(((0, 2, 0),)), repeat=4), "is 6 on rank 0,"),
    "one group": (
        sends(Groups([(RankList(range(5)), Vec(1)), (RankList([5]), Vec(2))]), Encoding.RELATIVE),
        "is 7 on rank 5,",
    ),
    "columns": (sends(Columns(RANKS, Vec((1, 2, 3, 4, 5, 9)))), "is 9 on rank 5,"),
    "row": (sends(Vec(2), comm=3), "is 2 on rank 0, whose communicator has the ranks 0 to 1"),
    "smaller one": (sends(Vec(3), comm=4), "is 3 on rank 4, whose communicator has the ranks 0 to 1"),
    "far": (sends(Vec(HUGE * 3 >> 1), Encoding.RELATIVE), "on rank 0, whose communicator"),
}
VALID = {
    "modulo": sends(Vec(1), Encoding.MODULO),
    "inner ranks": sends(Vec(1), Encoding.RELATIVE, repeat=on(dict.fromkeys(range(5), 1))),
    "borders": sends(
        Groups([(RankList(range(5)), Vec(1)), (RankList([5]), Vec(PROC_NULL))]), Encoding.RELATIVE
    ),
    "wildcard": sends(Vec((ANY_SOURCE, 5)), repeat=2),
    "more values than executions": sends(Vec(((0, 2, 0),)), repeat=3),
    "exclusive or": sends(Vec(1), Encoding.XOR),
    "rows": sends(
        Groups([(RankList([0, 2, 4]), Vec(1)), (RankList([1, 3, 5]), Vec(-1))]), Encoding.RELATIVE, 3
    ),
    "larger communicator": sends(Vec(3), comm=4, repeat=on(dict.fromkeys(range(4), 1))),
    "ranks that never call": sends(Vec(9), repeat=0),
}


def read(trace: Trace) -> Trace:
    return loads(pack_container(pack_payload(trace), compress=False))


@pytest.mark.parametrize("name", WRONG)
def test_peers_outside_their_communicator(name: str) -> None:
    trace, expected = WRONG[name]
    for reader, error in ((read, FormatError), (lambda t: parse(text(t)), TextError)):
        with pytest.raises(error) as caught:
            reader(trace)
        assert "parameter 'dest' of Send at a.py:3:f" in str(caught.value)
        assert expected in str(caught.value)


@pytest.mark.parametrize("name", VALID)
def test_peers_within_their_communicator(name: str) -> None:
    trace = VALID[name]
    assert parse(text(trace)) == read(trace)


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (sends(Vec(1), compute=1 << 63), "a.py:3:f has compute_ns of 9.223e+18, not between 0 and 2^63 ns"),
        (sends(Vec(1), compute=-5), "Send at a.py:3:f has compute_ns of -5, not between 0"),
        (sends(Vec(1), count=Vec(((9, HUGE, 5),))), "parameter 'count' of Send at a.py:3:f reaches 368934"),
        (sends(Vec(1), repeat=Vec(((9, HUGE, 5),))), "the repeat of a node reaches 368934"),
    ],
)  # fmt: skip
def test_numbers_beyond_64_bits(trace: Trace, expected: str) -> None:
    for reader, error in ((read, FormatError), (lambda t: parse(text(t)), TextError)):
        with pytest.raises(error) as caught:
            reader(trace)
        assert expected in str(caught.value)


def test_tables_that_fit_no_run() -> None:
    with pytest.raises(FormatError, match="ANY_SOURCE is no communicator"):
        read(sends(Vec(1), comm=ANY_SOURCE))
    trace = sends(Vec(1))
    trace.stats[:] = [RecordedStat("compute_ns", -1.0)]
    with pytest.raises(FormatError, match="the resolution of a time is not above 0"):
        read(trace)


@pytest.mark.parametrize("value", [Vec(ANY_TAG), Vec((0, ROOT)), Vec((UNDEFINED, ROOT, 0))])
def test_constants_that_are_no_datatype(value: Vec) -> None:
    b = Builder(NPROCS)
    event = b.event("Send", count=1, datatype=DOUBLE, dest=0, tag=1, comm=Comm(), repeat=3)
    wrong = replace(event, params=(event.params[0], value, *event.params[2:]))
    with pytest.raises(FormatError, match=r"parameter 'datatype' of Send: (ANY_TAG|ROOT) is no datatype"):
        read(b.of(wrong))


def test_a_root_outside_its_communicator() -> None:
    b = Builder(NPROCS)
    trace = b.of(b.event("Bcast", at=("a.py:3:f",), count=1, datatype=DOUBLE, root=6, comm=Comm()))
    with pytest.raises(FormatError, match=r"parameter 'root' of Bcast at a\.py:3:f is 6 on rank 0"):
        read(trace)


@pytest.mark.parametrize("command", ["pack", "export"])
def test_it_takes_one_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, expected = WRONG["relative"]
    path, output = tmp_path / "a", tmp_path / "b.st"
    if command == "pack":
        path.write_text(text(trace))
        words = ["pack", str(path), "-o", str(output)]
    else:
        path.write_bytes(pack_container(pack_payload(trace)))
        words = ["export", str(path), "--to", "csv", "-o", str(output)]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert expected in error
