"""A command line for each command and mode that needs no MPI, and the files that they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scalatrace.cli import main
from scalatrace.core.binding import COMM_NULL, COMM_WORLD, Core
from scalatrace.trace.io.text import text
from scalatrace.trace.io.writer import save
from support.builder import Builder, Comm
from support.reported import ring

__all__ = ["FORMER_LINES", "LINES", "UNDER_MPI", "prepare"]

LINES = {
    "info": "info a.st",
    "show": "show a.st",
    "stats": "stats a.st --by site",
    "matrix": "matrix a.st",
    "report": "report a.st",
    "diff": "diff a.st b.st",
    "resolve": "resolve native.st -o resolved.st",
    "anonymize": "anonymize a.st -o anonymous.st",
    "merge": "merge m.st.parts -o merged.st",
    "diff --logs": "diff --logs a.st logs",
    "extrapolate": "extrapolate r4.st r6.st r8.st r10.st -P 64 --timing-report -o big.st",
    "check": "check ring.stx --ranks 12 --prove 0",
    "models": "models --platform cluster allreduce --ranks 64",
    "variability": "variability --times times.csv -P 64",
    "regress": "regress --table runs.csv",
    "generate": "generate barrier.st --to c -o bench.c",
    "simulate": "simulate a.st --platform cluster",
    "study": "study a.st --platform cluster --workers 1",
    "export": "export a.st --to goal -o a.goal",
    "import": "import logs -o imported.st",
    "doctor": "doctor",
    "completion": "completion bash",
    "ncptl": "ncptl check ping.ncptl",
}

FORMER_LINES = {
    "pack": "pack a.txt -o packed.st",
    "verify": "verify a.st logs",
    "instantiate": "instantiate ring.stx -P 64 --timing-report -o big.st",
    "version": "version",
}
"""Names that commands had before."""

UNDER_MPI = {"record", "replay", "replay --fixpoint", "replay --sweep", "calibrate", "tune"}
"""Commands that start ranks or run on them; tests of their own start MPI."""


def prepare(folder: Path) -> None:
    """Write what the command lines read; the paths of call sites are long."""
    for name, nprocs in (("a", 4), ("b", 4), ("r4", 4), ("r6", 6), ("r8", 8), ("r10", 10)):
        trace = ring(nprocs, nbytes=1600 if name == "b" else 800)
        trace.frames[:] = [f"/{'deep/' * 30}{frame}" for frame in trace.frames]
        save(trace, folder / f"{name}.st")
    b = Builder(2)
    save(b.of(b.event("Barrier", comm=Comm())), folder / "barrier.st")
    (folder / "a.txt").write_text(text(ring(4)))
    native = ring(4)
    native.frames[0] = "libnothing.so+0x10"
    save(native, folder / "native.st")
    (folder / "ping.ncptl").write_text("TASK 0 SENDS A 8 BYTE MESSAGE TO TASK 1.\n")
    _runs(folder)
    _cores(folder)
    inputs = [str(folder / f"r{n}.st") for n in (4, 6, 8, 10)]
    assert main(["extrapolate", *inputs, "--symbolic", "-o", str(folder / "ring.stx")]) == 0


def _runs(folder: Path) -> None:
    random = np.random.default_rng(1)
    rows = [",".join(f"{1 + 0.01 * random.standard_normal():.5f}" for _ in range(3)) for _ in range(20)]
    (folder / "runs.csv").write_text("\n".join(["first,second,third", *rows]) + "\n")
    times = [",".join(f"{1 + 0.01 * random.random():.5f}" for _ in range(4)) for _ in range(40)]
    (folder / "times.csv").write_text("\n".join(times) + "\n")


def _cores(folder: Path) -> None:
    """Parts of an aborted run, and flat logs, of two ranks that call MPI_Barrier."""
    (folder / "logs").mkdir()
    (folder / "m.st.parts").mkdir()
    for rank in range(2):
        with Core(rank, 2) as core:
            core.flatlog_open(folder / "logs" / f"rank-{rank}.log")
            core.define_comm(COMM_WORLD, COMM_NULL, "world", [0, 1])
            op = core.define_op("Barrier", [])
            for _ in range(3):
                core.append(op, [])
            core.finish()
            core.flatlog_close()
            core.set_meta(f"in-call {rank}", '[{"op": "Recv", "seconds": 7.5, "from": 1, "tag": 3}]')
            core.write_part(folder / "m.st.parts" / f"rank-{rank}.part")
