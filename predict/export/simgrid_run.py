"""Run SimGrid's replay of a trace, and read the simulated time."""

from __future__ import annotations

import re
import resource
import subprocess
import tempfile
from pathlib import Path

from scalatrace.compilers.programs import find_program, run_tool
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.predict.export.simgrid import LIST, write_simgrid
from scalatrace.predict.export.simgrid_platform import HOSTS, PLATFORM, write_platform
from scalatrace.predict.lowering import LoweringTarget, TraceLowering
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.trace import Trace

__all__ = ["find_smpirun", "replay", "simgrid_time_ns"]

_TIME = re.compile(r"^\s*(\d+\.\d+).*Simulation time", re.MULTILINE)
OPTIONS = ("--cfg=smpi/host-speed:1Gf", "--cfg=surf/precision:1e-12", "--log=root.fmt:%15.12r%e%m%n")
"""The log prints the clock in seconds before each message; its time is exact, that in the message is not."""


def simgrid_time_ns(
    trace: Trace,
    platform: Platform,
    *,
    target: LoweringTarget | None = None,
    contention: bool = False,
    timeout_s: float | None = None,
) -> float:
    """Return the time that SimGrid's replay takes for a trace on a platform, ns.

    Args:
        target: collectives that SimGrid performs; None: all become messages by the platform's rules.
        contention: whether messages share the links of the platform's topology.
        timeout_s: limit of the time that the simulation may take.

    Raises:
        UsageError: `smpirun` is not installed, or the trace has receives from any source.
        ScalatraceError: the replay does not end: ranks wait for each other, or the time limit is over.
    """
    find_smpirun()
    lowering = TraceLowering(trace, target or LoweringTarget(), platform)
    with tempfile.TemporaryDirectory(prefix="scalatrace-simgrid-") as name:
        folder = Path(name)
        write_simgrid(lowering, folder)
        return replay(folder, lowering.platform, len(lowering.ranks), contention, timeout_s)


def find_smpirun() -> str:
    """Return the path of `smpirun`. Raises UsageError."""
    path = find_program("smpirun")
    if path is None:
        raise UsageError("smpirun is not installed; on Debian and Ubuntu: apt-get install libsimgrid-dev")
    return path


def replay(
    folder: Path, platform: Platform, nranks: int, contention: bool = False, timeout_s: float | None = None
) -> float:
    """Replay the exported trace in a folder on a platform; return the simulated time, ns."""
    write_platform(folder, platform, nranks, contention)
    command = [
        find_smpirun(),
        "-np",
        str(nranks),
        "-platform",
        PLATFORM,
        "-hostfile",
        HOSTS,
        "-replay",
        LIST,
        *OPTIONS,
    ]
    try:
        _allow_open_files()
        done = run_tool(command, cwd=folder, timeout_s=timeout_s)
    except subprocess.TimeoutExpired:
        raise ScalatraceError(f"SimGrid's replay of {nranks} ranks took more than {timeout_s} s") from None
    output = done.stdout + done.stderr
    # A replay in which ranks wait for each other ends with status 0, but prints no time.
    if match := _TIME.search(output):
        return float(match[1]) * 1e9
    raise ScalatraceError(f"SimGrid's replay does not end: {_reason(output)}")


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "eadlock" in line or "rror" in line or "terminate" in line]
    return (errors or lines[-1:] or ["no output"])[0][:300]


def _allow_open_files() -> None:
    """Allow as many open files as the system does: the replay opens one for each rank."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
