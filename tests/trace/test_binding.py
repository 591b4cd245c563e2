"""The native core through its binding: what it writes is what this package reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from scalatrace.core import binding
from scalatrace.core.binding import COMM_WORLD, Core, family
from scalatrace.errors import CoreError, FormatError, ScalatraceError, UsageError
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.verify import verify

needs_core = pytest.mark.skipif(not binding.library_path().exists(), reason="the native core is not built")

SEND = [("count", Kind.INT), ("datatype", Kind.TYPE), ("dest", Kind.PEER), ("comm", Kind.COMM)]
NPROCS = 5


def _record(rank: int, logs: Path) -> Core:
    """A program with a ring, rows of two ranks, a file and rank-dependent trip counts."""
    core = Core(rank, NPROCS)
    core.define_comm(COMM_WORLD, 0, "world", range(NPROCS))
    send, barrier = core.define_op("Isend", SEND), core.define_op("Barrier", [("comm", Kind.COMM)])
    opens = core.define_op(
        "File_open", [("filename", Kind.STRING), ("sizes", Kind.ARRAY), ("comm", Kind.COMM)]
    )
    core.define_stat("compute_ns")
    core.set_meta("program", "test")
    core.set_count("Comm_rank", 3)
    site = core.define_signature(['a "b" é.py:3:f', "a.py:9:<module>"])
    row = [r for r in (rank // 2 * 2, rank // 2 * 2 + 1) if r < NPROCS]
    rows = family(COMM_WORLD, 0)
    core.define_comm(rows, COMM_WORLD, "split", row)
    core.flatlog_open(logs / f"rank-{rank}.log")
    double = core.define_type("MPI_DOUBLE", 8, 8)
    name, sizes = core.string("fü\n.dat\udcff"), core.array([3, rank, 1])
    core.append(opens, [name, sizes, COMM_WORLD], site, rank, NPROCS, [5.0])
    for i in range(60):
        for _ in range(rank + 1):
            core.append(send, [i, double, (rank + 1) % NPROCS, COMM_WORLD], site, rank, NPROCS, [100.0 + i])
        core.append(send, [4, double, 0, rows], site, row.index(rank), len(row), [50.0])
        if i % 2:
            core.append(barrier, [COMM_WORLD], 0, rank, NPROCS)
    core.flatlog_close()
    core.finish()
    return core


@needs_core
def test_what_the_core_writes_is_what_was_recorded(tmp_path: Path) -> None:
    cores = [_record(rank, tmp_path) for rank in range(NPROCS)]
    for core in cores[1:]:
        cores[0].merge(core.pack())
    cores[0].write(tmp_path / "a.st")
    trace = scalatrace.load(tmp_path / "a.st")
    found = verify(trace, tmp_path)
    assert [str(problem) for problem in found.problems] == []
    assert found.nevents == trace.nevents() == cores[0].nevents
    assert trace.meta["program"] == "test"
    assert trace.matrix("messages").sum() == trace.nevents() - NPROCS - 30 * NPROCS
    assert parse(text(trace)) == trace
    assert next(trace.walk(2))["filename"] == "fü\n.dat\udcff"


@needs_core
def test_parts_come_back(tmp_path: Path) -> None:
    with _record(3, tmp_path) as core:
        core.write_part(tmp_path / "3.part")
        packed = core.pack()
    with Core.read_part(tmp_path / "3.part") as again:
        assert again.pack() == packed
    with pytest.raises(FormatError, match="scalatrace merge"):
        scalatrace.load(tmp_path / "3.part")


@needs_core
def test_errors(tmp_path: Path) -> None:
    with Core(0, 1) as core:
        with pytest.raises(UsageError):
            core.append(77)
        with pytest.raises(FormatError):
            core.merge(b"no core")
        with pytest.raises(ScalatraceError):
            core.write(tmp_path / "none" / "a.st")
        assert core.nevents == 0
    with pytest.raises(FormatError, match="none"):
        Core.read_part(tmp_path / "none")


def test_a_missing_library_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALATRACE_CORE", str(tmp_path / "none.so"))
    binding.library.cache_clear()
    with pytest.raises(CoreError, match=r"cannot load the native core .*none\.so"):
        Core(0, 1)
    monkeypatch.undo()
    binding.library.cache_clear()
