"""coNCePTuaL of recorded programs: what each task computes and awaits, and that nothing is said in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.checks.program import check, examine
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.lower import lower
from scalatrace.codegen.conceptual.values.evaluate import integer
from scalatrace.codegen.conceptual.words import TIME_UNITS
from scalatrace.codegen.generate import generate
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.query.load import COMPUTE, Means
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm
from support.mpis import Mpi
from support.programs import Sample
from support.running import run, scalatrace
from support.workloads import WORKLOADS

pytestmark = pytest.mark.mpi
Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]
STRICT = ("-O1", "-std=c11", "-Wall", "-Wextra", "-Werror")
NAMED = {workload.title: workload.of_steps(6) for workload in WORKLOADS}
CASES = [
    pytest.param(name, nprocs, marks=() if nprocs == 4 and name != "lu" else pytest.mark.slow)
    for name in ("coupled", "sweep3d", "lu")
    for nprocs in (4, 9)
]


def once(events: tuple[e.Event, ...]) -> Iterator[tuple[e.Event, int]]:
    """Events and how often each is executed."""
    for event in events:
        if isinstance(event, e.Repeat):
            yield from ((inner, n * event.count) for inner, n in once(event.body))
        else:
            yield event, 1


def computed_us(events: tuple[e.Event, ...]) -> int:
    """How long a task computes."""
    return sum(
        n * integer(event.statement.duration, event.env) * TIME_UNITS[event.statement.unit]
        for event, n in once(events)
        if isinstance(event, e.LocalStep) and isinstance(event.statement, t.Delay)
    )


@pytest.mark.parametrize(("name", "nprocs"), CASES)
def test_each_task_computes_as_long_as_the_means_of_its_calls(
    openmpi: Mpi, recorded: Recorder, name: str, nprocs: int
) -> None:
    trace = load(recorded(openmpi, nprocs, NAMED[name])[0])
    program = lower(check(generate(trace, "conceptual").text), nprocs)
    means = Means(trace, COMPUTE)
    for rank in trace.ranks:
        found = computed_us(program.events[rank])
        rounding = sum(n for event, n in once(program.events[rank]) if isinstance(event, e.LocalStep)) / 2
        # A mean that ranks share is known to a sixteenth of an octave.
        assert found == pytest.approx(means.of(rank) / 1000, rel=0.05, abs=rounding)


@pytest.mark.parametrize(("name", "nprocs"), CASES)
def test_nothing_is_unused(openmpi: Mpi, recorded: Recorder, name: str, nprocs: int, tmp_path: Path) -> None:
    source, c = tmp_path / "bench.ncptl", tmp_path / "bench.c"
    text = generate(load(recorded(openmpi, nprocs, NAMED[name])[0]), "conceptual").text
    assert examine(text).notes == []
    source.write_text(text)
    scalatrace(openmpi, "ncptl", "compile", source, "-o", c).check()
    command = [openmpi.mpicc, *STRICT, c, "-o", tmp_path / "bench", "-lm"]
    run(command, env=openmpi.environment(), timeout=60).check()


def test_what_the_iteration_before_began_is_awaited_before_what_follows() -> None:
    b = Builder(2)
    message = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    zero, one = RankList([0]), RankList([1])
    receives = b.loop(
        Groups([(zero, Vec(3))]),
        b.event("Waitall", Groups([(zero, Vec((0, 1, 1)))]), requests=(0,)),
        b.event("Irecv", Groups([(zero, Vec((1, 1, 0)))]), source=1, **message),
    )
    sends = b.event("Send", Groups([(one, Vec(2))]), dest=0, **message)
    text = generate(b.of(receives, sends, b.event("Barrier", comm=Comm())), "conceptual").text
    events = lower(check(text), 2).events[0]
    kinds = [type(event) for event in events if isinstance(event, e.Transfer | e.AwaitAll | e.Barrier)]
    after = kinds[kinds.index(e.Transfer) :]
    assert after[:4] == [e.Transfer, e.AwaitAll, e.Transfer, e.AwaitAll]
