"""Build libraries once: ranks that start at the same moment wait for the one that builds."""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.programs import run_tool
from scalatrace.errors import ScalatraceError

__all__ = ["built_once", "compiler_output"]

MAX_ERROR_LINES = 5
"""Lines of a compiler's complaint that are shown."""


SILENT_S = 1.0
"""Seconds of building after which a notice is printed."""


def built_once(name: str, purpose: str, build: Callable[[Path], bytes], notice: str = "") -> Path:
    """Return the path of a cached file, which `build` makes in the cache's folder if it is not there.

    The file is written aside and renamed, so that no rank sees half of it.

    Args:
        purpose: what is built, for messages: "the tracer".
        notice: a line for standard error if building or waiting takes long; "": none.

    Raises:
        ScalatraceError: there is no folder, or what `build` raises.
    """
    if path := cache.find(name):
        return path
    folder = cache.writable_folder()
    try:
        with _notice(notice), _hold_lock(folder / f"{name}.lock"):
            return cache.find(name) or cache.store(name, build(folder))
    except OSError as error:
        raise ScalatraceError(f"cannot build {purpose} in {folder}: {error.strerror}") from None


@contextmanager
def _notice(text: str) -> Iterator[None]:
    """Print a line if what is done in the context takes longer than SILENT_S."""
    line = f"scalatrace: {text}"
    timer = threading.Timer(SILENT_S, partial(print, line, file=sys.stderr, flush=True))
    timer.daemon = True
    if text:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def compiler_output(command: Sequence[str], purpose: str) -> str:
    """Run a compiler; return what it prints. Raises ScalatraceError with the first lines of its complaint."""
    try:
        result = run_tool(command)
    except OSError as error:
        raise ScalatraceError(f"{command[0]}: {error.strerror}") from None
    if result.returncode:
        words = "\n".join(result.stderr.strip().splitlines()[:MAX_ERROR_LINES])
        raise ScalatraceError(f"{purpose} could not be built with {command[0]}:\n{words}")
    return result.stdout
