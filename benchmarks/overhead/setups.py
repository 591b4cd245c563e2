"""Ways of running a loop: plain, under the bare log, under the tracer with each kind of stack or stat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scalatrace.record.shim import INCLUDE
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, run

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop to measure.

    Attributes:
        name: as the table shows it.
        program: argument of loops.c; None for the Python loop.
        calls: MPI calls per repetition.
        limits: most ns per call over the plain run, by setup.
        frames: Python frames above a call, four or more.
    """

    name: str
    program: str | None
    calls: int
    limits: dict[str, int]
    frames: int = 10


LOOPS = (
    Loop("Send to PROC_NULL", "procnull", 1_000_000, {"none": 200, "native": 900}),
    Loop("Irecv + Send + Wait to self", "self", 600_000, {"none": 250, "native": 900}),
    Loop("Send, 5000 different counts", "counts", 300_000, {"none": 500, "native": 900}),
    Loop("Testany of 8, none complete", "polls", 1_000_000, {"none": 60, "native": 60}),
    Loop("mpi4py, 10 Python frames", None, 300_000, {"none": 200, "python": 700}),
)
SETUPS = ("plain", "flat24", "none", "python", "native")
STATS = ("cpu", "cpu:both", "memory", "instructions", "{library}", "{python}")
"""Setups for the stat plug-ins, without stacks; the last two are the samples in C and in Python."""


@dataclass(frozen=True)
class Sample:
    """One run: ns of CPU per MPI call, peak resident memory in KiB."""

    ns: float
    peak_kib: int


class Bench:
    """Compiles the loops and the bare log for one MPI and runs them."""

    def __init__(self, mpi: Mpi, folder: Path) -> None:
        self.mpi = mpi
        self._folder = folder
        self._loops = self._compile("loops.c", "loops")
        self._flat24 = self._compile("flat24.c", "flat24.so", "-shared", "-fPIC")
        plugin = self._compile(SAMPLES / "switches.c", "plugin.so", "-shared", "-fPIC", f"-I{INCLUDE}")
        self._plugins = {"library": plugin, "python": f"{SAMPLES / 'allocations.py'}:Allocations"}

    def _compile(self, source: str | Path, target: str, *flags: str) -> Path:
        result = self._folder / target
        command = [self.mpi.mpicc, "-O2", *flags, "-o", result, HERE / source]
        run(command, env=self.mpi.environment()).check()
        return result

    def python_loop(self, loop: Loop, calls: int) -> list[Argument]:
        """What to give to mpiexec."""
        return [str(self.mpi.python), HERE / "loop.py", str(calls), str(loop.frames)]

    def measure(self, loop: Loop, setup: str, calls: int | None = None) -> Sample:
        """Run a loop once on one rank."""
        ncalls = calls or loop.calls
        command: list[Argument] = [self._loops, loop.program or "", str(ncalls)]
        if loop.program is None:
            command = self.python_loop(loop, ncalls)
        env = {}
        if setup == "flat24":
            env = {"LD_PRELOAD": str(self._flat24), "FLAT24_OUT": str(self._folder / "flat24.bin")}
            command = ["env", *(f"{k}={v}" for k, v in env.items()), *command]
        elif setup != "plain":
            stacks = ["--stacks", "none" if setup in STATS else setup]
            stats = ["--stat", setup.format(**self._plugins)] if setup in STATS else []
            options = ["record", "-o", self._folder / "a.st", *stacks, *stats, "--"]
            command = [*self.mpi.scalatrace(), *options, *command]
        words = mpirun(self.mpi, 1, command, cwd=self._folder, timeout=300).check().stdout.split()
        return Sample(float(words[-2]), int(words[-1]))
