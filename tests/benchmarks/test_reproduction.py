"""The page of the dissertation's figures: assembly without MPI, and each study with tiny sizes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.extrapolate.cases import MICRO, TIMED
from benchmarks.generate.times import SCALABLE_CASES
from benchmarks.registry import MODULES, find_study
from benchmarks.reproduction.command import FIGURE_STUDIES, INTERRUPTED, STAND_IN_STUDIES, measure
from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRows, bars, curve
from benchmarks.reproduction.generated import COLLECTIVES, SCALABLE, TIMING
from benchmarks.reproduction.page import compared, page
from benchmarks.reproduction.settings import QUICK, Settings
from benchmarks.reproduction.sizes import SIZES
from benchmarks.reproduction.store import Results
from benchmarks.running import Pacing
from benchmarks.table import errors_within
from support.mpis import ROOT, Mpi

NO_MPI = Mpi("none", "none", Path("true"), Path("false"), None)
TINY = replace(
    QUICK,
    name="tiny",
    pacing=Pacing(sleep_us=10_000, target_s=0.05, longest_s=0.1, few_ranks=True),
    benchmark_repeat=1,
    size_ranks=[[4]],
    size_steps=(2, [3]),
    replay_ranks=[4],
    timing_ranks=[2],
    micro=[replace(MICRO[0], inputs=(2, 3, 4), target=5)],
    timed=[replace(case, inputs=(2, 3, 4), target=5) for case in TIMED if case.title == "ep"],
    scalable=[replace(case, inputs=(2, 3, 4), targets=(5,)) for case in SCALABLE_CASES if case.title == "ep"],
    computation_ranks=[4],
    scales=[1.0, 0.3, 0.0],
    collective_ranks=[2],
    collective_steps=1,
    scalable_pacing=Pacing(sleep_us=10_000, target_s=0.05, longest_s=0.1, few_ranks=True),
    only=["ring", "ep", "ft", "bt"],
)
"""The sizes of no figure: each study takes seconds."""


def figure(number: str) -> Figure:
    """A figure whose comparison shows the sum of a column."""

    def compare(rows: NamedRows) -> list[Comparison]:
        return [Comparison("x", "sum", "1", "7", "2", str(sum(int(row["bytes"]) for row in rows)))]

    return Figure(number, "Sums", "p. 1, §1", "Nothing.", compare)


def study(
    name: str, number: str, cells: Sequence[Sequence[str]], error: BaseException | None = None
) -> FigureStudy:
    """A study that yields rows and then fails."""

    def measure(mpi: Mpi, settings: Settings) -> Iterator[Sequence[str]]:
        yield from cells
        if error:
            raise error

    return FigureStudy(name, ("program", "bytes"), measure, (figure(number),))


def test_cells_become_numbers() -> None:
    row = study("a", "1.1", []).row
    assert row(["bt", "1,024"]) == {"program": "bt", "bytes": "1024"}
    assert row(["3, 4", "+1.5%"]) == {"program": "3, 4", "bytes": "1.5"}
    assert row(["-", "-2.0%"]) == {"program": "", "bytes": "-2.0"}
    assert row(["not run: 1,2", "time limit"]) == {"program": "not run: 1,2", "bytes": "time limit"}


def test_an_interrupted_run_keeps_complete_studies(tmp_path: Path) -> None:
    first, later = study("a", "1.10", [["x", "1,000"], ["y", "24"]]), study("c", "1.2", [["x", "5"]])
    stopped = study("b", "1.3", [["x", "1"]], KeyboardInterrupt())
    results = Results(tmp_path, [first, stopped, later])
    assert measure(results, NO_MPI, [first, stopped, later], TINY) == INTERRUPTED
    text = (tmp_path / "RESULTS.md").read_text()
    assert "## Figure 1.10: Sums" in text
    assert "| x | sum | 1 | 7 | 2 | 1024 |" in text
    assert "Figure 1.3" not in text
    assert "Figure 1.2" not in text
    assert measure(results, NO_MPI, [later], TINY) == 0
    text = (tmp_path / "RESULTS.md").read_text()
    assert text.index("## Figure 1.2:") < text.index("## Figure 1.10:")
    assert text.count("Machine:") == 1
    again = study("a", "1.10", [["x", "3"]], KeyboardInterrupt())
    assert measure(results, NO_MPI, [again], TINY) == INTERRUPTED
    assert results.csv(first).read_text() == "program,bytes\nx,1000\ny,24\n"


def test_rows_with_keys_are_kept_at_once(tmp_path: Path) -> None:
    stopped = replace(study("a", "1.1", [["x", "1"], ["y", "2"]], KeyboardInterrupt()), nkeys=1, real=True)
    results, some = Results(tmp_path, [stopped]), replace(TINY, only=["y"])
    assert measure(results, NO_MPI, [stopped], TINY) == INTERRUPTED
    assert "| x | sum | 1 | 7 | 2 | 3 |" in (tmp_path / "RESULTS.md").read_text()
    again = replace(study("a", "1.1", [["y", "3"], ["z", "4"]]), nkeys=1)
    assert measure(results, NO_MPI, [again], some) == 0
    assert results.csv(again).read_text() == "program,bytes\nx,1\ny,3\nz,4\n"
    nothing = replace(study("a", "1.1", []), nkeys=1)
    assert measure(results, NO_MPI, [nothing], some) == 0
    assert results.csv(again).read_text() == "program,bytes\nx,1\ny,3\nz,4\n"
    assert measure(results, NO_MPI, [again], replace(TINY, only=[])) == 0
    assert results.csv(again).read_text() == "program,bytes\ny,3\nz,4\n"


def test_a_study_that_fails_does_not_end_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, good = study("a", "1.1", [], ValueError("no such thing")), study("b", "1.2", [["x", "5"]])
    results = Results(tmp_path, [broken, good])
    assert measure(results, NO_MPI, [broken, good], TINY) == 1
    assert "failed: a" in capsys.readouterr().err
    assert "Figure 1.2" in (tmp_path / "RESULTS.md").read_text()


def test_rows_with_other_columns_are_not_shown(tmp_path: Path) -> None:
    old = study("a", "1.1", [["x", "5"]])
    assert measure(Results(tmp_path, [old]), NO_MPI, [old], TINY) == 0
    new = replace(old, columns=("program", "ranks", "bytes"))
    assert Results(tmp_path, [new]).load(new) is None


def sizes(program: str, ranks: str, steps: str, *nbytes: str) -> list[str]:
    return [program, ranks, steps, *nbytes]


def test_comparison_of_sizes() -> None:
    cells = [
        sizes("lu", "4", "10", "1,000", "750", "700", "650", "600"),
        sizes("lu", "16", "10", "2,000", "1,000", "900", "850", "800"),
        sizes("mg", "4", "10", "failed", "failed", "failed", "failed", "failed"),
        sizes("sp", "4", "10", "900", "900", "900", "failed", "time limit"),
        sizes("ocean", "16", "10", "8,000", "4,000", "2,000", "1,000", "1,000"),
        sizes("ocean", "16", "100", "80,000", "40,000", "3,000", "1,000", "1,000"),
    ]
    rows = [SIZES.row(line) for line in cells]
    found = {(line[0], line[1]): line[3:] for line in compared(SIZES.figures[0], rows)}
    assert found["LU", "smaller by the merge"] == ("28 %", "4, 16", "25 to 50 %")
    assert found["LU", "smaller by all steps"] == ("43 %", "4, 16", "40 to 60 %")
    assert found["MG", "smaller, lossless"] == ("orders of magnitude", "-", "-")
    assert found["SP", "all steps, of the size before"] == ("0.5 %", "-", "-")
    assert found["POP", "times smaller by all steps"] == ("48 to 351", "16", "8.0")
    assert found["POP", "more time steps (5.7h)"] == ("constant", "16", "x 1.50 for 10 to 100 steps")


def test_comparison_of_times() -> None:
    cells = [
        ["lu", "4", "20", "3", "1.000", "-", "-", "-", "-", "1.100", "+10.0%"],
        ["sp", "4", "20", "3", "1.000", "-", "-", "-", "-", "0.980", "-2.0%"],
        ["mg", "4", "-", "-", "not run: out of memory", *["-"] * 6],
    ]
    lines = compared(TIMING.figures[0], [TIMING.row(line) for line in cells])
    assert [line[-1] for line in lines] == ["6.0 %", "10.0 %", "2.0 %"]
    rows = [
        COLLECTIVES.row(["ft", n, "1", "1.2", longer]) for n, longer in (("4", "-1.0%"), ("32", "+20.0%"))
    ]
    assert [line[-2:] for line in compared(COLLECTIVES.figures[0], rows)] == [("-", "-"), ("32", "+20.0 %")]


def test_errors_of_long_runs_are_those_of_their_study() -> None:
    row = ["bt", "4, 9", "36", "70", "3", "1.447", "1.090", "-24.7%", *["-"] * 4]
    lines = compared(SCALABLE.figures[0], [SCALABLE.row(row)])
    found = {(line[0], line[1]): line[5] for line in lines}
    assert found["BT", "absolute error, C, short runs"] == "24.7 %"
    stored = (ROOT / "benchmarks/results/generate_scalable.md").read_text()
    cells = re.search(r"^\| bt \|.* \|$", stored, re.MULTILINE)
    assert cells is not None
    assert f" -{found['BT', 'absolute error, C'].replace(' ', '')} |" in cells[0]


def test_plots(tmp_path: Path) -> None:
    rows = [{"program": "lu", "ranks": str(n), "a_s": "1.5", "b_s": ""} for n in (4, 16)]
    bars(tmp_path / "bars.svg", rows, {"a_s": "app", "b_s": "replay"}, "Title", "seconds")
    curve(tmp_path / "curve.svg", rows, "ranks", {"a_s": "app", "b_s": "replay"}, "Title")
    text = (tmp_path / "bars.svg").read_text()
    assert "replay" in text
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")


def test_errors_of_kinds_that_were_not_measured() -> None:
    limits = {"c": 0.05, "python": 0.05}
    assert len(errors_within(limits, [["x", "1.0", "+1.0%", "-", "-"]], 2)) == 1
    assert "NO: python" in errors_within(limits, [["x", "1.0", "+1.0%", "refused", "-"]], 2)[1]
    assert all("NO" in line for line in errors_within(limits, [["x", "-", "-", "-", "-"]], 2))


def test_the_stored_page_is_that_of_the_stored_rows() -> None:
    folder = ROOT / "benchmarks"
    text = (folder / "RESULTS.md").read_text()
    assert text == page(Results(folder, FIGURE_STUDIES))
    assert sum(path.stat().st_size for path in (folder / "results" / "reproduction").iterdir()) < 500_000


def test_an_unknown_figure_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_study("reproduction").measure(["--only", "9.9"]) == 2
    assert "5.7" in capsys.readouterr().err


def test_the_registry_names_the_studies_of_each_module() -> None:
    for module, names in MODULES.items():
        assert [study.name for study in import_module(f"benchmarks.{module}").STUDIES] == list(names)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("chosen", STAND_IN_STUDIES, ids=lambda chosen: chosen.name)
def test_each_study_with_tiny_sizes(
    openmpi: Mpi, chosen: FigureStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rows of a busy machine have no plot.
    monkeypatch.setattr("benchmarks.reproduction.command.Busy.others", lambda clock: 0.0)
    assert measure(Results(tmp_path, FIGURE_STUDIES), openmpi, [chosen], TINY) == 0
    store = Results(tmp_path, FIGURE_STUDIES)
    with store.csv(chosen).open() as file:
        rows = list(csv.DictReader(file))
    assert rows
    text = (tmp_path / "RESULTS.md").read_text()
    assert "not run" not in text
    assert "failed" not in text
    for shown in chosen.figures:
        mine = shown.rows(rows)
        assert (f"## Figure {shown.number}: {shown.title}" in text) == bool(mine)
        assert store.plot(chosen, shown).exists() == bool(shown.plot and mine)
    measured = [c for c in chosen.columns if c.endswith(("_s", "_bytes", "differing_ranks"))]
    assert all(any(row[column] for column in measured) for row in rows)
