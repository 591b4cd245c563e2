"""Names of native call sites where traces are shown: unchanged files, time limit, callers, lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli.dispatch import main
from scalatrace.cli.named import SiteNames
from scalatrace.errors import UsageError
from scalatrace.report.costs.rows import NO_STACK, by_node
from scalatrace.symbols.module import build_id, offsets_of
from scalatrace.symbols.time_limit import TimeUpError, time_limit
from scalatrace.trace.model.callsite import callers, is_wrapper, split_frame
from scalatrace.trace.model.sites import parse_site, passes
from scalatrace.trace.model.trace import MODULES, Trace
from support.builder import DOUBLE, Builder, Comm
from support.reported import timed

SOURCE = """\
int exchange(int n) {
    return n + 1;
}
int main(int argc, char **argv) {
    (void)argv;
    return exchange(argc) - 2;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    if missing := [tool for tool in ("cc", "nm") if shutil.which(tool) is None]:
        pytest.skip(f"no {missing[0]}")
    return built(tmp_path)


def built(folder: Path, text: str = SOURCE) -> Path:
    (folder / "app.c").write_text(text)
    path = folder / "app"
    command = ["cc", "-g", "-O0", "-Wl,--build-id", "-o", path, folder / "app.c"]
    subprocess.run(command, check=True, timeout=60)
    return path


def address(path: Path, function: str) -> int:
    listing = subprocess.run(["nm", path], capture_output=True, text=True, check=True, timeout=60).stdout
    rows = (line.split() for line in listing.splitlines())
    return next(int(row[0], 16) for row in rows if row[-1] == function)


def traced(path: Path, modules: str, nprocs: int = 2, count: int = 1) -> Trace:
    """A trace of a call in `exchange`, which `main` called."""
    b = Builder(nprocs)
    frames = tuple(f"app+{address(path, name):#x}" for name in ("exchange", "main"))
    if nprocs == 2:
        trace = b.of(b.event("Barrier", at=frames, comm=Comm()))
    else:
        given = {"count": count, "datatype": DOUBLE, "op": "MPI_SUM", "comm": Comm(), "in_place": 0}
        trace = timed(b.of(b.event("Allreduce", at=frames, **given)))
    trace.meta = {"program": "elsewhere", "date": "2001-01-01T00:00:00+00:00", MODULES: modules}
    return trace


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main([*argv]) == 0
    return capsys.readouterr().out


def test_displays_have_names(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = str(tmp_path / "a.st")
    scalatrace.save(traced(program, f"{build_id(program)} {program}\n"), given)
    assert "app.c:1:exchange" in shown(capsys, "show", given)
    assert "app.c:1:exchange < app.c:4:main" in shown(capsys, "show", given, "--stacks")
    assert "app.c:1:exchange" in shown(capsys, "show", given, "--at", "app.c:1")
    assert "app.c:1:exchange" in shown(capsys, "show", given, "--rank", "1")
    assert "app.c:1:exchange" in shown(capsys, "stats", given, "--by", "site")
    assert "app.c:1:exchange < app.c:4:main" in shown(capsys, "stats", given, "--by", "site", "--stacks", "2")
    assert "app.c:1" in shown(capsys, "generate", given, "--to", "c")
    assert "app.c" not in shown(capsys, "generate", given, "--to", "c", "--obfuscate")
    assert "app+0x" in shown(capsys, "show", given, "--names", "0")
    assert "app+0x" in shown(capsys, "show", given, "--text")
    assert not any("app.c" in frame for frame in scalatrace.load(given).frames)
    assert any("app.c:1:exchange" in frame for frame in scalatrace.load(given, names=True).frames)


def test_extrapolation_has_names(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modules, sizes, paths = f"{build_id(program)} {program}\n", (3, 4, 6, 8), []
    for nprocs in sizes:
        paths.append(str(tmp_path / f"{nprocs}.st"))
        scalatrace.save(traced(program, modules, nprocs, 7 * nprocs), paths[-1])
    made, formulas, page = (str(tmp_path / name) for name in ("x.st", "x.stx", "x.html"))
    shown(capsys, "extrapolate", *paths, "-P", "16", "-o", made, "--report", page)
    assert "The recorded runs" in Path(page).read_text("utf-8")
    assert "app.c:1:exchange" in Path(page).read_text()
    assert "app+0x" not in Path(page).read_text()
    assert not any("app.c" in frame for frame in scalatrace.load(made).frames)
    assert "app.c:1:exchange" in shown(
        capsys, "extrapolate", *paths, "-P", "16", "-o", made, "--timing-report"
    )
    shown(capsys, "extrapolate", *paths, "--symbolic", "-o", formulas)
    assert "app.c:1:exchange" in shown(capsys, "show", formulas)
    assert "app+0x" in shown(capsys, "show", formulas, "--names", "0")
    shown(capsys, "instantiate", formulas, "-P", "16", "-o", made, "--report", page)
    assert "app+0x" not in Path(page).read_text()
    shown(capsys, "report", made, "--model", formulas, "-o", page)
    assert "app+0x" not in Path(page).read_text()
    assert "app.c:1" in shown(capsys, "generate", formulas, "--to", "c")
    assert "app.c:1:exchange" in shown(capsys, "simulate", made, "--platform", "cluster")


def test_errors_have_names(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modules, paths = f"{build_id(program)} {program}\n", []
    for nprocs, count in ((3, 11), (4, 5), (6, 31), (8, 2)):
        paths.append(str(tmp_path / f"{nprocs}.st"))
        scalatrace.save(traced(program, modules, nprocs, count), paths[-1])
    assert main(["extrapolate", *paths, "-P", "16", "-o", str(tmp_path / "x.st")]) == 1
    err = capsys.readouterr().err
    assert "app.c:1:exchange" in err
    assert "app+0x" not in err


def test_only_whole_frames_have_names() -> None:
    names = SiteNames(["app+0x1", "app+0x12", "app+0x12:f", "lib/app+0x1"], {}, "a.st", 1.0)
    names.known = {"app+0x1": "a.c:1:f", "app+0x12": "a.c:2:g", "app+0x12:f": "a.c:3:h"}
    assert names.text("Send at app+0x1: 3") == "Send at a.c:1:f: 3"
    assert names.text("app+0x12 < app+0x12:f < lib/app+0x1") == "a.c:2:g < a.c:3:h < lib/app+0x1"
    assert names.text("my-app+0x1, app+0x123") == "my-app+0x1, app+0x123"
    assert names.facts({"site": ["app+0x1", 3, None]}) == {"site": ["a.c:1:f", 3, None]}


def test_other_builds_give_no_names(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, modules = str(tmp_path / "a.st"), f"{build_id(program)} {program}\n"
    scalatrace.save(traced(program, modules), given)
    built(tmp_path, "int other;\n" + SOURCE)
    assert "app+0x" in shown(capsys, "show", given)
    assert main(["resolve", given, "-o", given]) == 1
    assert "has another build ID than in the run" in capsys.readouterr().out
    scalatrace.save(traced(program, f"- {program}\n"), given)  # without build ID: newer than the run
    assert "app+0x" in shown(capsys, "show", given)


def test_time_limit(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = str(tmp_path / "a.st")
    scalatrace.save(traced(program, f"{build_id(program)} {program}\n"), given)
    assert main(["show", given, "--names", "0.000001"]) == 0
    out, err = capsys.readouterr()
    assert "app+0x" in out
    assert "no names for call sites in app within 1e-06 s" in err
    with pytest.raises(TimeUpError), time_limit(0.05):
        time.sleep(5)
    with pytest.raises(TimeUpError), time_limit(0.0):
        pass


def test_comparison_names_both_or_none(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = str(tmp_path / "a.st"), str(tmp_path / "b.st")
    scalatrace.save(traced(program, f"{build_id(program)} {program}\n"), left)
    scalatrace.save(traced(program, "0000 /nowhere/app\n"), right)
    assert main(["diff", left, right]) == 0, capsys.readouterr().out


def test_call_sites_are_outside_the_communication_layer() -> None:
    reduce = ("libPstream.so+0x10:Foam::UPstream::allReduce", "app.C:9:Foam::reduce", "app.C:20:main")
    assert callers(reduce) == ("app.C:9:Foam::reduce",)
    assert callers(reduce, 2) == reduce[1:]
    assert callers(("wrap.c:3:MPI_Send",)) == ("wrap.c:3:MPI_Send",)
    assert callers(()) == ()
    assert is_wrapper("/usr/include/boost/mpi/collectives.hpp:3:f")
    assert not is_wrapper("solver.py:3:mpi")
    assert not is_wrapper("libmpirical.so+0x10")
    b = Builder(2)
    trace = b.of(
        b.event("Allreduce", at=reduce, comm=Comm()),
        b.event("Allreduce", at=(*reduce[:2], "app.C:30:main"), comm=Comm()),
        b.event("Barrier", comm=Comm()),
    )
    keys = [row.key for row in by_node(trace, "site")]
    assert sorted(keys) == [("Allreduce", "app.C:9:Foam::reduce"), ("Barrier", NO_STACK)]
    assert ("Allreduce", "app.C:9:Foam::reduce < app.C:30:main") in [
        row.key for row in by_node(trace, "site", 2)
    ]


def test_callers_need_call_sites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = Builder(1)
    given = str(tmp_path / "a.st")
    scalatrace.save(b.of(b.event("Barrier", at=("a.c:1:f", "a.c:2:g"), comm=Comm())), given)
    assert main(["stats", given, "--stacks", "2"]) == UsageError("").exit_status
    assert "--stacks 2 needs --by site" in capsys.readouterr().err
    rows = json.loads(shown(capsys, "stats", given, "--by", "site", "--stacks", "2", "--json"))["rows"]
    assert rows[0]["call site"] == "a.c:1:f < a.c:2:g"


def test_native_frames_with_names_have_numbers() -> None:
    frame = split_frame("libx.so+0x1f:Foam::operator+")
    assert (frame.file, frame.number, frame.name) == ("libx.so", 31, "Foam::operator+")
    assert split_frame("a.c:3:f").name == "f"
    assert passes(("libx.so+0x1f:Foam::operator+",), parse_site("libx.so:0x10-0x20"))
    assert not passes(("libx.so+0x1f:g",), parse_site("libx.so:0x20-0x30"))
    assert os.path.basename(split_frame("?").file) == "?"


def test_offsets_of_lines(program: Path) -> None:
    """Each address of the lines, and no other one."""
    exchange, start = address(program, "exchange"), address(program, "main")
    (found,) = offsets_of(program, ("app.c", 1, 3))
    assert found[:2] == ("app", min(exchange, found[1]))
    assert exchange <= found[2] < start
    assert offsets_of(program, ("app.c", 50, 60)) == []
    assert offsets_of(program, ("other.c", 1, 3)) == []
