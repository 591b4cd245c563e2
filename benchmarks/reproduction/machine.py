"""Facts about the machine and how busy other processes kept it during a measurement."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import time
from pathlib import Path

from scalatrace import __version__
from support.mpis import Mpi

__all__ = ["Busy", "facts"]

_STAT = Path("/proc/stat")
_IDLE = (3, 4)
"""Fields of /proc/stat after "cpu": idle, and waiting for a disk."""
_GUEST = 8
"""Fields from here on are contained in others."""


def facts(mpi: Mpi) -> dict[str, str]:
    """Return cores, system, processor, MPI, Python and version of this package."""
    shown = subprocess.run([mpi.mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "MPI": (shown.splitlines() or [mpi.family])[0],
        "Python": platform.python_version(),
        "scalatrace": __version__,
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


class Busy:
    """Clock of the CPU time that other processes use, from its creation on.

    Processes of this one count when they have ended and were waited for.
    """

    def __init__(self) -> None:
        self._began, self._all_s, self._own_s = time.monotonic(), _all_s(), _own_s()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the creation."""
        return time.monotonic() - self._began

    def others(self) -> float:
        """Return the CPU time of other processes as a fraction of all cores' time."""
        used_s = _all_s() - self._all_s - (_own_s() - self._own_s)
        return max(0.0, used_s / max(0.01, self.elapsed_s) / (os.cpu_count() or 1))


def _all_s() -> float:
    """CPU seconds of all processes since the start of the machine; also those taken by a hypervisor."""
    fields = [int(word) for word in _STAT.read_text().split("\n")[0].split()[1:]]
    ticks = sum(field for i, field in enumerate(fields[:_GUEST]) if i not in _IDLE)
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
