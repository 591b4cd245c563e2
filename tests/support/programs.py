"""The sample programs, and how each is run and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.mpis import ROOT, Mpi
from support.running import Argument, run

SAMPLES = ROOT / "samples"


@dataclass(frozen=True)
class Sample:
    """A sample with arguments.

    Attributes:
        source: file in samples/.
        arguments: of the program.
        deterministic: every run makes the same calls on every rank, so that a replay can be compared.
        flags: for the compiler.
    """

    source: str
    arguments: tuple[str, ...] = ()
    deterministic: bool = True
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Readable and unique, for test names."""
        return " ".join((self.source, *self.flags, *self.arguments)).replace("--", "")

    @property
    def language(self) -> str:
        """ "py", or what `Mpi.compiler` calls it."""
        return {".py": "py", ".c": "c", ".cpp": "cxx", ".F90": "fort"}[Path(self.source).suffix]


def _python(source: str, *arguments: str, deterministic: bool = True) -> Sample:
    return Sample(source + ".py", arguments, deterministic)


#: Every sample in every variant.
PYTHON_SAMPLES = (
    _python("ring"),
    _python("stencil2d", "--periodic"),
    _python("stencil2d", "--cartesian"),
    _python("stencil2d", "--points", "9"),
    _python("stencil2d", "--points", "9", "--periodic", "--cartesian"),
    _python("stencil3d"),
    _python("stencil3d", "--points", "27", "--cartesian"),
    _python("stencil3d", "--points", "27", "--periodic"),
    _python("pickled"),
    _python("manager_worker", deterministic=False),
    _python("subcomms"),
    _python("subcomms", "--cart"),
    _python("persistent"),
    _python("fig2_1"),
    _python("fig5_1"),
    _python("fig5_2", "--trips", "growing"),
    _python("fig5_2", "--trips", "zigzag"),
    _python("fig5_4"),
    _python("fig5_6"),
    _python("variability", "ftq", "--halo", "--halo-bytes", "1000", "--steps", "5"),
    _python("variability", "fwq", "--mean-us", "50", "--steps", "5"),
    _python("variability", "dgemm", "--size", "20", "--steps", "5"),
    _python("variability", "spmv", "--size", "20", "--halo", "--halo-bytes", "64", "--steps", "5"),
)
COMPILED_SAMPLES = (
    Sample("heat.c"),
    Sample("wavefront.c", ("6", "8")),
    Sample("conjgrad.c", ("2",)),
    Sample("sort.cpp"),
    Sample("transpose.F90"),
    Sample("transpose.F90", flags=("-DUSE_F08",)),
)


class Workshop:
    """Makes samples runnable; a compiled one is compiled once per MPI."""

    def __init__(self, folder: Path, skip: Callable[[str], object]) -> None:
        """`skip` is called with the reason when an MPI cannot run a sample."""
        self._folder = folder
        self._skip = skip
        self._made: dict[tuple[str, Sample], Path] = {}

    def command(self, mpi: Mpi, sample: Sample) -> list[Argument]:
        """What to give to mpiexec."""
        if sample.language == "py":
            if mpi.python is None:
                self._skip(f"no mpi4py for {mpi.name}")
            return [str(mpi.python), SAMPLES / sample.source, *sample.arguments]
        key = (mpi.name, sample)
        if key not in self._made:
            self._made[key] = self._compile(mpi, sample)
        return [self._made[key], *sample.arguments]

    def _compile(self, mpi: Mpi, sample: Sample) -> Path:
        compiler = mpi.compiler(sample.language)
        if compiler is None:
            self._skip(f"{mpi.name} has no compiler for {sample.source}")
        binary = self._folder / f"{mpi.name}-{Path(sample.source).stem}{''.join(sample.flags)}"
        command = [compiler, "-O2", *sample.flags, "-o", binary, SAMPLES / sample.source, "-lm"]
        made = run([str(a) for a in command], env=mpi.environment(), cwd=self._folder)
        if made.returncode != 0 and sample.language == "fort":
            self._skip(f"{mpi.name} cannot compile Fortran here: {made.stderr.strip()[-200:]}")
        made.check()
        return binary
