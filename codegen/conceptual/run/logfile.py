"""A task's log file: prologue, tables, epilogue."""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from getpass import getuser
from typing import TextIO

__all__ = ["LogFile", "facts"]

RULE = "#" * 75
SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|APIKEY|API_KEY|PRIVATE", re.IGNORECASE)
"""Environment variables with such names are not written down."""


def facts(
    program: str,
    rank: int,
    tasks: int,
    library: str,
    seed: int,
    template: str,
    parameters: Mapping[str, tuple[str, int]],
    comments: Sequence[str],
    backend: str,
    timer: str,
) -> dict[str, str]:
    """Return the prologue's lines by key.

    Args:
        program: path of the program.
        rank: this task's processor.
        tasks: how many there are.
        library: what MPI says it is.
        seed: of the random numbers.
        template: for the names of log files.
        parameters: name -> (its help text, value).
        comments: of the user.
        backend: what executes the program.
        timer: its clock.
    """
    lines = {
        "coNCePTuaL language version": "1.5",
        "coNCePTuaL backend": backend,
        "Executable name": program,
        "Working directory": os.getcwd(),
        "Command line": " ".join(sys.argv),
        "Number of tasks": str(tasks),
        "Processor (0<=P<tasks)": str(rank),
        "Host name": platform.node(),
        "Operating system": f"{platform.system()} {platform.release()} {platform.version()}",
        "CPU architecture": platform.machine(),
        "CPU count": str(os.cpu_count()),
        "OS page size": f"{os.sysconf('SC_PAGE_SIZE')} bytes",
        "Physical memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')} bytes",
        "MPI library": library,
        "Microsecond timer type": timer,
        "Average microsecond timer overhead": _overhead(),
        "Random-number seed": str(seed),
        "Log-file template": template,
        "Log creator": _user(),
        "Log creation time": _now(),
    }
    lines |= {f"{text} ({name})": str(value) for name, (text, value) in parameters.items()}
    return lines | {f"Comment {n}": text for n, text in enumerate(comments, 1)}


def _overhead() -> str:
    begin = time.perf_counter_ns()
    for _ in range(100):
        time.perf_counter_ns()
    usecs = (time.perf_counter_ns() - begin) / 100_000
    return "<1 microsecond" if usecs < 1 else f"{usecs:.3g} microseconds"


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        return "unknown"


def _now() -> str:
    return datetime.now().astimezone().strftime("%a %b %d %H:%M:%S %Y")


def _appending(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_APPEND, 0o666)


class LogFile:
    """A log file that is open for writing; a program that stops early leaves the tables it had finished."""

    def __init__(self, path: str, prologue: Mapping[str, str], source: str) -> None:
        """Open the file and write its prologue. A compiled program may append tables. Raises OSError."""
        self.path = path
        # Open as long as the program runs; each write goes to the end, behind those of others.
        self._file: TextIO = open(  # noqa: SIM115
            path, "w", encoding="utf-8", errors="surrogateescape", opener=_appending
        )
        self._is_empty = True
        self._began = time.monotonic()
        self._tables = 0
        title = "coNCePTuaL log file"
        self._comment("=" * len(title), title, "=" * len(title))
        self._comment(*(f"{key}: {value}" for key, value in prologue.items()), "")
        shown = {name: value for name, value in os.environ.items() if not SECRET.search(name)}
        self._section("Environment variables", [f"{name}: {shown[name]}" for name in sorted(shown)])
        self._section("coNCePTuaL source code", ["    " + line for line in source.rstrip().split("\n")])
        self._file.write(RULE + "\n")
        self._file.flush()

    def _comment(self, *lines: str) -> None:
        if self._is_empty:
            self._file.write(RULE + "\n")
            self._is_empty = False
        for line in lines:
            text = line.replace("\r", "\\r").replace("\n", "\\n")
            self._file.write(f"# {text}".rstrip() + "\n")

    def _section(self, title: str, lines: Sequence[str]) -> None:
        self._comment(title, "-" * len(title), *lines, "")

    def table(self, lines: Sequence[str]) -> None:
        """Write a finished table, an empty line before all but the first."""
        if lines:
            self._file.write("\n" * (self._tables > 0) + "\n".join(lines) + "\n")
            self._file.flush()
            self._tables += 1

    def close(self) -> None:
        """Write the epilogue."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        self._file.write(RULE + "\n")
        self._comment(
            "Program exited normally.",
            f"Log completion time: {_now()}",
            f"Elapsed time: {time.monotonic() - self._began:.0f} seconds",
            f"Process CPU usage (user+system): {used.ru_utime + used.ru_stime:.0f} seconds",
            f"Peak memory allocation: {used.ru_maxrss * 1024} bytes",
        )
        self._file.write(RULE + "\n")
        self._file.close()
