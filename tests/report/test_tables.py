"""Tables as text and for scripts, from one declaration of columns."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.text import Text

from scalatrace.report import columns
from scalatrace.report.predictions import columns as predicted_columns
from scalatrace.report.style import SiteText, cell, fit_columns, text_table
from scalatrace.report.tables import CommandTable, TableColumn

DECLARED = {
    name: table
    for module in (columns, predicted_columns)
    for name, table in vars(module).items()
    if isinstance(table, CommandTable)
}

TIMES = CommandTable(
    "call",
    (
        TableColumn("operation", "operation", "operation", "without MPI_"),
        TableColumn("mpi_ns", "MPI time", "ns", "in the call", whole=True),
        TableColumn("of_all", "of all", "share", derived=True, min_width=100),
        TableColumn("note", meaning="for scripts"),
    ),
)
ROW = {"operation": "Send", "mpi_ns": 52.3, "of_all": (1, 8)}


@pytest.mark.parametrize("name", DECLARED)
def test_columns_of_a_table_differ(name: str) -> None:
    table = DECLARED[name]
    names = [column.name for column in table.columns]
    headings = [column.heading for column in table.columns if column.heading is not None]
    assert len(set(names)) == len(names)
    assert len(set(headings)) == len(headings)
    assert all(c.heading is not None or c.page_heading for c in table.columns if c.derived)


def test_scripts_get_values_and_text_gets_units() -> None:
    assert TIMES.plain(ROW) == {"operation": "Send", "mpi_ns": 52, "note": None}
    assert [list(line) for line in TIMES.csv([ROW])] == [["operation", "mpi_ns", "note"], ["Send", 52, None]]
    drawn = text_table(TIMES, [ROW])
    assert [list(column.cells) for column in drawn.columns[1:]] == [["52.3 ns"], ["12.5 %"]]
    assert [column.justify for column in drawn.columns] == ["left", "right", "right"]


def test_the_help_lists_what_scripts_get() -> None:
    assert TIMES.help().splitlines() == [
        "columns of --csv, a row per call:",
        "  operation  without MPI_",
        "  mpi_ns     in the call",
        "  note       for scripts",
    ]


def test_estimates_have_few_digits() -> None:
    exact, estimate = TIMES.columns[1], TIMES.estimated("mpi_ns").columns[1]
    assert (cell(exact, 156.6e6), cell(estimate, 156.6e6)) == ("156.6 ms", "157 ms")


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), ("one value", "one value"), (Text("x"), Text("x"))]
)
def test_texts_and_unknown_values(value: object, shown: object) -> None:
    assert cell(TIMES.columns[1], value) == shown


@pytest.mark.parametrize(("width", "hidden"), [(99, ["of all"]), (100, [])])
def test_narrow_terminals_get_fewer_columns(width: int, hidden: list[str]) -> None:
    console = Console(width=width, force_terminal=True)
    assert fit_columns(TIMES, console)[1] == hidden


SITES = CommandTable(
    "call",
    (
        TableColumn("operation", "operation", "operation"),
        TableColumn("call site", "call site", "site"),
        TableColumn("mpi_ns", "MPI time", "ns"),
    ),
)


@pytest.mark.parametrize("width", [36, 44, 60])
def test_lines_of_call_sites_end_before_separators(width: int) -> None:
    site = "src/solver/halo_exchange.cpp:91:solver::exchange"
    console = Console(width=width, force_terminal=True, color_system=None)
    with console.capture() as capture:
        row = {"operation": "Allreduce_init", "call site": site, "mpi_ns": 5e6}
        console.print(text_table(SITES, [row]))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    below = lines[1 + next(i for i, line in enumerate(lines) if "───" in line) : -1]
    shown = [line[17:].removesuffix("5 ms ").strip() for line in below]
    assert "Allreduce_init" in below[0]
    for line in shown[1:]:
        assert line[0] in ":/"
    text = "".join(shown)
    if "…" not in text:
        assert text == "halo_exchange.cpp:91:solver::exchange"


def test_long_names_of_call_sites_are_cut_in_their_middle() -> None:
    console = Console(width=80)
    lines = SiteText("GenerateProblem_ref.cpp:196:GenerateProblem_ref").wrap(console, 16)
    assert [line.plain for line in lines] == ["Generate…ref.cpp", ":196", ":Generat…lem_ref"]
    assert [line.plain for line in SiteText("a.c:1:f").wrap(console, 16)] == ["a.c:1:f"]
