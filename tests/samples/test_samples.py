"""Every sample: the same program with and without the tracer, and a trace in which nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.judging import fixed_point, same_and_lossless
from support.mpis import Mpi
from support.programs import COMPILED_SAMPLES, PYTHON_SAMPLES, SAMPLES, Sample, Workshop
from support.running import run, scalatrace
from support.workloads import WORKLOADS

pytestmark = pytest.mark.mpi
Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]

python_sample = pytest.mark.parametrize("sample", PYTHON_SAMPLES, ids=lambda s: s.name)
#: Each has what others lack: objects, wildcards, communicators, persistent requests, loops of many shapes.
QUICK = ("pickled.py", "manager_worker.py", "subcomms.py", "persistent.py", "fig5_4.py")
#: Others, and the other variants of these programs, are among the slow tests.
FIRST_VARIANTS = [
    pytest.param(
        sample,
        marks=()
        if sample.source in QUICK and sample.source not in {s.source for s in PYTHON_SAMPLES[:i]}
        else pytest.mark.slow,
    )
    for i, sample in enumerate(PYTHON_SAMPLES)
]
compiled_sample = pytest.mark.parametrize("sample", COMPILED_SAMPLES, ids=lambda s: s.name)
#: tests/replay has a quick fixed point of each kind of program.
REPLAYED_QUICKLY = ("fig5_4.py", "heat.c")
repeatable = pytest.mark.parametrize(
    "sample",
    [
        pytest.param(sample, marks=() if sample.source in REPLAYED_QUICKLY else pytest.mark.slow)
        for sample in PYTHON_SAMPLES + COMPILED_SAMPLES
        if sample.deterministic
    ],
    ids=lambda s: s.name,
)


@pytest.mark.parametrize("sample", FIRST_VARIANTS, ids=lambda s: s.name)
@pytest.mark.parametrize("nprocs", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9))])
def test_openmpi(openmpi: Mpi, nprocs: int, sample: Sample, workshop: Workshop, tmp_path: Path) -> None:
    same_and_lossless(openmpi, nprocs, workshop.command(openmpi, sample), tmp_path)


@pytest.mark.parametrize("sample", FIRST_VARIANTS, ids=lambda s: s.name)
@pytest.mark.parametrize("nprocs", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4, 9))])
def test_mpich(mpich: Mpi, nprocs: int, sample: Sample, workshop: Workshop, tmp_path: Path) -> None:
    same_and_lossless(mpich, nprocs, workshop.command(mpich, sample), tmp_path)


@pytest.mark.slow
@python_sample
@pytest.mark.parametrize("nprocs", [16, 64])
def test_many_ranks(mpi: Mpi, nprocs: int, sample: Sample, workshop: Workshop, tmp_path: Path) -> None:
    same_and_lossless(mpi, nprocs, workshop.command(mpi, sample), tmp_path)


@compiled_sample
@pytest.mark.parametrize("nprocs", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9, 16, 64))])
def test_compiled(any_mpi: Mpi, nprocs: int, sample: Sample, workshop: Workshop, tmp_path: Path) -> None:
    same_and_lossless(any_mpi, nprocs, workshop.command(any_mpi, sample), tmp_path)


@repeatable
def test_replay_is_a_fixed_point(openmpi: Mpi, sample: Sample, recorded: Recorder, tmp_path: Path) -> None:
    trace, logs = recorded(openmpi, 4, sample)
    scalatrace(openmpi, "verify", trace, logs).check()
    fixed_point(openmpi, 4, trace, tmp_path)


@pytest.mark.slow
@repeatable
@pytest.mark.parametrize("nprocs", [1, 9, 16])
def test_replay_is_a_fixed_point_on_other_sizes(
    mpi: Mpi, nprocs: int, sample: Sample, recorded: Recorder, tmp_path: Path
) -> None:
    trace, logs = recorded(mpi, nprocs, sample)
    scalatrace(mpi, "verify", trace, logs).check()
    fixed_point(mpi, nprocs, trace, tmp_path)


@pytest.mark.parametrize("source", sorted({s.source for s in PYTHON_SAMPLES + COMPILED_SAMPLES + WORKLOADS}))
def test_header_says_what_to_expect(source: str) -> None:
    head = (SAMPLES / source).read_text()[:2000]
    assert "scalatrace record" in head
    assert "Expect" in head
    assert "Size" in head


def test_a_wrong_result_is_an_error_status(tmp_path: Path) -> None:
    """The samples do check: a wave advanced with a wrong rule is found out."""
    broken = tmp_path / "halo.py"
    text = (SAMPLES / "halo.py").read_text()
    assert "/ len(directions)" in text
    broken.write_text(text.replace("/ len(directions)", "/ (len(directions) + 1e-6)"))
    (tmp_path / "stencil2d.py").write_text((SAMPLES / "stencil2d.py").read_text())
    finished = run([sys.executable, tmp_path / "stencil2d.py"], cwd=tmp_path)
    assert finished.returncode == 1
    assert "WRONG" in finished.stdout
