"""Budgets of memory and time: a command that exceeds one ends with an error that names it.

A small file can ask for very much work. Where no closed form or limit of its own applies, these two hold.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from scalatrace.cli.output import seconds
from scalatrace.cli.parsing import further
from scalatrace.cli.progress import hide

try:
    import resource
except ImportError:  # no POSIX system: budgets of memory are not enforced there
    resource = None  # type: ignore[assignment]

__all__ = ["TimeExceeded", "add_budgets", "enforced", "over_memory", "over_time"]

MEMORY_SHARE = 0.75
"""Default budget of memory, as a share of what the machine or the control group has."""
MIN_MEMORY = 192 << 20
"""Lowest budget of memory: that of the libraries, with room for a small input."""
MAX_MEMORY = (1 << 63) - 1
"""Larger budgets than a limit of the system can hold are that one."""
GRACE_S = 5.0
"""Seconds that native code has to return to Python before the process ends without it."""
STDOUT = 1
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class TimeExceeded(BaseException):
    """The time of `--max-time` is over; like KeyboardInterrupt, handlers of errors do not catch it."""


def size(text: str) -> int:
    """Return a number of bytes written as 500M or 2G (powers of 1024); 0 is no limit. For argparse."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it as 500M or 2G")
    number = float(match[1])
    nbytes = MAX_MEMORY if number > MAX_MEMORY else min(int(number * _UNITS[match[2].upper()]), MAX_MEMORY)
    if 0 < nbytes < MIN_MEMORY:
        raise argparse.ArgumentTypeError(
            f"{text!r} is less than the {MIN_MEMORY >> 20}M that any command needs"
        )
    return nbytes


def add_budgets(parser: argparse.ArgumentParser, max_seconds: int) -> None:
    """Declare `--max-memory` and `--max-time`, the latter with this default."""
    group = further(parser, "budgets (0: no limit)")
    group.add_argument(
        "--max-memory",
        type=size,
        metavar="SIZE",
        default=None,
        help=f"end when more memory is needed; as 500M or 2G (default {MEMORY_SHARE:.0%}% of the machine's)",
    )
    group.add_argument(
        "--max-time",
        type=seconds,
        metavar="SECONDS",
        default=max_seconds,
        help=f"end when it takes longer (default {max_seconds})",
    )


@contextmanager
def enforced(args: argparse.Namespace) -> Iterator[None]:
    """Hold the command to the budgets of its arguments, if it has any.

    Raises:
        TimeExceeded: `--max-time` is over.
        MemoryError: an allocation beyond `--max-memory` was refused; its text is the budget.
    """
    with _time(getattr(args, "max_time", 0)), _memory(args):
        yield


@contextmanager
def _memory(args: argparse.Namespace) -> Iterator[None]:
    if resource is None or not hasattr(args, "max_memory"):
        yield
        return
    nbytes = _default_memory() if args.max_memory is None else args.max_memory
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _lower(nbytes or resource.RLIM_INFINITY, *before)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    except MemoryError as error:
        raise MemoryError(*[_written(limit)] * (limit != resource.RLIM_INFINITY)) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _lower(*limits: int) -> int:
    """Return the lowest of some limits, of which RLIM_INFINITY (negative here and there) is none."""
    finite = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(finite, default=resource.RLIM_INFINITY)


def _default_memory() -> int:
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            sizes.append(int(Path(path).read_text()))
    return int(min(sizes) * MEMORY_SHARE)


def _written(nbytes: int) -> str:
    unit = next(u for u in "TGMK " if nbytes >= _UNITS[u.strip()])
    return f"{nbytes / _UNITS[unit.strip()]:.4g}{unit.strip()}"


@contextmanager
def _time(max_seconds: float) -> Iterator[None]:
    """Raise TimeExceeded after so many seconds; end the process if that has no effect.

    While the reader of the output does not take it, the time begins anew.
    Signal handlers run between two steps of Python. Native code that does not return needs the second one.
    """
    if not max_seconds or threading.current_thread() is not threading.main_thread():
        yield
        return
    main, lock, done = threading.get_ident(), threading.Lock(), threading.Event()

    def expired(number: int, frame: FrameType | None) -> None:
        done.set()
        raise TimeExceeded(f"{max_seconds:g}")

    def watch() -> None:
        # No signal while a write waits: without buffers, Python would lose what was not yet written.
        while not done.wait(max_seconds):
            if _waits_for_reader():
                continue
            with lock:
                if not done.is_set():
                    signal.pthread_kill(main, signal.SIGALRM)
            if not done.wait(GRACE_S):
                _end(max_seconds)

    before = signal.signal(signal.SIGALRM, expired)
    threading.Thread(target=watch, name="max-time", daemon=True).start()
    try:
        yield
    finally:
        try:
            with lock:
                done.set()
        finally:
            signal.signal(signal.SIGALRM, before)


def _waits_for_reader() -> bool:
    """Return whether standard output is a pipe that is full: a pager shows what was printed so far."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(STDOUT).st_mode)
        return is_pipe and not select.select([], [STDOUT], [], 0)[1]
    except (OSError, ValueError):  # closed
        return False


def _end(max_seconds: float) -> None:
    if (processes := sys.modules.get("multiprocessing")) is not None:  # else there are no children
        for child in processes.active_children():
            child.kill()
    hide()
    with suppress(OSError):
        os.write(sys.stderr.fileno(), f"scalatrace: {over_time(f'{max_seconds:g}')}\n".encode())
    os._exit(1)


def over_time(seconds_: str) -> str:
    """Return the message for a budget of time that is used up."""
    return f"not done after {seconds_} s, the budget of --max-time; give more, or a smaller input"


def over_memory(error: MemoryError) -> str:
    """Return the message for an allocation that was refused."""
    budget = f", the budget of --max-memory {error}" if error.args else ""
    return f"out of memory{budget}; use a smaller input or fewer ranks"
