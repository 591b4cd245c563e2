"""`scalatrace calibrate` under mpiexec, from an archive, and where it cannot work."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scalatrace.predict.calibrate import read_archive
from scalatrace.predict.platform import read_platform
from scalatrace.predict.regress import read_table
from support.mpis import Mpi
from support.running import Finished, run

QUICK = ("--sizes", "8", "--visits", "1", "--repeats", "4", "--max-bytes", "65536", "--kernel-calls", "3")


def calibrate(mpi: Mpi, nprocs: int, *arguments: str | Path) -> Finished:
    words = [mpi.python, "-m", "scalatrace", "calibrate", *arguments]
    return run([mpi.mpiexec, "-n", str(nprocs), *words], env=mpi.environment(), timeout=300)


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_measured_fitted_and_fitted_again(mpi: Mpi, nprocs: int, tmp_path: Path) -> None:
    archive, first, second = (tmp_path / name for name in ("a.jsonl", "first.toml", "second.toml"))
    options = [*QUICK, "--collectives", "2", "--thread-level", "single", "--monitor"]
    calibrate(mpi, nprocs, "-o", first, "--archive", archive, *options).check()
    platform = read_platform(first)
    assert platform.thread_level == "single"
    assert platform.network.segments[0].send_overhead_ns > 0
    assert platform.network.rendezvous_above_bytes is None or platform.network.rendezvous_above_bytes < 65536
    measured = read_archive(archive)
    kinds = {m.kind for m in measured.measurements}
    assert kinds >= {"threshold", "pingpong", "send", "recv", "burst", "unexpected", "reduce_local", "pack"}
    assert kinds >= {"collective", "kernel"}
    assert measured.metadata["ranks"] == nprocs
    assert {m.rank for m in measured.of("kernel")} == set(range(nprocs))
    [readings] = measured.metadata["monitor"].values()
    assert readings[-1]["at_s"] <= measured.metadata["seconds"]
    assert "monitored: " in platform.source
    assert set(measured.metadata["versions"]) == {"python", "mpi", "scalatrace", "numpy", "mpi4py"}
    [facts] = measured.metadata["hosts"].values()
    assert facts["cores"] >= 1
    hosts = len(measured.of("kernel")) / 3 / 2
    assert hosts == nprocs

    words = [sys.executable, "-m", "scalatrace", "calibrate", "--from", archive, "-o", second, "--json"]
    words += ["--table", tmp_path / "campaigns.csv"]
    facts = json.loads(run(words).check().stdout)
    assert second.read_text() == first.read_text()
    assert facts["fits"]["memory"]["sizes"] >= 5
    table = read_table(tmp_path / "campaigns.csv")
    assert table.names == (measured.metadata["started"],)
    assert {"memory 8 B, ns", "dgemm of rank 1, ns"} <= set(table.factors)
    assert {row["operation"] for row in facts["collectives"]} >= {"barrier", "allreduce", "scan"}


@pytest.mark.mpi
def test_one_rank_is_not_enough(mpi: Mpi, tmp_path: Path) -> None:
    result = calibrate(mpi, 1, "-o", tmp_path / "p.toml")
    assert result.returncode == 2
    assert "2 ranks or more" in result.stderr
    assert not (tmp_path / "p.toml").exists()


@pytest.mark.mpi
def test_all_ranks_end_at_an_unknown_kernel(mpi: Mpi, tmp_path: Path) -> None:
    result = calibrate(mpi, 2, "-o", tmp_path / "p.toml", *QUICK, "--kernel-names", "dgemm,fft")
    assert result.returncode == 2
    assert result.stderr.count("there is no kernel 'fft'; known: dgemm, copy") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "missing.jsonl", "-o", "p.toml"], "missing.jsonl: cannot read"),
        (["--from", "x", "--archive", "y", "-o", "p.toml"], "--from measures nothing"),
        (
            ["--from", "x", "--thread-level", "single", "-o", "p.toml"],
            "--thread-level is that of the archives",
        ),
        (["--from", "x", "--monitor", "-o", "p.toml"], "nothing to --monitor"),
        (["-o", "/no/such/folder/p.toml"], "there is no folder /no/such/folder"),
        (["-o", "p.toml", "--max-bytes", "999999999999"], "--max-bytes 999999999999: at most"),
        (["-o", "p.toml", "--seed", "-1"], "are 0 or more"),
    ],
)
def test_wrong_options(words: list[str], message: str, tmp_path: Path) -> None:
    result = run([sys.executable, "-m", "scalatrace", "calibrate", *words], cwd=tmp_path)
    assert result.returncode in (1, 2)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
