"""The kernels that hpl.py marks, and the study of their models."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from scalatrace import load
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.kernels import KernelModel, KernelModels, Polynomial, annotated_calls
from scalatrace.predict.platform import Platform
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, record, run

pytestmark = pytest.mark.mpi
TIMEOUT_S = 300
BLOCK, SIZE, STEPS = 2, 2, 2


def hpl(*words: str) -> list[str]:
    sizes = ("--block", str(BLOCK), "--size", str(SIZE), "--steps", str(STEPS))
    return [str(SAMPLES / "hpl.py"), *sizes, *words]


def marked_run(mpi: Mpi, rows: int, folder: Path) -> Path:
    trace = folder / f"{rows}.st"
    command = [str(mpi.python), *hpl("--kernels", "--rows", str(rows))]
    record(mpi, 2, command, trace, timeout=TIMEOUT_S).check()
    return trace


@pytest.fixture(scope="module")
def traces(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("hpl")
    return [marked_run(openmpi, rows, folder) for rows in (1, 2)]


def test_products_are_marked_with_their_sizes(traces: list[Path]) -> None:
    """Each element right of and below a panel is updated once per panel, on any process grid."""
    n = BLOCK * SIZE * 2
    updated = sum((n - first - BLOCK) * (n + 1 - first - BLOCK) for first in range(0, n, BLOCK))
    model = KernelModel("dgemm", ("m", "n", "k"), "M-1", "N-0", Polynomial({"m*n*k": 1e6}), Polynomial({}))
    others = [
        KernelModel(name, ("m", "n"), "M-0", "N-0", Polynomial({}), Polynomial({}))
        for name in ("dger", "dtrsm", "dgemv")
    ]
    for file in traces:
        trace = load(file)
        assert set(annotated_calls(trace)) == {"dgemm", "dger", "dtrsm", "dgemv"}
        with_products, without = (
            Simulator(trace, KernelTimes(KernelModels([*others, one])))
            for one in (model, KernelModel("dgemm", ("m",), "M-0", "N-0", Polynomial({}), Polynomial({})))
        )
        compute = [s.run(Platform(compute_scale=0.0)).by_rank[:, 0].sum() for s in (with_products, without)]
        assert compute[0] - compute[1] == STEPS * updated * BLOCK * 1e9
        assert compute[1] == 0
        assert set(with_products.program.notes) == {"Comm_split"}


def test_without_marks_there_are_no_annotations(openmpi: Mpi, tmp_path: Path) -> None:
    record(openmpi, 2, [str(openmpi.python), *hpl()], tmp_path / "a.st", timeout=TIMEOUT_S).check()
    assert "Pcontrol" not in {op.name for op in load(tmp_path / "a.st").ops}


def test_wrong_grids_are_refused(openmpi: Mpi) -> None:
    done = mpirun(openmpi, 2, [openmpi.python, *hpl("--rows", "3")], timeout=TIMEOUT_S)
    assert done.returncode == 2
    assert "--rows 3 does not divide the number of ranks" in done.stderr


def study(*words: str | Path) -> tuple[int, str, str]:
    done = run([sys.executable, SAMPLES / "hpl_study.py", *words], timeout=TIMEOUT_S)
    return done.returncode, done.stdout, done.stderr


def test_the_study_compares_grids_and_changes(traces: list[Path], tmp_path: Path) -> None:
    figure = tmp_path / "hpl.png"
    words: list[str | Path] = [*traces, "--platform", "cluster", "--fit", *traces, "--repeat", "3"]
    has_matplotlib = find_spec("matplotlib") is not None
    status, shown, errors = study(*words, *(["--figure", figure] if has_matplotlib else []))
    assert status == 0, errors
    assert not has_matplotlib or figure.stat().st_size > 1000
    lines = {line[:20].strip(): line[20:].split() for line in shown.splitlines()}
    assert lines[""] == ["1", "2"]
    for column in (0, 1):
        factor = {name: float(cells[column]) for name, cells in lines.items() if name}
        assert factor["latency x 1"] == factor["bandwidth x 1"] == 1
        assert 1 < factor["latency x 10"] < factor["latency x 1000"]
        assert factor["bandwidth x 0.1"] <= factor["bandwidth x 0.001"]
        assert 1 <= factor["slow node 10%"] <= factor["slow node 100%"] <= 2.0001


def test_the_study_needs_marked_kernels(traces: list[Path], tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(
        'format = 1\n[[kernels]]\nname = "f"\nparameters = []\nmodel = "M-0"\nnoise = "N-0"\nmean_ns = {}\n'
    )
    status, _, errors = study(traces[0], "--platform", "cluster", "--kernels", tmp_path / "k.toml")
    assert status == 1
    assert "the trace marks" in errors


@pytest.mark.parametrize(
    "words",
    [
        "--rows 2 --bcast ring-modified --depth 1 --swap binary",
        "--rows 3 --bcast long-modified --depth 1 --swap mix",
        "--rows 6 --bcast 2-ring --swap binary",
        "--rows 1 --bcast 2-ring-modified --swap long",
        "--rows 2 --bcast long --depth 1 --swap long",
    ],
)
def test_parameters_of_hpl(openmpi: Mpi, words: str) -> None:
    """The residual is checked; three process rows are no power of two."""
    command = [str(openmpi.python), *hpl(*words.split())]
    assert "correct" in mpirun(openmpi, 6, command, timeout=TIMEOUT_S).check().stdout
