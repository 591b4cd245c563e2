"""Nonblocking collectives in coNCePTuaL, which has blocking ones: where they start, or where they end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scalatrace import Trace, load
from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.lowering.lower import lower
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.matching import align_collectives, must_be_late, with_late_collectives
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED, Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.calls import call
from support.calls import record as made
from support.mpis import Mpi
from support.running import record, scalatrace
from support.substituted import differing

FIRST, SECOND = RankList([0]), RankList([1])
DATA = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
PROGRAM = Path(__file__).parent / "programs" / "nonblocking.py"


def said(trace: Trace) -> list[str]:
    """The statements of the body, which must be accepted and come to an end."""
    text = generate(trace, "conceptual").text
    assert not list(find_faults(lower(check(text), trace.nprocs)))
    body = text.partition("COUNTERS.\n")[2].partition("ALL TASKS SYNCHRONIZE THEN\n")[0]
    lines = (line.partition("  # ")[0].strip() for line in body.splitlines())
    return [line.removesuffix(" THEN").removesuffix(".") for line in lines]


def only(ranks: RankList, *turns: int) -> Groups:
    """A repeat of some ranks."""
    return Groups([(ranks, Vec(*turns or (1,)))])


def test_they_stand_where_they_start() -> None:
    b, other = Builder(2), To(Encoding.XOR, Vec(1))
    trace = b.of(
        b.loop(
            5,
            b.event("Iallreduce", count=3, datatype=DOUBLE, op="MPI_SUM", comm=Comm(), in_place=0),
            b.event("Irecv", **DATA, source=other),
            b.event("Isend", **DATA, dest=other),
            b.event("Waitall", requests=(2, 1, 0)),
            b.event("Ibcast", count=2, datatype=DOUBLE, root=1, comm=Comm()),
            b.event("Wait", request=0),
        )
    )
    assert not must_be_late(trace)
    assert said(trace) == [
        "FOR 5 REPETITIONS {",
        "ALL TASKS REDUCE 6 INTEGERS",
        "TASKS t SUCH THAT t >= 0 ASYNCHRONOUSLY RECEIVE A 8 BYTE MESSAGE FROM TASK ((t + 1) MOD 2)",
        "ALL TASKS t ASYNCHRONOUSLY SEND A 8 BYTE MESSAGE TO UNSUSPECTING TASK ((t + 1) MOD 2)",
        "ALL TASKS AWAIT COMPLETION",
        "TASK 1 MULTICASTS A 16 BYTE MESSAGE TO ALL OTHER TASKS",
        "}",
    ]


def crossing(times: int) -> Trace:
    """Rank 1 comes to the barrier only when it has a message that rank 0 sends behind its start."""
    b = Builder(2)
    barrier = b.event("Ibarrier", at=("app.py:3:main",), comm=Comm())
    nodes = (
        b.event("Recv", only(SECOND), **DATA, source=0),
        barrier,
        b.event("Send", only(FIRST), **DATA, dest=1),
        b.event("Wait", request=0),
    )
    return b.of(b.loop(times, *nodes))


def test_they_stand_where_they_end_if_ranks_waited_for_each_other_otherwise() -> None:
    assert must_be_late(crossing(4))
    assert said(crossing(4)) == [
        "FOR 4 REPETITIONS {",
        "TASK 1 RECEIVES A 8 BYTE MESSAGE FROM TASK 0",
        "TASK 0 SENDS A 8 BYTE MESSAGE TO UNSUSPECTING TASK 1",
        "ALL TASKS SYNCHRONIZE",
        "}",
    ]


def test_several_that_end_together_keep_the_order_of_their_starts() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Ibcast", count=2, datatype=DOUBLE, root=1, comm=Comm()),
        b.event("Recv", only(SECOND), **DATA, source=0),
        b.event("Ibarrier", comm=Comm()),
        b.event("Send", only(FIRST), **DATA, dest=1),
        b.event("Waitall", requests=(0, 1)),
    )
    assert said(trace)[-2:] == [
        "TASK 1 MULTICASTS A 16 BYTE MESSAGE TO ALL OTHER TASKS",
        "ALL TASKS SYNCHRONIZE",
    ]


def test_one_that_never_ends_is_refused() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Recv", only(SECOND), **DATA, source=0),
        b.event("Ibarrier", comm=Comm()),
        b.event("Send", only(FIRST), **DATA, dest=1),
    )
    with pytest.raises(GenerateError, match=r"MPI_Ibarrier on rank \d is not completed"):
        generate(trace, "conceptual")


def test_other_requests_get_the_ages_that_they_then_have() -> None:
    b, other = Builder(2), To(Encoding.XOR, Vec(1))
    trace = b.of(
        b.event("Irecv", **DATA, source=other),
        b.event("Recv", only(SECOND), **DATA, source=0),
        b.event("Ibarrier", comm=Comm()),
        b.event("Send", only(FIRST), **DATA, dest=1),
        b.event("Isend", **DATA, dest=other),
        b.event("Waitany", requests=(1, 2, 0), index=0),
        b.event("Waitall", requests=(1, 0)),
    )
    changed = with_late_collectives(trace)
    for rank in range(2):
        ended = [(c.op, c["requests"], c.get("index")) for c in changed.walk(rank) if "requests" in c]
        assert ended == [("Waitany", (1, 0), UNDEFINED), ("Waitall", (1, 0), None)]
        assert [c.op for c in changed.walk(rank)][-3:] == ["Waitany", "Barrier", "Waitall"]


def scattered(seed: int) -> Trace:
    """Three ranks that start two barriers at different times among their messages, and end them later."""
    draw, rows = random.Random(seed), [[] for _ in range(3)]  # type: ignore[var-annotated]
    for time in range(8):
        if draw.random() < 0.7:
            a, b = draw.sample(range(3), 2)
            data = {"count": time + 1, "datatype": "MPI_DOUBLE"}
            rows[a].append((time, 1, call("Send", 10, **data, dest=b, tag=0, comm="world")))
            rows[b].append((time, 2, call("Recv", 11, **data, source=a, tag=0, comm="world")))
    together = draw.random() < 0.5
    for window in (0, 4):
        for row in rows:
            row.append((window + draw.randrange(3), 0, call("Ibarrier", 20, comm="world")))
            if not together:
                row.append((window + 3, 3, call("Wait", 21, request=0)))
            elif window:
                row.append((window + 3, 3, call("Waitall", 22, requests=(0, 1))))
    return made([[c for *_, c in sorted(row, key=lambda entry: entry[:2])] for row in rows])


def test_random_programs_are_said_and_come_to_an_end() -> None:
    early = 0
    for seed in range(24):
        trace = scattered(seed)
        early += not must_be_late(align_collectives(trace))
        assert sum("SYNCHRONIZE" in line for line in said(trace)) in (1, 2)  # in a loop, or one by one
    assert 0 < early < 24


def test_every_collective_with_words_has_its_nonblocking_form() -> None:
    for name in PATTERNS:
        assert blocking_form("I" + name[0].lower() + name[1:]) == name
    assert blocking_form("Isend") == "Isend"
    assert blocking_form("Ialltoallw") == "Ialltoallw"
    assert blocking_form("Bcast") == "Bcast"


@pytest.mark.mpi
@pytest.mark.slow
def test_the_benchmark_communicates_as_the_application_did(openmpi: Mpi, tmp_path: Path) -> None:
    """Recorded, said, run and recorded again: messages and (after the substitution) collectives are equal."""
    first, source, again = tmp_path / "a.st", tmp_path / "bench.ncptl", tmp_path / "again.st"
    record(openmpi, 4, [str(openmpi.python), PROGRAM], first, timeout=60).check()
    app = load(first)
    source.write_text(generate(app, "conceptual", GenerateOptions(compute_scale=0.01)).text)
    scalatrace(openmpi, "ncptl", "check", "-n", "4", source).check()
    record(openmpi, 4, [*openmpi.scalatrace(), "ncptl", "run", source], again, timeout=60).check()
    assert differing(app, load(again)) == []
