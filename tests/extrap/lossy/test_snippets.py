"""Event snippets: the language, with errors that say where and what is expected, and its machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.errors import FormatError, TextError
from scalatrace.extrap.lossy.snippets.machine import Edge, Machine, MachineRun
from scalatrace.extrap.lossy.snippets.parse import load, parse
from scalatrace.extrap.lossy.snippets.tree import Alternatives, CallSequence, Distance, Range, Repetition
from scalatrace.formula import parse_number
from scalatrace.trace.values.vec import PROC_NULL
from support.snippets import EXAMPLE


def test_a_file_of_everything(tmp_path: Path) -> None:
    path = tmp_path / "halo.snippets"
    path.write_text(EXAMPLE)
    found = load(path)
    (halo,) = found.snippets
    assert (halo.name, halo.weight) == ("halo", 3)
    receives, sends, waits, last = halo.body.items
    assert isinstance(receives, Repetition)
    assert (receives.low, receives.high) == (2, 2)
    assert [type(test) for test in receives.item.tests] == [Distance, Range]  # type: ignore[union-attr]
    assert isinstance(sends, Alternatives)
    assert isinstance(sends.choices[1], CallSequence)
    assert isinstance(waits, Repetition)
    assert (waits.low, waits.high) == (0, None)
    assert str(last) == "at_least"
    assert found.keep[0].tests[0].low == PROC_NULL  # type: ignore[union-attr]
    assert found.drop[0].site == "app.py:7"
    assert found.drop[0].tests[0].low == parse_number("P - 1")  # type: ignore[union-attr]


def test_nothing_is_a_file_too() -> None:
    assert parse("# nothing\n").snippets == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("snippet {", 1, 9, "unexpected '{'; expected a name"),
        ("snippet x {\n  Send", 2, 7, "the text ends; expected"),
        ("keep Send(tag)", 1, 14, "expected =, in or ~"),
        ("keep Send(tag = )", 1, 17, "expected PROC_NULL or the like, a formula in [ ] or a number"),
        ("snippet x { either { Send } }", 1, 29, "unexpected '}'; expected or"),
        ("keep Send\nfoo", 2, 1, "unexpected 'foo'; expected drop, keep, snippet or the end"),
        ("snippet x { Send ! }", 1, 18, "unexpected '!'; expected"),
        ("snippet x { Send * 3..2 }", 1, 18, "3 to 2 times"),
        ("snippet x { Send * 0 }", 1, 18, "0 to 0 times"),
        ("snippet x { Send ? }", 1, 1, "may be empty"),
        ("snippet x { }", 1, 1, "may be empty"),
        ("snippet x weight 0 { Send }", 1, 11, "a weight of 0"),
        ("snippet x { Send * 5000 }", 1, 1, "names 5,000 calls"),
        ("keep Send(tag = [1 +])", 1, 17, "not a formula"),
        ("snippet x " + "{" * 5000 + "Send" + "}" * 5000, 1, 1, "nested too deeply"),
    ],
)
def test_errors_say_where_and_what(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(TextError, match=re.escape(reason)) as error:
        parse(text, "x.snippets")
    assert (error.value.line, error.value.column) == (line, column)
    assert str(error.value).startswith(f"x.snippets:{line}:{column}: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot read"):
        load(tmp_path / "none")


def machine(text: str) -> Machine:
    return Machine(parse(text).snippets)


def test_the_machine_of_a_simple_snippet() -> None:
    """Figure 3.7: START, a state per pending call, ACCEPT; whatever is not an edge leads to ERROR."""
    assert list(machine("snippet s { Irecv Send(dest = 1) Wait }").edges()) == [
        Edge("START", "Irecv", "1"),
        Edge("1", "Send(dest = 1)", "2"),
        Edge("2", "Wait", "ACCEPT 3"),
    ]


def test_the_machine_of_a_loop_comes_back() -> None:
    assert list(machine("snippet s { Send { Recv Wait } * }").edges()) == [
        Edge("START", "Send", "ACCEPT 1"),
        Edge("ACCEPT 1", "Recv", "2"),
        Edge("2", "Wait", "ACCEPT 3"),
        Edge("ACCEPT 3", "Recv", "2"),
    ]


def run(text: str, stream: str) -> tuple[list[str], str]:
    """What is accepted and dropped of calls A, B, ... (one letter each); capitals X Y Z are collectives."""
    made = machine(text)
    ops = [test.op for test in made.tests]
    at_work = MachineRun(made)
    for number, letter in enumerate(stream):
        fits = frozenset(i for i, op in enumerate(ops) if op == letter)
        at_work.feed(number, fits, letter in "XYZ")
    at_work.end()
    accepted = ["".join(stream[i] for i in one.calls) for one in at_work.accepted]
    return accepted, "".join(stream[i] for i in sorted(at_work.dropped))


@pytest.mark.parametrize(
    ("text", "stream", "accepted", "dropped"),
    [
        ("snippet s { A B C }", "ABCABC", ["ABC", "ABC"], ""),
        ("snippet s { A B C }", "ABDABC", ["ABC"], "ABD"),  # what was pending goes, and the intruder
        ("snippet s { A B C }", "AABC", ["ABC"], "A"),  # the intruder may begin anew
        ("snippet s { A B C }", "XABCX", ["ABC"], ""),  # collectives are accepted by themselves
        ("snippet s { A B C }", "ABXC", [], "ABC"),  # but end what is pending
        ("snippet s { A X B }", "AXB", ["AXB"], ""),  # unless they are expected
        ("snippet s { A B }", "CABA", ["AB"], "CA"),  # nothing completes the last one
        ("snippet s { A B * }", "ABBBC", ["ABBB"], "C"),
        ("snippet s { A { B C } * }", "ABCBD", ["ABC"], "BD"),  # what was accepted is safe from ERROR
        ("snippet s { A B * 1..2 }", "ABBB", ["ABB"], "B"),
        ("snippet s { A ? B }", "ABB", ["AB", "B"], ""),
        ("snippet s { either { A } or { B C } D }", "ADBCDBD", ["AD", "BCD"], "BD"),
        ("snippet s { A B } snippet t { A C }", "ABACAD", ["AB", "AC"], "AD"),
    ],
)
def test_what_is_accepted(text: str, stream: str, accepted: list[str], dropped: str) -> None:
    assert run(text, stream) == (accepted, dropped)


@given(st.text("ABCX", max_size=40))
def test_accepted_and_dropped_calls_are_all_but_collectives(stream: str) -> None:
    accepted, dropped = run("snippet s { A B * either { C } or { B A } ? C }", stream)
    assert all(re.fullmatch("AB*(C|BA)?C", one) for one in accepted)
    assert sorted("".join(accepted) + dropped) == sorted(stream.replace("X", ""))
