"""Roles, scopes, and whatever else the front end refuses; and what no run could make sense of."""

from __future__ import annotations

import pytest

from scalatrace.codegen.conceptual.checks.program import check, examine
from scalatrace.codegen.conceptual.errors import ErrorStage, ProgramError
from support.ncptl_programs import PROGRAMS

MEANT = [
    "ALL TASKS t COMPUTE FOR t MICROSECONDS.",
    "ALL TASKS t SEND A 4 BYTE MESSAGE TO TASKS d SUCH THAT d=t+1 /\\ t IS EVEN.",
    "TASK t+1 RECEIVES A 8 BYTE MESSAGE FROM ALL TASKS t.",
    "TASKS t SUCH THAT t>0 RECEIVE A 8 BYTE MESSAGE FROM TASK t-1.",
    "TASKS t SUCH THAT t>0 RECEIVE A 8 BYTE MESSAGE FROM TASKS s SUCH THAT s<t.",
    "TASKS t SUCH THAT t>s RECEIVE A 8 BYTE MESSAGE FROM TASKS s SUCH THAT s<2.",
    "ALL OTHER TASKS RECEIVE A 8 BYTE MESSAGE FROM TASK 0.",
    "ALL TASKS t SEND A 4 BYTE MESSAGE TO TASKS t SUCH THAT t>1.",
    "LET x BE 3 AND x BE x+1 WHILE TASK x SYNCHRONIZES.",
    "LET g BE TASKS {0,2} WHILE TASK GROUP g SENDS A 4 BYTE MESSAGE TO TASK g+1.",
    "LET g BE TASKS g SUCH THAT g<2 AND g BE TASK GROUP g WHILE TASK GROUP g SYNCHRONIZES.",
    "IF t>2 THEN { }.",
    'IF MY TASK=0 THEN TASK 0 OUTPUTS "x".',
    'TASK 0 OUTPUTS STATIC_FILE_DATA("x") AND FILE_DATA("x") AND RANDOM_POISSON(3).',
    'TASKS {STATIC_FILE_DATA("x")} SYNCHRONIZE.',
    "TASK 0 SENDS A 4 BYTE MESSAGE WITH VERIFICATION TO UNSUSPECTING TASK 1.",
    "ALL TASKS REDUCE 1 INTEGER TO AN INTEGER.",
    "LET n BE 2 AND m BE 2 WHILE ALL TASKS REDUCE n INTEGERS TO m INTEGERS.",
    *PROGRAMS.values(),
]


@pytest.mark.parametrize("source", MEANT)
def test_meant(source: str) -> None:
    assert [str(error) for error in examine(source).errors] == []


SENT = "A 4 BYTE MESSAGE"
SENSELESS = [
    (f"ALL OTHER TASKS SEND {SENT} TO TASK 0.", 1, "no task to leave out"),
    (f"TASK 0 SENDS {SENT} TO ALL TASKS.", 34, "cannot be a target"),
    (f"ALL TASKS t RECEIVE {SENT} FROM TASK 0.", 1, "cannot be a target"),
    ("TASK 0 REDUCES 3 INTEGERS TO ALL OTHER TASKS.", 30, "no task to leave out"),
    ("ALL OTHER TASKS SYNCHRONIZE.", 1, "no task to leave out"),
    ("LET g BE ALL OTHER TASKS WHILE TASK GROUP g SYNCHRONIZES.", 10, "no task to leave out"),
    ("TASK GROUP g SYNCHRONIZES.", 1, "no task group g"),
    ("ALL TASKS t SEND A t*8 BYTE MESSAGE TO TASK 0.", 20, "not known in a message specification"),
    ("ALL TASKS t MULTICAST A t BYTE MESSAGE TO ALL OTHER TASKS.", 25, "t is not bound"),
    ("TASK 0 SENDS A u BYTE MESSAGE TO TASKS u SUCH THAT u>0.", 16, "u is not bound"),
    ("TASK O RESETS ITS COUNTERS.", 6, "digit 0"),
    ("TASKS {0,1} OUTPUT t.", 20, "not bound"),
    (f"TASKS t SUCH THAT t>0 RECEIVE {SENT} FROM TASKS t SUCH THAT t=0.", 1, "two things"),
    (f"LET t BE 1 WHILE TASKS t SUCH THAT t>0 RECEIVE {SENT} FROM TASKS s SUCH THAT s=0.", 18, "two things"),
    ("FOR EACH num_tasks IN {1} ALL TASKS SYNCHRONIZE.", 1, "predeclared"),
    ("ALL TASKS bytes_sent SYNCHRONIZE.", 1, "predeclared"),
    ("LET e BE elapsed_usecs WHILE TASK e SYNCHRONIZES.", 10, "LET binding"),
    ("LET e BE RANDOM_UNIFORM(1,2) WHILE TASK e SYNCHRONIZES.", 10, "LET binding"),
    ("TASK RANDOM_UNIFORM(0,2) SYNCHRONIZES.", 6, "task description"),
    ("TASK 0 SENDS RANDOM_POISSON(1) 4 BYTE MESSAGES TO TASK 1.", 14, "message specification"),
    ('TASK 0 SENDS A FILE_DATA("x") BYTE MESSAGE TO TASK 1.', 16, "STATIC_FILE_DATA"),
    ("IF RANDOM_UNIFORM(1,2)=1 THEN ALL TASKS SYNCHRONIZE.", 4, "condition of IF"),
    ("TASK 0 OUTPUTS MY TASK.", 16, "condition of IF"),
    ("ALL TASKS REDUCE 3 BYTES.", 18, "INTEGERS or DOUBLEWORDS"),
    ("ALL TASKS REDUCE 3 INTEGERS TO 3 DOUBLEWORDS.", 32, "cannot be reduced to"),
    ("ALL TASKS REDUCE 3 INTEGERS TO 4 INTEGERS.", 32, "as many"),
    ("ALL TASKS REDUCE 3 INTEGERS WITH VERIFICATION TO TASK 0.", 29, "VERIFICATION"),
    (
        f"TASK 0 SENDS {SENT} WITH VERIFICATION TO TASK 1 WHO RECEIVES IT WITH DATA TOUCHING.",
        1,
        "VERIFICATION",
    ),
    ("TASK 0 SENDS A UNIQUE 4 BYTE MESSAGE FROM BUFFER 2 TO TASK 1.", 43, "UNIQUE"),
    ("TASK 0 SENDS A 4 BYTE WORD ALIGNED MESSAGE FROM 2 BYTES INTO BUFFER 2 TO TASK 1.", 49, "aligned"),
]


@pytest.mark.parametrize(("source", "column", "said"), SENSELESS)
def test_senseless(source: str, column: int, said: str) -> None:
    report = examine(source, "a.ncptl")
    assert report.accepts(ErrorStage.SYNTAX)
    assert not report.accepts(ErrorStage.MEANING)
    first = report.errors[0]
    assert said in first.reason
    assert (first.place.line, first.place.column) == (1, column)
    with pytest.raises(ProgramError, match=f"a.ncptl:1:{column}: "):
        check(source, "a.ncptl")


IMPOSSIBLE = [
    ("TASK 0 OUTPUTS SQRT(4,5).", "SQRT has 2 arguments; expected 1"),
    ("TASK 0 OUTPUTS TREE_CHILD(4).", "expected 2 to 3"),
    (f"TASK 0 ASYNCHRONOUSLY MULTICASTS {SENT} TO TASK 1.", "cannot be asynchronous"),
]


@pytest.mark.parametrize(("source", "said"), IMPOSSIBLE)
def test_impossible(source: str, said: str) -> None:
    report = examine(source)
    assert report.accepts(ErrorStage.MEANING)
    assert not report.accepts(ErrorStage.EXECUTION)
    assert said in report.errors[0].reason


def parameter(name: str = "n", long: str = "--n", short: str = "-n", default: str = "1") -> str:
    return f'{name} IS "N" AND COMES FROM "{long}" OR "{short}" WITH DEFAULT {default}.\n'


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (parameter(short="-N"), "no short option"),
        (parameter(short="-nn"), "no short option"),
        (parameter(long="-n"), "no long option"),
        (parameter() + parameter(long="--m", short="-m"), "variable n is declared"),
        (parameter() + parameter("m", short="-m"), "option --n is declared"),
        (parameter() + parameter("m", "--m"), "option -n is declared"),
        (parameter(default="num_tasks"), "num_tasks cannot"),
        (parameter() + parameter("m", "--m", "-m", "n"), "n is not bound"),
        (parameter("num_tasks"), "predeclared"),
    ],
)
def test_parameters(headers: str, said: str) -> None:
    assert any(said in error.reason for error in examine(headers).errors)


def test_warnings() -> None:
    source = 'REQUIRE LANGUAGE VERSION "1.4". FOR EACH i IN {1} TASKS t SUCH THAT t IS IN [0,5] SYNCHRONIZE.'
    report = examine(source)
    assert not report.errors
    texts = [note.text for note in report.notes]
    assert [text.split()[0] for text in texts] == ["this", "i", "[a,"]
    assert report.notes[1].show("a.ncptl") == "a.ncptl:1:33: warning: i is bound but never used"


def test_all_errors_are_reported_in_their_order() -> None:
    report = examine("TASK x SYNCHRONIZES.\nTASK y SYNCHRONIZES.")
    assert [error.place.line for error in report.errors] == [1, 2]


@pytest.mark.parametrize(
    "source",
    [
        "ALL TASKS t REDUCE t+1 INTEGERS.",
        "TASKS t SUCH THAT t<2 REDUCE t INTEGERS TO TASK 0.",
        "ALL TASKS REDUCE u INTEGERS TO TASKS u SUCH THAT u<2.",
    ],
)
def test_variables_of_tasks_in_reductions_are_refused_by_the_back_end_only(source: str) -> None:
    report = examine(source)
    assert [error.stage for error in report.errors] == [ErrorStage.EXECUTION]
    assert report.notes == []
    assert examine("ALL TASKS REDUCE t INTEGERS.").errors[0].stage is ErrorStage.MEANING


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("FOR EACH MsgSize IN {1,2} TASK 0 OUTPUTS MsgSzie.", "MsgSzie is not bound here; did you mean MsgSize?"),
        ("TASK 0 OUTPUTS Elapsed_usec.", "Elapsed_usec is not bound here; did you mean elapsed_usecs?"),
        ("LET Evens BE TASKS {0,2} WHILE TASK GROUP Evnes SYNCHRONIZES.", "no task group Evnes; did you mean Evens?"),
        ("TASK 0 OUTPUTS Sqrrt(4).", "there is no function Sqrrt; did you mean SQRT?"),
        ('TASK 0 LOGS THE Meadian OF 1 AS "x".', "there is no aggregate Meadian; did you mean MEDIAN?"),
        ('TASK 0 LOGS THE SUM AND THE Average OF 1 AS "x".', "there is no aggregate Average; did you mean MEAN?"),
        ("TASK 0 Snyc.", "expected"),
        ("FOR 3 Repitions ALL TASKS SYNCHRONIZE.", "unexpected 'Repitions'; did you mean REPETITIONS?"),
    ],
)  # fmt: skip
def test_unknown_names_are_shown_as_typed_and_what_may_be_meant(source: str, said: str) -> None:
    assert said in str(examine(source).errors[0])
