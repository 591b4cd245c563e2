"""Placeholders in output paths: `run-%j-%a.st` is `run-4711-3.st` in task 3 of the array job 4711.

    %j  job                 %h  host
    %a  array task          %p  process
    %r  times restarted     %%  a percent sign

Numbers of a job are 0 outside of one. Batch systems set them as variables (launchers.def).
"""

from __future__ import annotations

import os
import re
import socket

from scalatrace.launched import array_task, job, restarts

__all__ = ["fill", "has_placeholders"]

_PLACEHOLDER = re.compile(r"%[jahpr%]")


def has_placeholders(path: str) -> bool:
    """Return whether a path has a placeholder."""
    return _PLACEHOLDER.search(path) is not None


def fill(path: str) -> str:
    """Return a path with the values of this process for its placeholders."""
    return _PLACEHOLDER.sub(lambda match: _value(match[0][1]), path)


def _value(letter: str) -> str:
    match letter:
        case "j":
            return _file_name(job()) or "0"
        case "a":
            return _file_name(array_task()) or "0"
        case "r":
            return str(restarts())
        case "h":
            return _file_name(socket.gethostname())
        case "p":
            return str(os.getpid())
    return "%"


def _file_name(text: str) -> str:
    """Return `1234[7]` of a batch system as part of a file's name."""
    return re.sub(r"[^\w.-]+", "_", text).strip("_")
