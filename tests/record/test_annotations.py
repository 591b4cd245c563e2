"""Kernels that a program marks, in Python and C: recorded, replayed, extrapolated, generated, fitted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import scalatrace
from scalatrace.errors import UsageError
from scalatrace.predict.kernels import annotated_calls, fit_kernel
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import run

PYTHON = """
import time, scalatrace
from mpi4py import MPI
comm = MPI.COMM_WORLD
for i in range(10):
    with scalatrace.kernel("work", m=20, n=comm.size * 2, k=comm.rank + 3):
        time.sleep(1e-4 * (comm.rank + 3))
    comm.Barrier()
"""
C = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 1; i <= 10; i++) {
        MPI_Pcontrol(1001, "work(n)", 100 * i);
        usleep(2000 * i);
        MPI_Pcontrol(1002);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Pcontrol(1001, "pause()");
    MPI_Pcontrol(1002);
    MPI_Finalize();
    return 0;
}
"""
MARKS = ["level", "kernel", "size0", "size1", "size2", "size3"]


def recorded(mpi: Mpi, nprocs: int, path: Path, program: list[str | Path]) -> scalatrace.Trace:
    run([mpi.mpiexec, "-n", str(nprocs), *mpi.scalatrace(), "record", "-o", path, "--", *program],
        env=mpi.environment()).check()  # fmt: skip
    return scalatrace.load(path)


def marks(trace: scalatrace.Trace, rank: int) -> list[tuple[object, ...]]:
    return [tuple(call[name] for name in MARKS) for call in trace.walk(rank) if call.op == "Pcontrol"]


@pytest.mark.mpi
def test_python(openmpi_first: Mpi, tmp_path: Path) -> None:
    mpi = openmpi_first
    (tmp_path / "app.py").write_text(PYTHON)
    for nprocs in (2, 3, 4):
        trace = recorded(mpi, nprocs, tmp_path / f"{nprocs}.st", [mpi.python, tmp_path / "app.py"])
        for rank in range(nprocs):
            begin = (1001, "work(m,n,k)", 20, 2 * nprocs, rank + 3, 0)
            assert marks(trace, rank) == [begin, (1002, "", 0, 0, 0, 0)] * 10
    # The parameters have formulas.
    inputs = [tmp_path / f"{nprocs}.st" for nprocs in (2, 3, 4)]
    words = [*mpi.scalatrace(), "extrapolate", *inputs, "-P", "9", "-o", tmp_path / "9.st"]
    run(words, env=mpi.environment()).check()
    assert marks(scalatrace.load(tmp_path / "9.st"), 8)[0] == (1001, "work(m,n,k)", 20, 18, 11, 0)


@pytest.mark.mpi
def test_c_recorded_replayed_generated(openmpi_first: Mpi, tmp_path: Path) -> None:
    mpi = openmpi_first
    (tmp_path / "app.c").write_text(C)
    subprocess.run([mpi.mpicc, "-o", tmp_path / "app", tmp_path / "app.c"], check=True)
    trace = recorded(mpi, 2, tmp_path / "a.st", [tmp_path / "app"])
    ends = (1002, "", 0, 0, 0, 0)
    expected = [each for i in range(1, 11) for each in ((1001, "work(n)", 100 * i, 0, 0, 0), ends)]
    assert marks(trace, 0) == [*expected, (1001, "pause()", 0, 0, 0, 0), ends]
    assert (tmp_path / "a.st").stat().st_size < 2000

    words = ["replay", tmp_path / "a.st", "--record", tmp_path / "b.st"]
    run([mpi.mpiexec, "-n", "2", *mpi.scalatrace(), *words], env=mpi.environment()).check()
    assert marks(scalatrace.load(tmp_path / "b.st"), 1) == marks(trace, 1)

    words = [*mpi.scalatrace(), "generate", tmp_path / "a.st", "--to", "c", "-o", tmp_path / "g.c"]
    run(words, env=mpi.environment()).check()
    subprocess.run([mpi.mpicc, "-o", tmp_path / "g", tmp_path / "g.c", "-lm"], check=True)
    again = recorded(mpi, 2, tmp_path / "g.st", [tmp_path / "g"])
    assert marks(again, 1) == marks(trace, 1)

    [model] = fit_kernel("work", annotated_calls(trace)["work"], model="M-1")
    for n in (200, 1000):  # busy machines sleep longer: if only in short calls, the line is flatter
        assert 0.5 * 20_000 * n < model.duration_ns({"n": n}) < 5 * 20_000 * n


def test_nothing_happens_without_a_tracer() -> None:
    with scalatrace.kernel("work", n=3):
        pass


@pytest.mark.parametrize(("name", "sizes"), [("", {}), ("f(x)", {}), ("f", dict.fromkeys("abcde", 1))])
def test_wrong_kernels(name: str, sizes: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at most 4 sizes"):
        scalatrace.kernel(name, **sizes)


BLAS = """
#include <unistd.h>
void dgemm_(const char *a, const char *b, const int *m, const int *n, const int *k) { usleep(*m); }
void dtrsm_(const char *a, const char *b, const char *c, const char *d, const int *m, const int *n) {
    usleep(*m);
}
void cblas_dgemm(int order, int a, int b, int m, int n, int k) { dgemm_("N", "N", &m, &n, &k); }
void cblas_dtrsm(int order, int a, int b, int c, int d, int m, int n) { usleep(m); }
"""
SOLVER = """
#include <mpi.h>
void dgemm_(const char *, const char *, const int *, const int *, const int *);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *);
void cblas_dgemm(int, int, int, int, int, int);
void cblas_dtrsm(int, int, int, int, int, int, int);
int main(int argc, char **argv) {
    int m = 2000, n = 30, k = 4;
    dgemm_("N", "N", &m, &n, &k); /* not marked: MPI does not run */
    MPI_Init(&argc, &argv);
    dgemm_("N", "N", &m, &n, &k);
    MPI_Barrier(MPI_COMM_WORLD);
    dtrsm_("L", "U", "N", "N", &m, &n);
    dtrsm_("R", "U", "N", "N", &m, &n);
    cblas_dgemm(102, 111, 111, m, n, 5); /* its dgemm_ is not marked again */
    cblas_dtrsm(102, 141, 121, 111, 131, m, n);
    MPI_Finalize();
    dgemm_("N", "N", &m, &n, &k);
    return 0;
}
"""


@pytest.mark.mpi
def test_blas_calls_of_a_program_that_is_not_compiled_anew(openmpi: Mpi, tmp_path: Path) -> None:
    """samples/blas_kernels.c, with a BLAS that only sleeps."""
    (tmp_path / "blas.c").write_text(BLAS)
    (tmp_path / "solver.c").write_text(SOLVER)
    shared = [openmpi.mpicc, "-shared", "-fPIC", "-o"]
    environment = openmpi.environment()
    run([*shared, tmp_path / "libblas.so", tmp_path / "blas.c"], env=environment).check()
    run([*shared, tmp_path / "marks.so", SAMPLES / "blas_kernels.c", "-ldl"], env=environment).check()
    solver: list[str | Path] = [openmpi.mpicc, "-o", tmp_path / "solver", tmp_path / "solver.c"]
    run([*solver, f"-L{tmp_path}", "-lblas", f"-Wl,-rpath,{tmp_path}"], env=environment).check()
    command = [openmpi.mpiexec, "-n", "2", *openmpi.scalatrace(), "record", "-o", tmp_path / "a.st", "--"]
    preloaded = {**environment, "LD_PRELOAD": str(tmp_path / "marks.so")}
    run([*command, tmp_path / "solver"], env=preloaded).check()
    calls = annotated_calls(scalatrace.load(tmp_path / "a.st"))
    sizes = {name: sorted(tuple(call.params.values()) for call in some) for name, some in calls.items()}
    dgemm, dtrsm = [(2000, 30, 4), (2000, 30, 5)], [(2000, 30, 30), (2000, 30, 2000), (2000, 30, 2000)]
    assert sizes == {"dgemm": sorted(2 * dgemm), "dtrsm": sorted(2 * dtrsm)}
