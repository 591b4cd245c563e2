"""Calls that complete one of several requests, of which earlier ones may be complete too soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import Trace, load, save
from scalatrace.codegen.generate import generate
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED, Vec
from support.builder import DOUBLE, Builder, Comm
from support.generated import compiled
from support.mpis import Mpi
from support.running import Argument, record

ZERO, ONE = (Groups([(RankList([rank]), Vec(1))]) for rank in (0, 1))


def program(lower: int = 1) -> Trace:
    """All messages are there before the first completion, which is not that of the first request.

    Args:
        lower: age of the request before the one that completes first; UNDEFINED: kept out.
    """
    b = Builder(2)
    send = {"count": 1, "datatype": DOUBLE, "dest": 0, "tag": 3, "comm": Comm()}
    receive = {"count": 1, "datatype": DOUBLE, "source": ANY_SOURCE, "tag": ANY_TAG, "comm": Comm()}
    return b.of(
        b.event("Recv_init", ZERO, **receive),
        b.event("Recv_init", ZERO, **receive),
        b.event("Startall", ZERO, requests=(1, 0)),
        b.event("Irecv", ZERO, **receive),
        b.event("Irecv", ZERO, **receive),
        *(b.event("Send", ONE, **send) for _ in range(4)),
        b.event("Barrier", comm=Comm()),
        b.event("Testany", ZERO, requests=(3, 2), index=1),
        b.event("Waitany", ZERO, requests=(lower, 0), index=1),
        b.event("Testany", ZERO, requests=(0, UNDEFINED), index=0),
        b.event("Waitany", ZERO, requests=(1, 0), index=0),
        b.event("Request_free", ZERO, request=0),
        b.event("Request_free", ZERO, request=0),
    )


def commands(mpi: Mpi, trace: Path) -> dict[str, list[Argument]]:
    """What makes the calls of a trace, by name."""
    c, python = trace.with_suffix(".c"), trace.with_suffix(".py")
    c.write_text(generate(load(trace), "c").text)
    python.write_text(generate(load(trace), "python").text)
    replay = [*mpi.scalatrace(), "replay", trace, "--engine"]
    return {
        "replay": [*replay, "python"],
        "compiled": [*replay, "compiled"],
        "c": [compiled(mpi, c)],
        "python": [str(mpi.python), python],
    }


@pytest.mark.mpi
def test_the_recorded_request_completes(openmpi_first: Mpi, tmp_path: Path) -> None:
    mpi, trace, again = openmpi_first, tmp_path / "a.st", tmp_path / "again.st"
    save(program(), trace)
    for name, command in commands(mpi, trace).items():
        record(mpi, 2, command, again, timeout=60).check()
        assert not diff(load(trace), load(again), ("callsites", "times")), name


def test_only_requests_that_do_not_complete_may_be_null() -> None:
    assert diff(program(), program(UNDEFINED), ("times",)) == []
    (difference,) = diff(program(), program(2), ("times",))
    assert difference.event == 8
