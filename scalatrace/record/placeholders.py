"""Placeholders in output paths: `run-%j-%a.st` is `run-4711-3.st` in task 3 of the array job 4711.

    %j  job                 %h  host
    %a  array task          %p  process
    %r  times restarted     %%  a percent sign

Numbers of a job are 0 outside of one. Batch systems set them as variables.
"""

from __future__ import annotations

import os
import re
import socket

__all__ = ["array_task", "fill", "has_placeholders", "restarts"]

_JOB = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID", "COBALT_JOBID", "JOB_ID")
_ARRAY_TASK = ("SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX", "SGE_TASK_ID")
_RESTARTS = ("SLURM_RESTART_COUNT", "RESTARTED")
"""Variables of Slurm, PBS Pro, Torque, LSF, Flux, OAR, Cobalt and Grid Engine."""

_PLACEHOLDER = re.compile(r"%[jahpr%]")


def has_placeholders(path: str) -> bool:
    """Return whether a path has a placeholder."""
    return _PLACEHOLDER.search(path) is not None


def fill(path: str) -> str:
    """Return a path with the values of this process for its placeholders."""
    return _PLACEHOLDER.sub(lambda match: _value(match[0][1]), path)


def array_task() -> str:
    """Return the number of this task of an array job; "" outside of one."""
    number = _first(_ARRAY_TASK)
    return "" if number in ("undefined", "0") and "SLURM_ARRAY_TASK_ID" not in os.environ else number


def restarts() -> int:
    """Return how often the batch system has started this job again."""
    number = _first(_RESTARTS)
    return int(number) if number.isdigit() else 0


def _value(letter: str) -> str:
    match letter:
        case "j":
            return _file_name(_first(_JOB)) or "0"
        case "a":
            return _file_name(array_task()) or "0"
        case "r":
            return str(restarts())
        case "h":
            return _file_name(socket.gethostname())
        case "p":
            return str(os.getpid())
    return "%"


def _first(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _file_name(text: str) -> str:
    """Return `1234[7]` of a batch system as part of a file's name."""
    return re.sub(r"[^\w.-]+", "_", text).strip("_")
