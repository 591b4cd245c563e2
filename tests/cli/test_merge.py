"""`merge`: parts of some ranks become a trace that says which ranks it has."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.core.binding import COMM_NULL, COMM_WORLD, Core

PEER, COMM, TYPE = 1, 2, 3


def write_part(folder: Path, rank: int, nprocs: int, rounds: int, run: str = "") -> None:
    with Core(rank, nprocs) as core:
        if run:
            core.set_meta("run", run)
        core.define_comm(COMM_WORLD, COMM_NULL, "world", list(range(nprocs)))
        op = core.define_op("Send", [("dest", PEER), ("comm", COMM)])
        for _ in range(rounds):
            core.append(op, [(rank + 1) % nprocs, COMM_WORLD], own=rank, size=nprocs)
        core.finish()
        core.write_part(folder / f"rank-{rank}.part")


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "run.st.parts"
    folder.mkdir()
    for rank in (0, 1, 3, 10):
        write_part(folder, rank, 12, rounds=5)
    return folder


def test_parts_become_a_trace_that_lacks_ranks(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", str(parts)]) == 0
    said = capsys.readouterr()
    assert "4 of 12 ranks, 20 events" in said.out
    assert "no part of rank 2, 4, 5, 6, 7, 8, 9, 11" in said.err
    trace = scalatrace.load(parts.with_suffix(""))
    assert list(trace.ranks) == [0, 1, 3, 10]
    assert [call["dest"] for call in trace.walk(10)] == [11] * 5


def test_output_can_be_named(parts: Path, tmp_path: Path) -> None:
    assert main(["merge", str(parts), "-o", str(tmp_path / "other.st"), "--no-compress"]) == 0
    assert scalatrace.load(tmp_path / "other.st").nevents() == 20


def test_a_damaged_part_is_named(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = parts / "rank-3.part"
    part.write_bytes(part.read_bytes()[:-1])
    assert main(["merge", str(parts)]) == 1
    assert "rank-3.part" in capsys.readouterr().err


@pytest.mark.parametrize("prepare", ["nothing", "empty"])
def test_no_parts(prepare: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "x.parts"
    if prepare == "empty":
        folder.mkdir()
    assert main(["merge", str(folder)]) == 2
    assert str(folder) in capsys.readouterr().err


def test_where_to_write_must_be_known(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = parts.rename(parts.with_name("somewhere"))
    assert main(["merge", str(renamed)]) == 2
    assert "-o" in capsys.readouterr().err


def test_parts_of_an_older_run_are_left_out(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        write_part(parts, rank, 2, rounds=3, run="1234")
    assert main(["merge", str(parts)]) == 0
    said = capsys.readouterr()
    assert "2 of 2 ranks, 6 events" in said.out
    assert "rank-3.part is of an older run (of 12 ranks, not 2), left out" in said.err
    assert "rank-10.part" in said.err
    assert "rank-1.part" not in said.err


def test_parts_of_different_worlds(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_part(parts, 0, 2, rounds=3)
    assert main(["merge", str(parts)]) == 2
    assert "parts of runs of 2 and 12 ranks; remove the older ones" in capsys.readouterr().err


def test_parts_that_make_no_valid_trace_leave_the_output_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a.st.parts"
    folder.mkdir()
    with Core(0, 1) as core:
        core.define_comm(COMM_WORLD, COMM_NULL, "world", [0])
        core.append(core.define_op("Send", [("dest", TYPE)]), [core.define_type("MPI_INT", 4, 4)])
        core.finish()
        core.write_part(folder / "rank-0.part")
    output = tmp_path / "a.st"
    output.write_bytes(b"as before")
    assert main(["merge", str(folder)]) == 1
    assert capsys.readouterr().err == (
        f"scalatrace: {folder}: the parts are damaged, no trace was written: parameter dest of Send is of "
        "kind TYPE, not PEER\n"
    )
    assert output.read_bytes() == b"as before"
