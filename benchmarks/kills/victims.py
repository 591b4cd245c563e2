"""Find the processes of one run by a mark in their environment, since their parents may have ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "SCALATRACE_KILLS_RUN"
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""What launchers tell a rank about itself."""


def processes(mark: str) -> dict[int, dict[str, str]]:
    """The environments, by pid, of all living processes of the run that was started with MARK=mark."""
    result = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone, or somebody else's
            words = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            environment = dict(word.split("=", 1) for word in words if "=" in word)
            if environment.get(MARK) == mark:
                result[int(folder.name)] = environment
    return result


def rank_pid(mark: str, rank: int) -> int | None:
    """The process that is a rank of the run: the oldest, should it have started others. None: it is gone."""
    mine = [
        pid
        for pid, environment in processes(mark).items()
        if any(environment.get(name) == str(rank) for name in RANKS)
    ]
    return min(mine, default=None)


def wait_until_gone(mark: str, limit_s: float) -> float:
    """Seconds until no process of the run was left; inf when some were after `limit_s`, and were killed."""
    start = time.monotonic()
    while left := processes(mark):
        if time.monotonic() - start > limit_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return float("inf")
        time.sleep(0.05)
    return time.monotonic() - start
