"""Formulas in a file: they make the same trace, and a damaged file is one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace import ScalatraceError, extrap
from scalatrace.cli import main
from scalatrace.errors import FormulaError
from scalatrace.extrap.extrapolate import of_model
from scalatrace.extrap.formatting import lines
from scalatrace.formula import Const
from scalatrace.trace.io.container import is_symbolic
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.io.writer import save as save_trace
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.evaluate import counted
from support.grids import halo, trace_of, wavefront

PLANES = [(4, 4), (5, 4), (5, 5), (6, 5), (6, 6)]
LINES = [(4,), (5,), (6,), (8,)]


@pytest.fixture
def formulas(tmp_path: Path) -> Path:
    path = tmp_path / "wave.stx"
    _, model, _ = extrap.model_of([trace_of(wavefront, dims, 24) for dims in PLANES])
    save_trace(model, path)
    return path


def test_the_file_makes_the_same_trace(formulas: Path) -> None:
    traces = [trace_of(wavefront, dims, 24) for dims in PLANES]
    direct = extrap.extrapolate(traces, 63, (9, 7)).trace
    read = of_model(load_symbolic(formulas), 63, (9, 7)).trace
    assert diff(direct, read) == []


def test_formulas_can_be_read(formulas: Path) -> None:
    text = "\n".join(lines(load_symbolic(formulas)))
    assert "P ranks in a grid X x Y" in text
    assert "n//X" in text
    assert "ANY" not in text
    assert "rank + Y" in text


def test_every_damage_is_one_error(formulas: Path) -> None:
    data = formulas.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 40)):
        formulas.write_bytes(data[:at])
        with pytest.raises(ScalatraceError):
            load_symbolic(formulas)
        formulas.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        with pytest.raises(ScalatraceError):
            load_symbolic(formulas)


def test_commands(formulas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "big.st"
    assert is_symbolic(formulas)
    assert main(["instantiate", str(formulas), "--dims", "9x7", "-o", str(out)]) == 0
    other = ["instantiate", str(formulas), "--dims", "9x7", "--param", "n=30", "-o", str(out)]
    assert main(other) == 2  # no trace has another n than 24: blocks of 24 say nothing of those of 30
    assert "all traces have n = 24, the result is to have n = 30" in capsys.readouterr().err
    assert main([*other, "--accept-unconfirmed"]) == 0
    assert "n was the same in all traces" in capsys.readouterr().out
    assert main(["show", str(formulas)]) == 0
    assert main(["info", str(formulas)]) == 0
    assert main(["stats", str(formulas)]) == 2
    assert "give -P N or --dims" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_extrapolates_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for dims in LINES:
        path = tmp_path / f"{dims[0]}.st"
        save_trace(trace_of(halo(False), dims), path)
        paths.append(str(path))
    out = str(tmp_path / "out.st")
    assert main(["extrapolate", *paths, "-P", "64", "-o", out]) == 0
    assert "64 ranks" in capsys.readouterr().out
    assert main(["extrapolate", *paths, "-P", "64", "-o", out, "--timing-report", "--json"]) == 0
    assert '"formula"' in capsys.readouterr().out
    assert main(["extrapolate", *paths, "--check", "--json"]) == 0
    assert '"ranks_differing": 0' in capsys.readouterr().out
    assert main(["extrapolate", *paths, "-P", "64"]) == 2
    assert main(["extrapolate", paths[0], "-P", "64", "-o", out]) == 2


def test_a_value_cannot_change_over_fewer_than_no_executions() -> None:
    """A rival may give such a number at a size that no trace has: it has no value there."""
    with pytest.raises(FormulaError, match="-1 executions"):
        counted(Const(-1), Const(7), {})


def test_options_of_fits_are_refused_for_formulas(
    formulas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "big.st")
    for options in (["--lossy"], ["--inputs", "n=1"], ["--dims-of", "4"], ["--suggest"]):
        assert main(["extrapolate", str(formulas), "--dims", "9x7", "-o", out, *options]) == 2
        assert "holds formulas, which are fitted already" in capsys.readouterr().err
    assert main(["extrapolate", str(formulas), str(formulas), "-P", "9", "-o", out]) == 1
    assert "run `scalatrace extrapolate FILE -P N" in capsys.readouterr().err
