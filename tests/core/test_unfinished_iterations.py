"""Values of iterations that are not over: kept as they came while few, compressed when there are many."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io import reader
from scalatrace.trace.io.unused import without_unused
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import PROC_NULL

SIZE = 4
SEND = (("dest", Kind.PEER), ("count", Kind.INT), ("comm", Kind.COMM))

Calls = list[tuple[str, tuple[int, ...]]]


def program(trips: int, outside: int) -> Calls:
    """Seven steps of an inner loop with other peers and counts; every `outside`-th peer is MPI_PROC_NULL."""
    calls: Calls = []
    for step in range(7):
        for i in range(trips + step % 2):
            peer = PROC_NULL if outside and i % outside == outside - 1 else (i * step) % SIZE
            calls.append(("Send", (peer, i % 5 + step, COMM_WORLD)))
            calls.append(("Barrier", (COMM_WORLD,)))
        calls.append(("Allreduce", (step, COMM_WORLD)))
    return calls


def recorded(calls: Calls, parts: Path | None = None) -> Core:
    """A core that has met the calls; `parts`: where it writes one every 100 calls."""
    core = Core(1, SIZE)
    core.define_comm(COMM_WORLD, 0, "world", range(SIZE))
    core.define_stat("compute_ns")
    ops = {
        "Send": core.define_op("Send", SEND),
        "Barrier": core.define_op("Barrier", SEND[2:]),
        "Allreduce": core.define_op("Allreduce", SEND[1:]),
        "Bcast": core.define_op("Bcast", SEND[1:]),
    }
    for i, (op, values) in enumerate(calls):
        core.append(ops[op], values, own=1, size=SIZE, stats=[float(i)])
        if parts and i % 100 == 99:
            core.write_part(parts / f"{i}.part")
    return core


def walked(trace: Path) -> Calls:
    """The calls of a trace without the communicators, which have another name there."""
    return [(call.op, tuple(call.values[:-1])) for call in load(trace).walk(1)]


def plain(calls: Calls) -> Calls:
    return [(op, values[:-1]) for op, values in calls]


@pytest.mark.parametrize("outside", [0, 3])
@pytest.mark.parametrize("trips", [2, 15, 100, 900])
def test_a_walk_gives_the_values_as_they_came(tmp_path: Path, trips: int, outside: int) -> None:
    calls = program(trips, outside)
    with recorded(calls) as core:
        core.finish()
        core.write(tmp_path / "a.st")
    assert walked(tmp_path / "a.st") == plain(calls)


@pytest.mark.parametrize("trips", [15, 100])
def test_a_part_in_the_middle_changes_nothing(tmp_path: Path, trips: int) -> None:
    """It puts together what is unfinished, of a copy."""
    calls = program(trips, 3)
    packed = []
    for parts in (None, tmp_path):
        with recorded(calls, parts) as core:
            core.finish()
            packed.append(core.pack())
    assert packed[0] == packed[1]
    written = sorted(tmp_path.glob("*.part"), key=lambda path: int(path.stem))
    for path in written:
        with Core.read_part(path) as part:
            part.write(tmp_path / "a.st")
        assert walked(tmp_path / "a.st") == plain(calls[: int(path.stem) + 1])


def left_in_the_middle(step: int, trips: int) -> Calls:
    """A step whose inner loop makes its second call in every other iteration, in the last step never."""
    calls: Calls = []
    for i in range(trips):
        calls.append(("Send", (0, 1, COMM_WORLD)))
        if i % 2 and step < 9:
            calls.append(("Allreduce", (2, COMM_WORLD)))
        calls.append(("Bcast", (3, COMM_WORLD)))
    return calls if step == 9 else [*calls, ("Barrier", (COMM_WORLD,))]


@pytest.mark.parametrize("parts", [False, True])
def test_calls_that_never_ran_are_not_stored(
    tmp_path: Path, parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unfinished last step is behind the loop of steps, whose body has a call more."""
    calls = [call for step in range(10) for call in left_in_the_middle(step, 4)]
    monkeypatch.setattr(reader, "without_unused", list)
    trace = tmp_path / "a.st"
    with recorded(calls) as core:
        if parts:
            core.write_part(tmp_path / "a.part")
        else:
            core.finish()
            core.write(trace)
    if parts:
        with Core.read_part(tmp_path / "a.part") as part:
            part.write(trace)
    executed = load(trace).nodes
    assert walked(trace) == plain(calls)
    assert without_unused(executed) == executed
