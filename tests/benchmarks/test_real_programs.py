"""Real programs of the reproduction: sources, builds, refusals and limits, with tiny sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.registry import find_study
from benchmarks.reproduction.page import page
from benchmarks.reproduction.real import measured
from benchmarks.reproduction.real.figures import REAL_STUDIES, SIZES, STRONG
from benchmarks.reproduction.real.programs import FIXED, LOSSY, WEAK, RealProgram, mg_grid
from benchmarks.reproduction.real.suites import NO_SOURCES, BuildError, Lulesh, Npb, find_fortran_mpi
from benchmarks.reproduction.real.workshop import MAX_NOTE, StepError, Workshop, shorten
from benchmarks.reproduction.store import Results, StudyRun
from scalatrace.errors import UsageError
from support.mpis import Mpi

FOLDERS = ("BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP", "config", "sys")
MAKEFILE = """\
include config/make.def
ep:
\t@echo compiling EP with $(MPICC)
\tprintf '#!/bin/sh\\necho $(CLASS)\\n' > bin/ep.$(CLASS).x
ft:
\t@echo 'ft.f90:3: Error: no such thing' >&2; exit 1
cg:
\t@true
"""
PROGRAM = RealProgram("NPB", "ep", "S", (2, 3), 4)


@pytest.fixture
def npb(tmp_path: Path) -> Path:
    """Sources with the layout of NPB 3.4, whose make writes shell scripts."""
    root = tmp_path / "npb" / "NPB3.4-MPI"
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    (root / "EP" / "ep.f90").write_text("program ep\nend program\n")
    (root / "EP" / "Makefile").write_text("all:\n")
    (root / "Makefile").write_text(MAKEFILE)
    return root.parent


@pytest.fixture
def mpi(tmp_path: Path) -> Mpi:
    """An MPI whose launcher fails, and whose compilers are not started."""
    for name in ("mpicc", "mpifort", "mpicxx", "mpiexec"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'scalatrace: no MPI' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    return Mpi("fake", "openmpi", tmp_path / "mpiexec", tmp_path / "mpicc", None)


@pytest.fixture
def workshop(npb: Path, mpi: Mpi, tmp_path: Path) -> Workshop:
    """A workshop with the tiny sources."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Workshop(mpi, {"NPB": Npb(npb)}, folder, 5)


def test_sources_are_copied_and_built(npb: Path, mpi: Mpi, tmp_path: Path) -> None:
    before = sorted(npb.rglob("*"))
    suite = Npb(npb)
    binary = suite.build(mpi, "ep", "W", tmp_path)
    assert binary.read_text() == "#!/bin/sh\necho W\n"
    assert f"MPIFC = {tmp_path / 'mpifort'}" in (tmp_path / "NPB/config/make.def").read_text()
    assert suite.count_lines("ep") == 2
    assert sorted(npb.rglob("*")) == before


def test_a_build_that_fails_names_the_first_error(npb: Path, mpi: Mpi, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"ft, class S: not built: ft\.f90:3: Error: no such thing"):
        Npb(npb).build(mpi, "ft", "S", tmp_path)
    with pytest.raises(BuildError, match="cg, class S: not built"):
        Npb(npb).build(mpi, "cg", "S", tmp_path)


def test_folders_without_sources_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no sources of NPB: expected BT, .* see benchmarks/README\.md"):
        Npb(tmp_path)
    with pytest.raises(UsageError, match="no sources of LULESH"):
        Lulesh(tmp_path / "missing")


def test_a_missing_fortran_compiler_is_a_usage_error(
    tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpifort").unlink()
    monkeypatch.setattr("benchmarks.reproduction.real.suites.installed", lambda: {"fake": mpi})
    with pytest.raises(UsageError, match=r"fake has no mpifort.*apt install gfortran"):
        find_fortran_mpi(tmp_path)


def test_a_folder_without_sources_ends_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find_study("reproduction").measure(["--npb", str(tmp_path), "--output", str(tmp_path)]) == 2
    assert "no sources of NPB" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_sources_the_stand_ins_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[str] = []
    monkeypatch.setattr("benchmarks.reproduction.command.find_mpi", lambda: None)
    monkeypatch.setattr(
        "benchmarks.reproduction.command.measure",
        lambda results, mpi, studies, settings: chosen.extend(s.name for s in studies) or 0,
    )
    assert find_study("reproduction").measure(["--quick", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{NO_SOURCES}\n"
    assert "trace_sizes" in chosen
    assert not {study.name for study in REAL_STUDIES} & set(chosen)


def test_refusals_and_failed_builds_are_rows(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = (
        PROGRAM,
        RealProgram("NPB", "ft", "S", (2, 3), 4),
        RealProgram("LULESH", "lulesh", "", (8,), 27),
    )
    rows = [STRONG.row(cells) for cells in measured.extrapolated_rows(programs, workshop)]
    assert [row["program"] for row in rows] == ["ep", "ft"]
    assert rows[0]["note"] == "record ep.S on 2 ranks: no MPI"
    assert rows[1]["note"] == "ft, class S: not built: ft.f90:3: Error: no such thing"


def test_a_step_over_the_limit_is_a_row(workshop: Workshop) -> None:
    quick = Workshop(workshop.mpi, workshop.suites, workshop.folder, 0.2)
    workshop.mpi.mpiexec.write_text("#!/bin/sh\nexec sleep 20\n")
    with pytest.raises(StepError, match=r"^over the limit of 0\.2 s: record ep\.S on 2 ranks$"):
        quick.recorded(PROGRAM, 2)
    with pytest.raises(StepError, match="over the limit"):  # not tried again
        quick.recorded(PROGRAM, 2)


def test_a_run_gets_its_input_file(workshop: Workshop) -> None:
    program = next(p for p in WEAK if p.title == "bt" and p.scaling == "weak")
    assert program.input_file is not None
    assert program.input_file(16) == ("inputbt.data", "10\n0.0008\n16 16 16\n")
    lossy = LOSSY[1]
    assert lossy.input_file is not None
    assert lossy.input_file(16) == ("mg.input", "6\n32 32 64\n2\n0 0 0 0 0 0 0 0\n")
    assert "4x2x2" in lossy.loss_options()[4]


@pytest.mark.parametrize(
    ("nprocs", "grid"), [(4, (2, 2, 1)), (8, (2, 2, 2)), (16, (4, 2, 2)), (32, (4, 4, 2))]
)
def test_grids_of_mg(nprocs: int, grid: tuple[int, ...]) -> None:
    assert mg_grid(nprocs) == grid


def test_notes_are_one_line_without_folders() -> None:
    assert shorten("a\n  b /tmp/x/y.st") == "a b y.st"
    assert len(shorten("x " * 1000)) == MAX_NOTE


def extrapolated(program: str, note: str = "", **cells: str) -> list[str]:
    known = {
        "program": program,
        "class": "W",
        "scaling": "strong",
        "inputs": "4, 9",
        "ranks": "36",
        "note": note,
    }
    return [{**known, **cells}.get(column, "-") for column in measured.EXTRAPOLATED_COLUMNS]


def test_the_page_shows_real_programs_before_stand_ins(tmp_path: Path) -> None:
    exact = {"differing_ranks": "0", "calls": "equal", "bytes": "equal", "replay_differing_ranks": "0"}
    cells = [
        extrapolated("bt", **exact, app_s="1.000", replay_s="0.900", error_pct="-10.0%"),
        extrapolated("is", "no formula found"),
    ]
    lossy = extrapolated("mg", lossy="yes", kept_sends_pct="90.00%", kept_calls_pct="80.00%")
    results = Results(tmp_path, REAL_STUDIES)
    run = StudyRun("2026-01-01", "real", 1.0, 0.0, {"cores": "2"})
    results.save(STRONG, [STRONG.row(line) for line in cells], run)
    results.save(
        next(study for study in REAL_STUDIES if study.name == "real_lossy"), [STRONG.row(lossy)], run
    )
    text = page(results)
    theirs = "not in the text | all but BT, of the stencils and six programs"
    assert f"| 3.9 | all: rows with equal calls and totals | {theirs} | 36 | 1 of 2 | - | - |" in text
    assert re.search(r"\| bt\.W \| experiments 1, 2, 3 \|.*\| 36 \| equal, equal, equal \|", text)
    assert re.search(r"\| is\.W \| experiments 1, 2, 3 \|.*\| 36 \| no formula found \|", text)
    assert "| MG, strong | Sends that are kept | 64 | 96.98 % | 36 | 90.00 % |" in text
    assert [line.split(" | ")[0] for line in text.splitlines()].count("| 3.9") == 1
    assert "| 4.14 | predicted times of MG and CG elsewhere |" in text
    assert text.index("## All figures") < text.index("## Figure 3.9")


def test_times_of_a_busy_machine_are_not_compared(tmp_path: Path) -> None:
    row = STRONG.row(
        extrapolated("cg", differing_ranks="0", app_s="1.000", replay_s="0.500", error_pct="-50.0%")
    )
    results = Results(tmp_path, REAL_STUDIES)
    results.save(STRONG, [row], StudyRun("2026-01-01", "real", 1.0, 0.75, {"cores": "2"}))
    text = page(results)
    theirs = "up to 16,384 | generally above 90 %, no mean"
    assert f"| mean | accuracy of the replay time | {theirs} | all | busy: 75% " in text
    theirs = "not in the text | equal, equal, equal, with a plug-in"
    assert f"| cg.W | experiments 1, 2, 3 | {theirs} | 36 | equal" in text


def test_sizes_without_stand_ins_leave_out_their_lines(tmp_path: Path) -> None:
    row = SIZES.row(["bt", "W", "4", "1,000", "900", "900", "720", "700", ""])
    lines = SIZES.figures[0].compare([row])
    assert [line.quantity for line in lines if line.program == "BT"][1] == "smaller by signatures"
    assert not any(line.program in ("POP", "Sweep3D") for line in lines)


def test_each_study_says_why_a_row_has_no_numbers() -> None:
    assert all(study.real and study.columns[-1] == "note" for study in REAL_STUDIES)
    assert {program.title for program in FIXED} == {"bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"}
