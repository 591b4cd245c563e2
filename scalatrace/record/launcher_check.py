"""Try whether the launcher on the PATH starts ranks here: as root, and more of them than there are cores.

Open MPI refuses both unless variables are set; which ones depends on its version. So the launcher is run on a
program that does nothing, without and with the variables.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scalatrace.compilers.programs import find_program, run_tool

__all__ = ["LaunchResult", "try_launcher"]

TIMEOUT_S = 20
"""Seconds that a launcher may take to start a program that does nothing."""

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OVERSUBSCRIBE: Sequence[Mapping[str, str]] = (
    {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"},  # Open MPI 5
    {"OMPI_MCA_rmaps_base_oversubscribe": "1"},  # Open MPI 4
)


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """Result of starting a number of ranks.

    Attributes:
        nranks: number of ranks.
        ok: whether they start with the variables that are set now.
        variables: what must be set so that they start; empty if they do already, or if nothing helps.
        error: the first sentence of the launcher's message, if they do not start.
    """

    nranks: int
    ok: bool
    variables: Mapping[str, str]
    error: str = ""

    @property
    def exports(self) -> str:
        """The shell command that sets the variables."""
        return "export " + " ".join(f"{name}={value}" for name, value in self.variables.items())


def try_launcher(launcher: str) -> tuple[LaunchResult, LaunchResult]:
    """Return the results of starting one rank, and one rank more than there are cores."""
    single = _try(launcher, 1, (AS_ROOT,) if os.geteuid() == 0 else (), {})
    ncores = len(os.sched_getaffinity(0))
    return single, _try(launcher, ncores + 1, OVERSUBSCRIBE, single.variables)


def _try(
    launcher: str, nranks: int, remedies: Sequence[Mapping[str, str]], always: Mapping[str, str]
) -> LaunchResult:
    error = _start(launcher, nranks, always)
    if error is None:
        return LaunchResult(nranks, True, {})
    for remedy in remedies:
        if _start(launcher, nranks, {**always, **remedy}) is None:
            return LaunchResult(nranks, False, remedy, error)
    return LaunchResult(nranks, False, {}, error)


def _start(launcher: str, nranks: int, variables: Mapping[str, str]) -> str | None:
    """Start ranks that do nothing; the reason if they do not start, else None."""
    program = find_program("true") or "/bin/true"
    try:
        done = run_tool([launcher, "-n", str(nranks), program], timeout_s=TIMEOUT_S, variables=variables)
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT_S} s"
    except OSError as error:
        return error.strerror or str(error)
    return None if done.returncode == 0 else _first_sentence(done.stderr) or f"exit status {done.returncode}"


def _first_sentence(message: str) -> str:
    """The first sentence of a launcher's message, which wraps its lines and puts rulers around them."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" -=")]
    return re.split(r"[.:;](?: |$)", " ".join(lines), maxsplit=1)[0]
