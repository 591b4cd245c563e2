"""A trace of flat logs is equal to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.convert.flat_logs import convert_logs
from scalatrace.convert.ranks import RankCalls
from scalatrace.errors import FormatError
from scalatrace.trace.model.tables import Kind
from support.builder import INT


def write_logs(folder: Path, nprocs: int, steps: int) -> None:
    """Write the logs of a program with a ring, rows and columns, and communicators of some ranks."""
    folder.mkdir()
    for rank in range(nprocs):
        calls = RankCalls(rank, nprocs)
        calls.core.flatlog_open(folder / f"rank-{rank}.log")
        half = [r for r in range(nprocs) if r % 2 == rank % 2]
        calls.comm("half", "split", half, ordinal=calls.next_ordinal("world"))
        world, message = ("comm", Kind.COMM, "world"), [("count", Kind.INT, 4), ("datatype", Kind.TYPE, INT)]
        calls.append("Comm_split", [world, ("color", Kind.INT, rank % 2), ("key", Kind.INT, 0),
                                    ("newcomm", Kind.COMM, "half")], ["app.py:1:main"])  # fmt: skip
        for step in range(steps):
            source, dest = (rank - 1) % nprocs, (rank + 1) % nprocs
            tag = ("tag", Kind.INT, 5)
            calls.append("Irecv", [*message, ("source", Kind.PEER, source), tag, world], ["app.py:3:main"])
            calls.append("Send", [*message, ("dest", Kind.PEER, dest), tag, world], ["app.py:4:main"])
            calls.append("Waitall", [("requests", Kind.ARRAY, (0,))], ["app.py:5:main"])
            if step % 2 == rank % 2:
                operator = ("op", Kind.STRING, "MPI_SUM")
                half_comm = ("comm", Kind.COMM, "half")
                calls.append("Allreduce", [*message, operator, half_comm], ["app.py:6:main"])
        calls.core.flatlog_close()
        calls.core.close()


@pytest.mark.parametrize("nprocs", [1, 2, 5, 8])
def test_equal_to_the_logs(nprocs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path / "logs", nprocs, 6)
    out = str(tmp_path / "t.st")
    assert main(["import", str(tmp_path / "logs"), "-o", out]) == 0
    assert f"{nprocs} ranks" in capsys.readouterr().out
    assert main(["verify", out, str(tmp_path / "logs")]) == 0
    trace = scalatrace.load(out)
    assert trace.nprocs == nprocs
    assert trace.nnodes < 12


def test_missing_logs(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no flat logs"):
        convert_logs(tmp_path, tmp_path / "t.st")
    write_logs(tmp_path / "logs", 3, 1)
    (tmp_path / "logs" / "rank-1.log").unlink()
    with pytest.raises(FormatError, match="no log of rank 1"):
        convert_logs(tmp_path / "logs", tmp_path / "t.st")


@pytest.mark.parametrize("comm", ["ANY_TAG", "c-1000000005", "c9", "PROC_NULL"])
def test_a_communicator_that_is_none(comm: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_logs(logs, 2, 1)
    path = logs / "rank-1.log"
    path.write_text(re.sub(r" c\d+(?=[ \n])", f" {comm}", path.read_text()))
    with pytest.raises(FormatError, match=r"rank-1\.log: line \d+ is damaged"):
        convert_logs(logs, tmp_path / "a.st")


def test_logs_that_claim_many_ranks(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 2, 1)
    for path, expected in zip(
        sorted((tmp_path / "logs").iterdir()),
        ("some logs are of 2 ranks, others of 900000000", "there is no log of rank 2; 900000000 ranks"),
        strict=True,
    ):
        path.write_text(path.read_text().replace("of 2\n", "of 900000000\n", 1))
        with pytest.raises(FormatError, match=expected):
            convert_logs(tmp_path / "logs", tmp_path / "a.st")
