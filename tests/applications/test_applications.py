"""Public programs of Debian: recorded, verified, replayed, generated and reported on 4 ranks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scalatrace import load
from support.applications import APPLICATIONS, MPICC, Application
from support.mpis import Mpi, installed
from support.running import mpirun, record, run, scalatrace

NPROCS = 4
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

pytestmark = [pytest.mark.slow, pytest.mark.mpi]


@pytest.fixture(params=APPLICATIONS, ids=lambda application: application.name.replace(", ", "-"))
def application(request: pytest.FixtureRequest) -> Application:
    """A program that is installed."""
    result: Application = request.param
    if result.missing:
        pytest.skip(f"no {result.missing[0]} (apt install {result.package})")
    return result


@pytest.fixture
def debian() -> Mpi:
    """Debian's Open MPI, which its packages are built for."""
    mpi = installed().get("debian-openmpi")
    if mpi is None:
        pytest.skip("no Open MPI of Debian (apt install openmpi-bin libopenmpi-dev)")
    return mpi


def count_calls(trace: Path) -> Counter[str]:
    """Return how often all ranks together call each operation."""
    loaded = load(trace)
    return Counter(call.op for rank in loaded.ranks for call in loaded.walk(rank))


def test_each_use_of_a_trace(application: Application, debian: Mpi, tmp_path: Path) -> None:
    plain, traced = tmp_path / "plain", tmp_path / "traced"
    size = application.sizes[0]
    command = application.argv(size)
    for folder in (plain, traced):
        folder.mkdir()
        application.prepare(folder, size)
    untraced = mpirun(debian, NPROCS, command, env=ONE_THREAD, cwd=plain, timeout=300).check()
    trace, logs = traced / "a.st", traced / "logs"
    done = record(
        debian, NPROCS, command, trace, options=["--flat-log", logs], env=ONE_THREAD, timeout=300
    ).check()
    wanted = application.results(untraced.stdout, plain)
    assert wanted
    assert application.results(done.stdout, traced) == wanted
    scalatrace(debian, "verify", trace, logs, timeout=300).check()

    facts = json.loads(scalatrace(debian, "info", trace, "--json").check().stdout)
    assert facts["ranks"] == list(range(NPROCS))
    replayed = mpirun(
        debian, NPROCS, [*debian.scalatrace(), "replay", trace, "--compute", "none", "--verify", "--json"],
        cwd=tmp_path, timeout=300,
    ).check()  # fmt: skip
    calls = count_calls(trace)
    assert json.loads(replayed.stdout)["calls"] == calls

    source, program = tmp_path / "bench.c", tmp_path / "bench"
    scalatrace(
        debian, "generate", trace, "--to", "c", "--compute-scale", "0", "-o", source, timeout=300
    ).check()
    run([MPICC, "-O1", source, "-o", program, "-lm"], timeout=300).check()
    again = tmp_path / "again.st"
    record(debian, NPROCS, [program], again, timeout=300).check()
    assert count_calls(again) == calls

    page = tmp_path / "page.html"
    scalatrace(debian, "report", trace, "-o", page, timeout=300).check()
    assert f">{max(calls, key=calls.__getitem__)}<" in page.read_text()
