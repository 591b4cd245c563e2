"""An OTF2 archive that was exported, imported, and exported again: equal events."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalatrace
from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, INT, Builder, Comm, To, stencil
from support.lowered import every_kind, on

otf2: Any = pytest.importorskip("otf2")


def program() -> Trace:
    """Messages of all modes, and collectives of the world and of halves."""
    b = Builder(4)
    halves = b.family("split", (2, 2), (0, 2, 1, 3))
    right, left = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))
    both = {"count": 3, "datatype": DOUBLE, "tag": 7, "comm": Comm()}
    sides = {"sendtype": INT, "recvtype": INT}
    return b.of(
        b.event("Barrier", comm=Comm(), compute=Histogram.of(5000)),
        b.loop(5,
            b.event("Irecv", source=left, **both),
            b.event("Isend", dest=right, **both),
            b.event("Waitall", requests=(0, 1)),
            b.event("Send", repeat=on({0: 1, 2: 1}), dest=To(Encoding.RELATIVE, Vec(1)), **both),
            b.event("Recv", repeat=on({1: 1, 3: 1}), source=To(Encoding.RELATIVE, Vec(-1)), **both),
        ),
        b.event("Sendrecv", sendcount=2, sendtype=INT, dest=right, sendtag=1, recvcount=2, recvtype=INT,
                source=left, recvtag=1, comm=Comm()),
        b.event("Bcast", count=10, datatype=INT, root=1, comm=halves),
        b.event("Allreduce", count=10, datatype=INT, op="MPI_SUM", comm=Comm()),
        b.event("Reduce", count=10, datatype=INT, op="MPI_SUM", root=3, comm=Comm()),
        b.event("Alltoall", sendcount=2, recvcount=2, **sides, comm=Comm()),
        b.event("Gather", sendcount=2, recvcount=2, **sides, root=0, comm=Comm()),
        b.event("Scatter", sendcount=2, recvcount=2, **sides, root=2, comm=Comm()),
        b.event("Allgather", sendcount=2, recvcount=2, **sides, comm=halves),
    )  # fmt: skip


def events(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The events of each location without their times."""
    result = defaultdict(list)
    with otf2.reader.open(str(path / "traces.otf2")) as archive:
        for location, event in archive.events:
            plain = [type(event).__name__]
            for name in ("receiver", "sender", "msg_tag", "msg_length", "request_id", "root", "size_sent",
                         "size_received", "collective_op"):  # fmt: skip
                plain.append(str(getattr(event, name, "")))
            plain.append(event.region.name if hasattr(event, "region") else "")
            group = getattr(getattr(event, "communicator", None), "group", None)
            plain.append(str(len(group.members)) if group is not None else "")
            result[location.group.name].append(tuple(plain))
    return dict(result)


@pytest.mark.parametrize("trace", [program(), stencil()])
def test_round_trip(trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scalatrace.save(trace, tmp_path / "first.st")
    assert main(["export", str(tmp_path / "first.st"), "--to", "otf2", "-o", str(tmp_path / "first")]) == 0
    archive = tmp_path / "first" / "traces.otf2"
    assert main(["import", str(archive), "-o", str(tmp_path / "second.st"), "--json"]) == 0
    assert main(["export", str(tmp_path / "second.st"), "--to", "otf2", "-o", str(tmp_path / "second")]) == 0
    assert events(tmp_path / "second") == events(tmp_path / "first")
    second = scalatrace.load(tmp_path / "second.st")
    assert np.array_equal(second.matrix(), trace.matrix())
    assert second.nevents() == trace.nevents()
    assert second.nnodes <= 2 * trace.nnodes


def test_what_an_archive_does_not_have_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scalatrace.save(every_kind(4), tmp_path / "first.st")
    assert main(["export", str(tmp_path / "first.st"), "--to", "otf2", "-o", str(tmp_path / "first")]) == 0
    capsys.readouterr()
    archive = tmp_path / "first" / "traces.otf2"
    assert main(["import", str(archive), "-o", str(tmp_path / "second.st")]) == 0
    assert "left out: 4 MPI_Comm_split" in capsys.readouterr().out
    assert scalatrace.load(tmp_path / "second.st").nprocs == 4


def test_no_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "traces.otf2"
    path.write_bytes(b"nothing")
    assert main(["import", str(path), "-o", str(tmp_path / "x.st")]) == 1
    assert "cannot read the archive" in capsys.readouterr().err
    assert not (tmp_path / "x.st").exists()
