"""Compile and record random programs, and what consumers need of the recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import scalatrace
from consumers.program import Program, source
from consumers.values import NRANKS
from scalatrace import Trace
from scalatrace.cli.export import with_senders
from scalatrace.operations import operation, sent_bytes
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.requests import ENDING, STARTING, LiveRequests, ages
from support.mpis import Mpi
from support.running import Argument, Finished, record, run

ENVIRONMENT = {
    "OMPI_MCA_osc": "^ucx",
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
"""Windows of UCX write a line for each rank. MPI leaks memory at its end, and the tracer is loaded first."""

TIMEOUT_S = 120.0


class BrokenError(Exception):
    """The programs cannot be compiled or recorded: a fault of a kind of phase, or of the recorder."""


@dataclass(frozen=True)
class Recording:
    """A recorded group of programs.

    Attributes:
        folder: of the source, the trace and its flat logs.
    """

    mpi: Mpi
    folder: Path
    programs: tuple[Program, ...]

    @property
    def path(self) -> Path:
        """The trace file."""
        return self.folder / "app.st"

    @property
    def logs(self) -> Path:
        """The folder of flat logs."""
        return self.folder / "logs"

    @cached_property
    def trace(self) -> Trace:
        """The trace."""
        return scalatrace.load(self.path)

    @cached_property
    def matched(self) -> Trace:
        """The trace with a sender for each receive."""
        return with_senders(self.trace)

    @cached_property
    def totals(self) -> dict[str, tuple[int, int]]:
        """Operation -> calls and bytes handed to MPI, of all ranks, by walking them."""
        calls: Counter[str] = Counter()
        nbytes: Counter[str] = Counter()
        for rank in self.trace.ranks:
            live = LiveRequests[Call](lambda made: operation(made.op).flow_later)
            for call in self.trace.walk(rank):
                calls[call.op] += 1
                nbytes[call.op] += sent_bytes(call.op, call)
                for made in _follow(live, call):
                    nbytes[call.op] += sent_bytes(made.op, made, started=True)
        return {op: (n, nbytes[op]) for op, n in calls.items()}

    @property
    def calls(self) -> dict[str, int]:
        """Operation -> calls of all ranks."""
        return {op: n for op, (n, _) in self.totals.items()}

    def run_recorded(self, argv: Sequence[Argument], name: str) -> tuple[Finished, Trace | None]:
        """Run a program under the recorder, on as many ranks. Return its trace; None: there is none."""
        again = self.folder / f"{name}.st"
        try:
            finished = record(self.mpi, NRANKS, argv, again, env=ENVIRONMENT, timeout=TIMEOUT_S)
        except TimeoutError as error:
            return Finished(1, "", f"it does not end: {str(error).splitlines()[0]}"), None
        return finished, scalatrace.load(again) if finished.returncode == 0 and again.exists() else None


def record_programs(mpi: Mpi, folder: Path, programs: Sequence[Program]) -> Recording:
    """Compile and record programs. Raises BrokenError."""
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording(mpi, folder, tuple(programs))
    text = folder / "app.c"
    text.write_text(source(programs))
    compiled = run(
        [mpi.mpicc, "-O0", "-w", "-o", folder / "app", text], env=mpi.environment(), timeout=TIMEOUT_S
    )
    if compiled.returncode:
        raise BrokenError(f"not compiled: {compiled.stderr.strip()}")
    try:
        finished = record(
            mpi, NRANKS, [folder / "app"], recording.path,
            options=["--flat-log", recording.logs], env=ENVIRONMENT, timeout=TIMEOUT_S,
        )  # fmt: skip
    except TimeoutError as error:
        raise BrokenError(str(error)) from None
    if finished.returncode or not recording.path.exists():
        raise BrokenError(f"not recorded: {finished.stdout}{finished.stderr}")
    return recording


def _follow(live: LiveRequests[Call], call: Call) -> list[Call]:
    """Let a call make and end requests. Return the calls that made those which it starts."""
    if call.op in STARTING:
        return live.of_ages(ages(call))
    if operation(call.op).makes_request:
        live.add(call)
    elif call.op in ENDING or call.op == "Request_free":
        live.end(ages(call), freed=call.op == "Request_free")
    return []
