"""Loops over numbers of which one iteration stands for all: the same calls as written out, and the same faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering import lower as lowering
from scalatrace.codegen.conceptual.lowering.collecting import TooManyEventsError
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.lowering.lower import BoundProgram, lower
from support.ncptl_programs import PROGRAMS

LOOPS = {
    "alignments": """
        FOR EACH s IN {0,4,...,160} FOR EACH r IN {0,4,...,160} {
          TASK 0 OUTPUTS s AND " " AND r THEN ALL TASKS SYNCHRONIZE THEN
          FOR 2 REPETITIONS PLUS 1 WARMUP REPETITION
            TASK 0 SENDS A 1K BYTE s BYTE MISALIGNED MESSAGE TO TASK 1
              WHO RECEIVES IT AS A r BYTE MISALIGNED MESSAGE THEN
          TASK 0 LOGS s+r AS "offsets" }.""",
    "bindings": """
        FOR EACH i IN {1,...,40} LET offset BE i*8 AND n BE 3 WHILE {
          FOR n REPETITIONS TASK 0 SENDS A n BYTE MESSAGE FROM offset BYTE INTO BUFFER n TO TASK 1 THEN
          IF n>2 THEN FOR EACH j IN {0,...,50} TASK 2 SENDS A MESSAGE FROM offset+j BYTE INTO BUFFER i TO TASK 3
        }.""",
    "sizes": "FOR EACH i IN {1,...,40} TASK 0 SENDS A i BYTE MESSAGE TO TASK 1.",
    "hidden": "FOR EACH i IN {1,...,40} LET i BE 3 WHILE TASK 0 SENDS A i BYTE i BYTE ALIGNED MESSAGE TO TASK 1.",
    "unlike": "FOR EACH i IN {1,...,40} LET k BE i MOD 3 WHILE TASK 0 SENDS A 1 BYTE MESSAGE TO TASK k+1.",
    "random": """
        FOR EACH i IN {1,...,40} {
          TASK 0 IS ASSIGNED TO PROCESSOR 0 THEN ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR THEN
          TASK i MOD 3 IS ASSIGNED TO PROCESSOR i MOD 4 THEN
          TASKS t SUCH THAT t IS EVEN SEND 3 8 BYTE MESSAGES TO TASK t+1 THEN ALL TASKS SYNCHRONIZE }.
        LET r BE A RANDOM TASK WHILE TASK r IS ASSIGNED TO PROCESSOR 2 THEN TASK 0 SENDS A MESSAGE TO TASK 1.""",
    "random groups": """
        FOR EACH i IN {1,...,40} {
          ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR THEN TASKS t SUCH THAT t<2 SYNCHRONIZE }.""",
    "random, pending": """
        FOR EACH i IN {1,...,40} {
          ALL TASKS ASYNCHRONOUSLY SEND A MESSAGE TO UNSUSPECTING TASK 0 THEN
          ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR THEN ALL TASKS AWAIT COMPLETION }.""",
    "conditions of tasks": """
        FOR EACH i IN {1,...,40} IF MY TASK < 2 THEN
          TASK 0 SENDS A MESSAGE FROM i BYTE INTO THE DEFAULT BUFFER TO TASK 1.""",
}  # fmt: skip
LOOPS["sums of both"] = LOOPS["alignments"].replace("A 1K BYTE s BYTE", "A 1K BYTE s+r BYTE")


def written_out(events: Sequence[e.Event]) -> Iterator[Any]:
    """Events with all iterations of loops over numbers; steps of a task with what it knows."""
    for event in events:
        if isinstance(event, e.Each):
            for body in event.bodies():
                yield from written_out(body)
        elif isinstance(event, (e.Repeat, e.Timed, e.Aside)):
            kind = (type(event), getattr(event, "count", 0))
            yield (*kind, tuple(written_out(event.body)))
        else:
            yield (event, event.env.names) if isinstance(event, e.LocalStep) else event


def both(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[BoundProgram, BoundProgram]:
    """A program on 4 tasks with all loops written out, and with one iteration where possible."""
    result = []
    for least in (1 << 60, 2):
        monkeypatch.setattr(lowering, "MIN_STEADY_ITERATIONS", least)
        result.append(lower(check(source), 4))
    return result[0], result[1]


@pytest.mark.parametrize("name", [*LOOPS, *PROGRAMS])
def test_iterations_are_those_of_the_loop_written_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long, short = both((LOOPS | PROGRAMS)[name], monkeypatch)
    for rank in range(4):
        assert list(written_out(short.events[rank])) == list(written_out(long.events[rank]))
    assert short.comms == long.comms


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_short_where_its_iterations_are_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, short = both(LOOPS[name], monkeypatch)
    unlike = {"sizes", "unlike", "random groups", "random, pending"}
    assert any(isinstance(event, e.Each) for event in short.events[0]) == (name not in unlike)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("FOR EACH i IN {-40,...,40} TASK 0 SENDS A 1 BYTE 8/i BYTE ALIGNED MESSAGE TO TASK 1.", "division by zero"),
        ("FOR EACH i IN {-40,...,40} LET k BE 8/i WHILE TASK 0 OUTPUTS k.", "division by zero"),
        (
            "FOR EACH i IN {0,...,40} FOR EACH k IN {0,...,40} "
            "TASK 0 SENDS A MESSAGE FROM 60-i-k BYTE INTO THE DEFAULT BUFFER TO TASK 1.",
            "expected 0 or more",
        ),
        (
            "FOR EACH i IN {0,...,40} { ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR THEN TASK 0 IS ASSIGNED TO PROCESSOR i }.",
            "no processor 4",
        ),
        ("FOR EACH i IN {0,...,40} TASK 0 ASYNCHRONOUSLY SENDS A MESSAGE TO TASK 1.", "never awaits"),
        ("FOR EACH i IN {0,...,40} { TASK 0 OUTPUTS i THEN TASK 0 RECEIVES A MESSAGE FROM TASK 1 }.", "never ends"),
    ],
)  # fmt: skip
def test_faults_of_later_iterations_are_found(
    source: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = set()
    for least in (1 << 60, 2):
        monkeypatch.setattr(lowering, "MIN_STEADY_ITERATIONS", least)
        with pytest.raises(ProgramError, match=said) as caught:
            find_faults(lower(check(source), 4))
        reasons.add(str(caught.value))
    assert len(reasons) == 1


def test_millions_of_iterations_take_few_steps() -> None:
    source = LOOPS["alignments"].replace("{0,4,...,160}", "{0,4,...,16K}")
    assert find_faults(lower(check(source), 4, most=30_000)) == []
    with pytest.raises(TooManyEventsError):
        lower(check(LOOPS["sums of both"].replace("{0,4,...,160}", "{0,4,...,16K}")), 4, most=30_000)
