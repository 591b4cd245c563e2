"""What is a program and what is not, statement by statement, with the place where it goes wrong."""

from __future__ import annotations

import pytest

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.errors import CompileStage, Note, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.names import children
from scalatrace.codegen.conceptual.parser.parse import parse


def only(source: str) -> t.Statement:
    """The one statement of a program."""
    (sentence,) = parse(source).sentences
    (statement,) = sentence.statements
    return statement


def shown(expression: str) -> t.Item:
    statement = only(f"TASK 0 OUTPUTS {expression}.")
    assert isinstance(statement, t.Output)
    return statement.items[0]


ACCEPTED = [
    "TASK 0 SENDS A MESSAGE TO TASK 1",
    "ALL TASKS ARE ASSIGNED TO A RANDOM PROCESSOR",
    "TASKS {0,2},{4,...,9} ASYNCHRONOUSLY SEND AN 8 BYTE MESSAGE TO TASK 1",
    "TASK 0 SENDS 5 UNIQUE 64 BIT UNALIGNED MESSAGES WITHOUT VERIFICATION USING TAG \"a\" FROM THE DEFAULT BUFFER "
    "TO TASK 1 WHO RECEIVES THEM INTO 4 BYTES INTO BUFFER 2",
    "TASK 0 RECEIVES A 8 BYTE PAGE ALIGNED MESSAGE FROM TASK 1",
    "TASK 0 RECEIVES AN UNALIGNED MESSAGE FROM TASK 1",
    "TASK 0 REDUCES A 64 BYTE ALIGNED DOUBLEWORD TO TASK 1 WHO RECEIVES THE RESULT AS AN INTEGER INTO BUFFER 3",
    "TASK 0 REDUCES 3 INTEGERS TO 3 INTEGERS",
    "ALL TASKS AWAIT COMPLETIONS",
    "ALL TASKS SYNCHRONIZE",
    "TASK 0 SLEEPS FOR 1 DAY",
    "TASK 0 COMPUTES FOR 1 IF 2=2 OTHERWISE 3 HOURS",
    "TASK 0 TOUCHES A MEMORY REGION",
    "TASK 0 LOGS THE 95TH PERCENTILE AND THE MEAN x AS THE VALUE OF \"y\" AND A HISTOGRAM OF THE z AS \"\"",
    "TASK 0 BACKEND EXECUTES \"f(\" AND 1 AND \");\"",
    "ASSERT THAT \"so\" WITH (1=1) \\/ 2 IS NOT IN {1}, {3, 5, ..., 9}",
    "FOR EACH i IN {1, ..., 3}, {x FOR EACH x IN {1} WHERE x IS ODD} { }",
    "FOR 5 REPETITIONS PLUS 2 WARMUP REPETITIONS AND A SYNCHRONIZATION ALL TASKS SYNCHRONIZE",
    "FOR 5 SECONDS PLUS 1 WARMUP MINUTE ALL TASKS SYNCHRONIZE",
    "LET g BE TASKS t SUCH THAT t IS IN [0, 2] AND r BE A RANDOM TASK OTHER THAN 3 WHILE { }",
    "IF 1=1 THEN { } OTHERWISE IF 2=2 THEN { { } THEN { } }",
    "TASK 0 OUTPUTS FILE_DATA(\"x\",1,2,\",\",\";\") AND MESH_NEIGHBOR((4,3*),5,(1,-1))",
]  # fmt: skip


@pytest.mark.parametrize("source", ACCEPTED)
def test_accepted(source: str) -> None:
    assert parse(source + ".") == parse(source)  # the full stop is optional
    assert parse(source.lower().replace('"so"', '"so"')) == parse(source)


REJECTED = [
    ("TASK 0 SENDS 64 BYTE MESSAGE TO TASK 1.", 22, "'MESSAGE'"),
    ("TASK 0 SENDS A 5 64 BYTE MESSAGE TO TASK 1.", 18, "expected a unit of size"),
    ("TASK 0 SENDS A 8 BYTE MESSAGE TO TASK 1 USING TAG 5.", 41, "'USING'"),
    ("TASK 0 SENDS A 8 BYTE MESSAGE TO UNSUSPECTING TASK 1 WHO RECEIVES IT ASYNCHRONOUSLY.", 54, "'WHO'"),
    ("TASK 0 SENDS A 8 BYTE MESSAGE TO TASK 1 WHO RECEIVES IT.", 56, "expected"),
    ("TASK 1 RECEIVES A 64 BYTE ALIGNED MESSAGE FROM TASK 0.", 27, "'ALIGNED'"),
    ("TASK 0 MULTICASTS A 8 BYTE MESSAGE TO TASK 1 WHO RECEIVES IT INTO BUFFER 1.", 46, "'WHO'"),
    ("ALL TASKS ASYNCHRONOUSLY REDUCE 3 INTEGERS.", 26, "expected MULTICAST, RECEIVE or SEND"),
    ("ALL TASKS REDUCE A 3 BYTE MESSAGE.", 27, "expected ALIGNED or MISALIGNED"),
    ("ALL TASKS ASYNCHRONOUSLY SYNCHRONIZE.", 26, "'SYNCHRONIZE'"),
    ("ALL TASKS AWAIT.", 16, "expected COMPLETION"),
    ("ALL TASKS COMPUTE FOR 12 NANOSECONDS.", 26, "MICROSECONDS are the shortest"),
    ("TASK 0 TOUCHES 5 WORDS OF MEMORY.", 27, "expected A"),
    ("TASK 0 LOGS 5.", 14, "expected"),
    ("TASK 0 RESETS ALL COUNTERS.", 15, "expected ITS"),
    ("TASK 0 OUTPUTS 3 * * 2.", 20, "expected an expression"),
    ("TASK 0 OUTPUTS 2MEGABYTE.", 18, "leave a space before MEGABYTE"),
    ("TASK 0 BACKEND DECLARES 5.", 16, "expected EXECUTE"),
    ("TASK 0 IS ASSIGNED TO 3.", 23, "expected A or PROCESSOR"),
    ("ASSERT THAT 1=1.", 13, "expected a string"),
    ("FOR EACH min IN {1,2} ALL TASKS SYNCHRONIZE.", 10, "'MIN' is a reserved word"),
    ("FOR EACH i IN {1,2}, j IN {3} { }", 22, 'expected "{"'),
    ("FOR 5 REPETITIONS AND A SYNCHRONIZATION { }", 19, "'AND'"),
    ("LET x BE 5 { }", 12, "expected"),
    ("IF t>0 AND t<3 THEN { }", 8, '"/\\"'),
    ("IF 1=1 THEN { } ELSE { }", 17, "the word is OTHERWISE"),
    ("{ ALL TASKS SYNCHRONIZE THEN }", 30, "expected a statement"),
    ("ALL TASKS SYNCHRONIZE..", 23, "expected a statement or the end"),
    ("ALL TASKS SYNCHRONIZE THEN.", 27, "expected a statement"),
    ("TASKS t SUCH THAT t IS IN {0,...,5,7} SYNCHRONIZE.", 35, 'expected "}"'),
    ("TASKS t SUCH THAT t IS IN {} SYNCHRONIZE.", 28, "expected an expression"),
    ("TASKS t SUCH THAT t IN {0} SYNCHRONIZE.", 21, "'IN'"),
    ("ALL TASKS t SUCH THAT t=0 SYNCHRONIZE.", 13, "'SUCH'"),
    ("ALL TASKS SYNCHRONIZE. REQUIRE LANGUAGE VERSION \"1.5\".", 24, "expected a statement"),
    ("TASK 0 OUTPUTS MESH_NEIGHBOR((4,3),5,(1)).", 39, "as many"),
    ("TASK 0 OUTPUTS 'single'.", 16, "double quotes"),
    ("TASK 0 OUTPUTS \"open.", 16, "not closed"),
    ("TASK 0 OUTPUTS 1;2.", 17, "full stop"),
    ("TASK 0 OUTPUTS 99999999999999999999.", 16, "64 bits"),
    ("TASK 0 OUTPUTS", 15, "ends too early"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "column", "said"), REJECTED)
def test_rejected_where_and_why(source: str, column: int, said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse("# a comment first\n  " + source, "some.ncptl")
    error = caught.value
    assert (error.stage, error.place) == (CompileStage.SYNTAX, SourcePlace(2, column + 2))
    assert said in error.reason
    assert str(error).startswith(f"some.ncptl:2:{column + 2}: ")


@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("1K", 1024), ("2m", 2 << 20), ("1G", 1 << 30), ("1T", 1 << 40), ("3E4", 30000), ("95TH", 95),
     ("1st", 1), ("2nd", 2), ("3rd", 3), ("5th", 5)],
)  # fmt: skip
def test_numbers(text: str, value: int) -> None:
    assert shown(text) == t.Integer(value)


def test_a_number_takes_the_letters_it_can() -> None:
    assert only("TASK 0 SENDS A 64KBYTE MESSAGE TO TASK 1.") == only(
        "TASK 0 SENDS A 64K BYTE MESSAGE TO TASK 1."
    )


def test_strings() -> None:
    notes: list[Note] = []
    program = parse(
        'TASK 0 OUTPUTS "a\\"b\\\\c\\n" AND "x # y" AND "l\\\nm" AND "two\nlines" AND "bad\\q".', "", notes
    )
    (statement,) = program.sentences[0].statements
    assert isinstance(statement, t.Output)
    assert statement.items == ('a"b\\c\n', "x # y", "lm", "two\nlines", "bad")
    assert [note.text for note in notes] == ['there is no escape "\\q"; it is left out']


def test_a_hyphen_before_a_word_vanishes() -> None:
    four = t.FunctionCall("SQRT", (t.Integer(4),))
    assert shown("-SQRT(4)") == four
    assert shown("0-(SQRT(4))") == shown("-(SQRT(4))") == t.BinaryOperation("-", t.Integer(0), four)
    assert shown("10-num_tasks") == t.BinaryOperation("-", t.Integer(10), t.Variable("num_tasks"))
    with pytest.raises(ProgramError):
        parse("TASK 0 SENDS A 2 -- MEGABYTE MESSAGE TO TASK 1.")


def test_precedence() -> None:
    assert shown("-2**2") == t.Unary("-", t.BinaryOperation("**", t.Integer(2), t.Integer(2)))
    assert shown("2**3**2") == t.BinaryOperation(
        "**", t.Integer(2), t.BinaryOperation("**", t.Integer(3), t.Integer(2))
    )
    assert shown("10-4-3") == t.BinaryOperation(
        "-", t.BinaryOperation("-", t.Integer(10), t.Integer(4)), t.Integer(3)
    )
    assert shown("1|2&3") == t.BinaryOperation(
        "|", t.Integer(1), t.BinaryOperation("&", t.Integer(2), t.Integer(3))
    )
    inner = t.Conditional(t.Integer(3), t.NumberComparison("=", t.Integer(4), t.Integer(4)), t.Integer(5))
    assert shown("1 IF 2=2 OTHERWISE 3 IF 4=4 OTHERWISE 5") == t.Conditional(
        t.Integer(1), t.NumberComparison("=", t.Integer(2), t.Integer(2)), inner
    )


def test_then_ends_an_if_and_otherwise_is_the_nearest() -> None:
    program = parse('IF 1=1 THEN TASK 0 OUTPUTS "a" THEN TASK 0 OUTPUTS "b".')
    assert [type(statement) for statement in program.sentences[0].statements] == [t.If, t.Output]
    outer = only('IF 1=1 THEN IF 2=2 THEN TASK 0 OUTPUTS "a" OTHERWISE TASK 0 OUTPUTS "b".')
    assert isinstance(outer, t.If)
    assert outer.otherwise is None


def test_sentences_and_headers() -> None:
    program = parse(
        'REQUIRE LANGUAGE VERSION "1.5"\nn ARE "N" AND COMES FROM "--n" OR "-n" WITH DEFAULT 3.\n{ } { }.'
    )
    assert program.headers == (t.Version("1.5"), t.ProgramParameter("n", "N", "--n", "-n", t.Integer(3)))
    assert len(program.sentences) == 2
    assert parse("") == t.ProgramTree()


def test_places_of_nodes_are_not_compared() -> None:
    one, two = parse("ALL TASKS SYNCHRONIZE."), parse("\n\n   ALL TASKS\nSYNCHRONIZE")
    assert one == two
    assert two.sentences[0].place == SourcePlace(3, 4)


def test_every_node_has_a_place() -> None:
    def missing(node: t.SyntaxNode) -> list[t.SyntaxNode]:
        return [node] * (node.place.line == 0) + [bad for child in children(node) for bad in missing(child)]

    for source in ACCEPTED:
        assert missing(parse(source)) == []


def test_deep_nesting_is_an_error_of_the_program() -> None:
    with pytest.raises(ProgramError, match="nested too deeply"):
        check("TASK 0 OUTPUTS " + "(" * 5000 + "1" + "+1)" * 5000)
