"""Which MPIs this machine has, and how each is started."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Interpreters of further environments with an MPI, separated by colons.
PYTHONS_VARIABLE = "SCALATRACE_TEST_PYTHONS"
#: Runtimes of sanitizers, preloaded into Python and the ranks, but not into launchers and compilers.
PRELOAD_VARIABLE = "SCALATRACE_TEST_PRELOAD"
#: Flags of sanitizers for programs of tests that use threads.
FLAGS_VARIABLE = "SCALATRACE_TEST_FLAGS"

# As root, and with more ranks than cores, Open MPI starts only when told to (version 4, version 5).
OPENMPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


@dataclass(frozen=True)
class Mpi:
    """One MPI installation.

    Attributes:
        family: "openmpi" or "mpich".
        mpiexec: its launcher.
        mpicc: its C compiler wrapper; mpicxx and mpifort stand beside it, if it has them.
        python: an interpreter whose mpi4py runs on this MPI; None when it serves compiled programs only.
    """

    name: str
    family: str
    mpiexec: Path
    mpicc: Path
    python: Path | None

    def compiler(self, language: str) -> Path | None:
        """The wrapper for "c", "cxx" or "fort"; None when this MPI has none."""
        suffix = "cc" if language == "c" else language
        wanted = self.mpicc.with_name(self.mpicc.name.replace("mpicc", "mpi" + suffix))
        return wanted if wanted.exists() else None

    def environment(self) -> dict[str, str]:
        """Environment for the launcher: its own directory first, the checkout importable."""
        env = {**os.environ, **OPENMPI_SETTINGS}
        if PRELOAD_VARIABLE in env:
            env.pop("LD_PRELOAD", None)
        env["PATH"] = f"{self.mpiexec.parent}{os.pathsep}{env.get('PATH', '')}"
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH", "")]))
        return env

    def scalatrace(self) -> list[str]:
        """Command that runs scalatrace beside programs of this MPI."""
        return [str(self.python or sys.executable), "-m", "scalatrace"]

    def recorder(self) -> list[str]:
        """Command that records; with the runtimes of a sanitizer if tests run under one."""
        preloaded = os.environ.get(PRELOAD_VARIABLE)
        start = ["env", f"LD_PRELOAD={preloaded}"] if preloaded else []
        return [*start, *self.scalatrace(), "record"]


def family_of(mpiexec: Path) -> str | None:
    """Which MPI a launcher belongs to; None when it does not say."""
    asked = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=60, check=False)
    shown = asked.stdout
    if "HYDRA" in shown:
        return "mpich"
    return "openmpi" if "Open MPI" in shown or "OpenRTE" in shown or "PRRTE" in shown else None


def _in_environment(python: Path) -> Mpi | None:
    """The MPI of a Python environment's own bin folder."""
    mpiexec, mpicc = python.with_name("mpiexec"), python.with_name("mpicc")
    if not (python.exists() and mpiexec.exists() and mpicc.exists()):
        return None
    family = family_of(mpiexec)
    return Mpi(family, family, mpiexec, mpicc, python) if family else None


def _of_distribution(family: str) -> Mpi | None:
    """An MPI that the Linux distribution installed under Debian's names, such as mpiexec.openmpi."""
    mpiexec, mpicc = shutil.which(f"mpiexec.{family}"), shutil.which(f"mpicc.{family}")
    if mpiexec is None or mpicc is None:
        return None
    return Mpi(f"debian-{family}", family, Path(mpiexec), Path(mpicc), None)


@functools.cache
def installed() -> dict[str, Mpi]:
    """The MPIs found, by name: "openmpi", "mpich" (with mpi4py), "debian-openmpi", "debian-mpich"."""
    pythons = [Path(sys.executable), ROOT / ".venv-mpich/bin/python"]
    pythons += [Path(p) for p in os.environ.get(PYTHONS_VARIABLE, "").split(":") if p]
    found = [_in_environment(python) for python in pythons]
    found += [_of_distribution(family) for family in ("openmpi", "mpich")]
    result: dict[str, Mpi] = {}
    for mpi in found:
        if mpi is not None:
            result.setdefault(mpi.name, mpi)
    return result
