"""Describe a campaign: command, versions, hosts and their processors, settings of MPI, times."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["host_facts", "run_facts"]

SETTINGS = re.compile(
    r"(OMPI_MCA|PRTE_MCA|PMIX_MCA|MPICH|I_MPI|UCX|FI|OMP|GOMP|KMP|MKL|OPENBLAS|SLURM_JOB_NUM)_"
)
"""Variables of the environment that change how MPI, its network or threads work."""
PACKAGES = ("scalatrace", "numpy", "mpi4py")


def run_facts(command: Sequence[str], mpi_version: str, thread_level: str, nranks: int) -> dict[str, Any]:
    """Return the facts that are equal on all ranks. Variables with passwords or keys are not among them."""
    return {
        "command": list(command),
        "ranks": nranks,
        "thread_level": thread_level,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "mpi": mpi_version.rstrip("\0 \n"),
            **{name: _version(name) for name in PACKAGES},
        },
        "environment": {key: value for key, value in sorted(os.environ.items()) if SETTINGS.match(key)},
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def host_facts() -> dict[str, Any]:
    """Return the facts of this host."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_kb": _field("/proc/meminfo", "MemTotal"),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "clock": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "byte_order": sys.byteorder,
    }


def _processor() -> str:
    return _field("/proc/cpuinfo", "model name") or platform.machine()


def _field(path: str, name: str) -> str:
    """Return the value of the first line `name : value`; "" without."""
    for line in _text(path).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip().removesuffix(" kB")
    return ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
