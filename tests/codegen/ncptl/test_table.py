"""Tables of the log, and the command line of programs."""

from __future__ import annotations

import pytest

from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.run.options import parse_options, usage
from scalatrace.codegen.conceptual.run.table import LogTable, Varies, aggregate, number, quote_cell
from scalatrace.errors import UsageError

VALUES = [4.0, 1.0, 9.0, 2.0]


@pytest.mark.parametrize(
    ("function", "value"),
    [("MEAN", 4), ("HARMONIC MEAN", 2.1492537313), ("GEOMETRIC MEAN", 2.9129506302), ("MEDIAN", 3), ("SUM", 16),
     ("STANDARD DEVIATION", 3.559026084), ("VARIANCE", 12.6666666667), ("MEDIAN ABSOLUTE DEVIATION", 1.5),
     ("MINIMUM", 1), ("MAXIMUM", 9), ("FINAL", 2)],
)  # fmt: skip
def test_aggregates(function: str, value: float) -> None:
    assert aggregate(function, VALUES) == pytest.approx(value)


def test_percentiles() -> None:
    values = [float(n) for n in range(1, 11)]
    assert [aggregate("PERCENTILE", values, p) for p in (0, 10, 50, 95, 100)] == [1, 1, 5, 10, 10]


def test_single_values_have_no_spread() -> None:
    assert aggregate("STANDARD DEVIATION", [3.0]) == aggregate("VARIANCE", [3.0]) == 0


def test_numbers_and_strings() -> None:
    assert [number(n) for n in (3.0, -2.0, 22 / 7, 1e18, 2.0**40)] == [
        "3",
        "-2",
        "3.142857143",
        "1e+18",
        "1099511627776",
    ]
    assert quote_cell('a "b" \\') == '"a \\"b\\" \\\\"'


def test_columns_of_all_kinds() -> None:
    table = LogTable()
    for value in VALUES:
        table.add("a", "A", "", (), value)
        table.add("b", "B", "OF", [("MEAN", 0.0), ("PERCENTILE", 50.0)], value)
        table.add("c", "C", "THE", (), 7.0)
        table.add("d", "D", "HISTOGRAM", (), value > 2)
    assert table.lines() == [
        '"A","B","B","C","D","D"',
        '"(all data)","(mean)","(50th percentile)","(only value)","(hist. values)","(hist. tallies)"',
        "4,4,2,7,0,2",
        "1,,,,1,2",
        "9,,,,,",
        "2,,,,,",
    ]


def test_computing_aggregates_begins_new_rows() -> None:
    table = LogTable()
    for size in (1, 2):
        for n in range(2):
            table.add("a", "size", "THE", (), float(size))
            table.add("b", "sum", "OF", [("SUM", 0.0)], float(n + size))
        table.collapse()
    assert table.lines()[2:] == ["1,3", "2,5"]


def test_the_value_must_not_vary() -> None:
    table = LogTable()
    table.add("a", "A", "THE", (), 7.0)
    with pytest.raises(Varies, match="7, then 8"):
        table.add("a", "A", "THE", (), 8.0)


def test_an_empty_table() -> None:
    assert LogTable().lines() == []


PROGRAM = check(
    'reps IS "How often" AND COMES FROM "--reps" OR "-r" WITH DEFAULT 2*5. TASK reps OUTPUTS reps.'
)


def test_options() -> None:
    for words in (["--reps", "2K"], ["--reps=2K"], ["-r", "2048"], ["-r2K"]):
        assert parse_options(PROGRAM, words).parameters == {"reps": 2048}
    found = parse_options(PROGRAM, ["-C", "one", "--comment=two", "-L", "x-%p.log", "-N", "14", "-r", "-3"])
    assert (found.comments, found.logfile, found.parameters) == (["one", "two"], "x-%p.log", {"reps": -3})
    assert parse_options(PROGRAM, ["-?"]).help


@pytest.mark.parametrize("words", [["--nope"], ["-r"], ["-r", "x"], ["-r", "1.5"], ["-r", "5 6"], ["word"]])
def test_wrong_options(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_options(PROGRAM, words)


def test_usage_lists_everything() -> None:
    text = usage(PROGRAM, "a.ncptl")
    assert "-r, --reps=<number>" in text
    assert "How often [default: 10]" in text
    assert all(f"-{letter}, --" in text for letter in "CLN?")
