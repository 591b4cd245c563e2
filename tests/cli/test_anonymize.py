"""`anonymize`: several traces with one table of names, what is written, and what is refused."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.extrap.extrapolate import model_of
from scalatrace.trace.anonymize import traces
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.query.diff import diff
from support.builder import stencil
from support.grids import halo, trace_of


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "stencil.st"
    scalatrace.save(stencil(), path)
    return path


def run(*words: object) -> int:
    return main(["anonymize", *map(str, words)])


def test_one_trace(original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(original, "-o", tmp_path / "out.st") == 0
    printed = capsys.readouterr().out
    assert "out.st" in printed
    assert "function 2, program 1, source 2" in printed
    result = scalatrace.load(tmp_path / "out.st")
    assert diff(stencil(), result, ["callsites"]) == []
    assert b"halo" not in (tmp_path / "out.st").read_bytes()


def test_traces_of_one_call_share_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = [trace_of(halo(False), (n,), 0, False) for n in (4, 5, 6)]
    traces[1].frames, traces[1].signatures = traces[1].frames[::-1], [
        tuple(len(traces[1].frames) - 1 - frame for frame in frames) for frames in traces[1].signatures
    ]  # fmt: skip
    paths = [tmp_path / f"secret{trace.nprocs}.st" for trace in traces]
    for trace, path in zip(traces, paths, strict=True):
        scalatrace.save(trace, path)
    scalatrace.save(model_of(traces, [(4,), (5,), (6,)])[1], tmp_path / "secret.stx")
    table, folder = tmp_path / "names.json", tmp_path / "shared"
    assert run(*paths, tmp_path / "secret.stx", "--into", folder, "--mapping", table, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert [Path(file["output"]).name for file in printed["files"]] == [
        "trace1.st",
        "trace2.st",
        "trace3.st",
        "trace4.stx",
    ]
    results = [scalatrace.load(folder / f"trace{n}.st") for n in (1, 2, 3)]
    sites = [{call.stack for call in result.walk(0)} for result in results]
    assert sites[0] == sites[1] == sites[2]
    assert {rule.stack for rule in load_symbolic(folder / "trace4.stx").nodes if rule.op} <= sites[0]
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    assert json.loads(table.read_text())["names"]["source"] == {"app.py": 1}
    before = table.read_text()
    assert run(paths[0], "-o", tmp_path / "again.st", "--mapping", table) == 0
    assert table.read_text() == before
    assert (tmp_path / "again.st").read_bytes() == (folder / "trace1.st").read_bytes()


def test_nothing_is_written_if_a_name_is_left(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forgetful(*arguments: Any) -> scalatrace.Trace:
        result = renamed(*arguments)
        result.frames[0] = "src/halo.py:10:exchange"
        return result

    renamed = traces.anonymous_trace
    monkeypatch.setattr(traces, "anonymous_trace", forgetful)
    assert run(original, "--into", tmp_path / "shared", "--mapping", tmp_path / "names.json") == 1
    assert "nothing was written" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stencil.st"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["a.st", "b.st", "-o", "out.st"], 2, "--into FOLDER"),
        (["stencil.st", "-o", "out.st", "--keep", "times"], 2, "--keep times: give sites"),
        (["stencil.st", "--into", "stencil.st"], 2, "this is no folder"),
        (["stencil.st", "-o", "none/out.st"], 2, "there is no folder"),
        (["stencil.st", "-o", "out.st", "--mapping", "stencil.st"], 1, "stencil.st: "),
        (["none.st", "-o", "out.st"], 1, "none.st: cannot read"),
    ],
)
def test_mistakes(
    words: list[str],
    status: int,
    message: str,
    original: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(original.parent)
    assert run(*words) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [path.name for path in original.parent.iterdir()] == ["stencil.st"]
