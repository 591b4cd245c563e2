"""Receives of messages of several lengths from any source, in replays and in generated programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.codegen.generate import GenerateOptions, generate
from support.generated import compiled
from support.mpis import Mpi
from support.programs import Sample
from support.running import mpirun, record, scalatrace

pytestmark = pytest.mark.mpi
Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]
NPROCS = 4
PATTERNS = ("streams", "workers", "by_hand", "lengths_first", "nobody")


def sample(pattern: str) -> Sample:
    return Sample("../tests/replay/any_source.py", (pattern,))


#: The others are among the slow tests.
QUICK = ("workers",)


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize(
    "pattern", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PATTERNS]
)
def test_a_replay_is_a_fixed_point(
    openmpi_first: Mpi, recorded: Recorder, pattern: str, engine: str, tmp_path: Path
) -> None:
    mpi, again = openmpi_first, tmp_path / "again.st"
    trace, _ = recorded(mpi, NPROCS, sample(pattern))
    command = [*mpi.scalatrace(), "replay", trace, "--compute", "none", "--verify", "--engine", engine]
    record(mpi, NPROCS, command, again).check()
    done = scalatrace(mpi, "diff", trace, again, "--ignore", "callsites,times")
    assert done.stdout.strip() == "equal"


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_replay_ends_when_no_order_fits(
    openmpi: Mpi, recorded: Recorder, engine: str, tmp_path: Path
) -> None:
    """Messages are a hundred times as long as the receives."""
    trace, _ = recorded(openmpi, NPROCS, sample("workers"))
    command = [*openmpi.scalatrace(), "replay", trace, "--compute", "none", "--at", "Send", "bytes=100"]
    mpirun(openmpi, NPROCS, [*command, "--engine", engine], cwd=tmp_path).check()


@pytest.mark.parametrize("pattern", QUICK)
def test_generated_programs_end(openmpi_first: Mpi, recorded: Recorder, pattern: str, tmp_path: Path) -> None:
    mpi = openmpi_first
    trace = load(recorded(mpi, NPROCS, sample(pattern))[0])
    c, python = tmp_path / "bench.c", tmp_path / "bench.py"
    c.write_text(generate(trace, "c", GenerateOptions(compute_scale=0)).text)
    python.write_text(generate(trace, "python", GenerateOptions(compute_scale=0)).text)
    mpirun(mpi, NPROCS, [compiled(mpi, c)], cwd=tmp_path).check()
    mpirun(mpi, NPROCS, [str(mpi.python), python], cwd=tmp_path).check()
