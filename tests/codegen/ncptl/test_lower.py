"""What each task does: MPI calls, before and without MPI."""

from __future__ import annotations

import pytest

from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.collecting import string_tag
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from support.ncptl_programs import PROGRAMS, calls, lowered

ALL = "comm={0,1,2,3}"
WANTED = {
    "chain": [["Send 16 dst=1 tag=0"], ["Recv 16 src=0 tag=0", "Send 16 dst=2 tag=0"]],
    "ring": [["Irecv 1024 src=3 tag=0", "Isend 1024 dst=1 tag=0", "Waitall 1", "Waitall 1"]],
    "send": [["Send 8 dst=1 tag=0"] * 3, ["Recv 8 src=0 tag=0"] * 3, []],
    "who-receives": [["Send 64 dst=1 tag=0"], ["Irecv 64 src=0 tag=0", "Waitall 1"]],
    "receive-from-the-right": [["Recv 8 src=2 tag=0"]] * 2
    + [["Send 8 dst=0 tag=0", "Send 8 dst=1 tag=0", "Send 8 dst=3 tag=0"]],
    "unsuspecting": [
        ["Irecv 8 src=1 tag=4", "Irecv 8 src=2 tag=4", "Irecv 8 src=3 tag=4", "Waitall 3"],
        ["Isend 8 dst=0 tag=4", "Waitall 1"],
    ],
    "multicast": [["Comm_split color=1"] + ["Bcast 8 MPI_BYTE root=1 comm={0,1,2}"] * 2],
    "exchange": [[f"Alltoall 16 {ALL}"]],
    "many-to-some": [[f"Alltoallv s=[0 2 0 0 ] r=[0 0 0 0 ] {ALL}"]],
    "one-of-a-set": [["Comm_split color=1", "Bcast 64 MPI_BYTE root=2 comm={0,1,2}"]],
    "reduce": [
        [
            "Comm_split color=0",
            "Comm_split color=1",
            f"Reduce 3 MPI_DOUBLE root=1 {ALL}",
            f"Allreduce 1 MPI_INT {ALL}",
            "Allreduce 2 MPI_INT comm={0,1}",
            f"Allreduce 5 MPI_INT {ALL}",
        ]
    ],
    "reduce-elsewhere": [
        [
            "Comm_split color=1",
            "Comm_split color=1",
            "Reduce 4 MPI_INT root=0 comm={0,1}",
            "Bcast 4 MPI_INT root=0 comm={0,2,3}",
        ]
    ],
    "synchronize": [["Comm_split color=1", f"Barrier {ALL}", "Barrier comm={0,3}"]],
    "processors": [
        [f"Barrier {ALL}"],
        ["Recv 3 src=2 tag=0", f"Barrier {ALL}"],
        ["Send 3 dst=1 tag=0", f"Barrier {ALL}"],
    ],
    "warm-up": [["Send 6 dst=1 tag=0"] * 2 + [f"Barrier {ALL}"] + ["Send 6 dst=1 tag=0"] * 3],
    "conditions": [["Send 2 dst=1 tag=0"]],
    "reductions-nowhere": [["Comm_split color=1", "Comm_split color=0"], ["Comm_split color=0"] * 2],
    "nothing": [[], []],
}


@pytest.mark.parametrize("name", WANTED)
def test_calls(name: str) -> None:
    program = lowered(PROGRAMS[name])
    for rank, wanted in enumerate(WANTED[name]):
        assert calls(program, rank) == wanted


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_wrong_with_any_program(name: str) -> None:
    assert find_faults(lowered(PROGRAMS[name])) == []


def test_loops_with_a_count_stay_loops() -> None:
    program = lowered("FOR 1G REPETITIONS TASK 0 SENDS 1M 4 BYTE MESSAGES TO TASK 1.")
    (loop, _) = program.events[0]
    assert isinstance(loop, e.Repeat)
    assert loop.count == 2**30
    assert find_faults(program) == []


def test_parameters_and_number_of_tasks() -> None:
    source = 'n IS "N" AND COMES FROM "--n" OR "-n" WITH DEFAULT 2.\nTASK num_tasks-1 SENDS n 4 BYTE MESSAGES TO TASK 0.'
    assert calls(lowered(source, 3), 2) == ["Send 4 dst=0 tag=0"] * 2
    assert calls(lowered(source, 5, n=3), 4) == ["Send 4 dst=0 tag=0"] * 3


def test_tags() -> None:
    program = lowered(
        'TASK 0 SENDS A 1 BYTE MESSAGE USING TAG -7 TO TASK 1 THEN TASK 0 SENDS A MESSAGE USING TAG "x" TO TASK 1.'
    )
    assert calls(program, 0) == ["Send 1 dst=1 tag=7", f"Send 0 dst=1 tag={string_tag('x')}"]
    assert 0 <= string_tag("x") < 2**23 != string_tag("y")


@pytest.mark.parametrize(
    ("source", "column", "said"),
    [
        ("TASK 0 SENDS A 4 BYTE MESSAGE TO TASK 0.", 1, "send to itself"),
        ("ALL TASKS SEND A 4 BYTE MESSAGE TO UNSUSPECTING TASK 0.", 1, "send to itself"),
        ("TASK 0 MULTICASTS A 8 BYTE MESSAGE USING TAG 5 TO ALL OTHER TASKS.", 19, "have no tags"),
        ("ALL TASKS REDUCE 3 INTEGERS USING TAG 5.", 18, "have no tags"),
        ("LET n BE 2 AND m BE 3 WHILE ALL TASKS REDUCE n INTEGERS TO m INTEGERS.", 60, "expected as many"),
        ("TASK 0 SENDS A -4 BYTE MESSAGE TO TASK 1.", 16, "expected 0 or more"),
        ("TASK 0 SENDS A 2 GIGABYTE MESSAGE TO TASK 1.", 16, "2 GiB"),
        ('ASSERT THAT "many" WITH num_tasks>4.', 1, "the program asserts: many"),
        ("TASK 0 IS ASSIGNED TO PROCESSOR 4.", 1, "expected 0 to 3"),
        ("LET r BE A RANDOM TASK LESS THAN 0 WHILE TASK r SYNCHRONIZES.", 5, "no task fits r"),
        ("FOR EACH i IN {1,4,9,...,81} TASK 0 OUTPUTS i.", 15, "neither"),
        ("FOR EACH i IN {0,1} TASK 1/i SYNCHRONIZES.", 26, "division by zero"),
        ("ALL TASKS t ASYNCHRONOUSLY SEND A 4 BYTE MESSAGE TO TASK t+1.", 1, "task 0 never awaits"),
        ("TASK 0 RESTORES ITS COUNTERS.", 1, "not stored"),
        ("FOR 2 REPETITIONS TASK 0 RESTORES ITS COUNTERS.", 19, "not stored"),
        ("ALL TASKS t SEND A 4 BYTE MESSAGE TO TASK (t+1) MOD num_tasks.", 1, "task 0 waits for a message of task 3"),
        ("TASK 0 SENDS A 8 BYTE MESSAGE TO TASK 1 WHO RECEIVES IT USING TAG 5.", 1, "task 0 with tag 5"),
        ("TASK 1 RECEIVES A 8 BYTE MESSAGE FROM TASK 0.", 1, "task 1 waits for a message"),
        ("IF MY TASK IS EVEN THEN ALL TASKS SYNCHRONIZE.", 25, "waits for others"),
        ("TASK 0 SENDS A 9 BYTE MESSAGE TO UNSUSPECTING TASK 1 THEN TASK 1 RECEIVES A 8 BYTE MESSAGE FROM TASK 0.", 59,
         "receives at most 8 bytes"),
    ],
)  # fmt: skip
def test_faults_are_found_before_anything_runs(source: str, column: int, said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        find_faults(lowered(source))
    assert said in caught.value.reason
    assert (caught.value.place.line, caught.value.place.column) == (1, column)


def test_a_deadlock_in_the_last_turn_of_a_loop_is_found() -> None:
    source = (
        "FOR 9 REPETITIONS TASK 0 SENDS A 4 BYTE MESSAGE TO UNSUSPECTING TASK 1 THEN "
        "FOR {turns} REPETITIONS TASK 1 RECEIVES A 4 BYTE MESSAGE FROM TASK 0."
    )
    assert find_faults(lowered(source.format(turns=9))) == []
    with pytest.raises(ProgramError, match="never ends"):
        find_faults(lowered(source.format(turns=10)))
    (note,) = find_faults(lowered(source.format(turns=8)))
    assert note.text == "task 1 never receives what task 0 sends here"
