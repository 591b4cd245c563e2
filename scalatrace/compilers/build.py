"""Build libraries once: ranks that start at the same moment wait for the one that builds.

    libscalatrace_mpich-0123456789abcdef.so              the library
    libscalatrace_mpich-0123456789abcdef.so.building/    where a process builds it
    libscalatrace_mpich-0123456789abcdef.so.building/owner    that process

Who makes the folder builds: file systems of clusters may have no locks, but all have mkdir. The folder of a
process that was killed is removed by the next one that needs the library.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from scalatrace import cache
from scalatrace.compilers.programs import run_tool
from scalatrace.errors import ScalatraceError
from scalatrace.files.temporary import beside, removed_unless_complete

__all__ = ["built_once", "compiler_output"]

MAX_ERROR_LINES = 5
"""Lines of a compiler's complaint that are shown."""


SILENT_S = 1.0
"""Seconds of building after which a notice is printed."""

POLL_S = 0.05
"""Seconds between two looks for a library that another process builds."""

ALIVE_S = 5.0
"""Seconds after which a builder changes the time of its folder again."""

ABANDONED_S = 90.0
"""Seconds without such a change after which a builder on another machine is gone; NFS shows it 60 s late."""


def built_once(name: str, purpose: str, build: Callable[[Path], bytes], notice: str = "") -> Path:
    """Return the path of a cached file, which `build` makes in the cache's folder if it is not there.

    The file is written aside and renamed, so that no rank sees half of it.

    Args:
        purpose: what is built, for messages: "the tracer".
        build: makes the library's content, in a new folder for its own files.
        notice: a line for standard error if building or waiting takes long; "": none.

    Raises:
        ScalatraceError: there is no folder, or what `build` raises.
    """
    if path := cache.find(name):
        return path
    cached = cache.writable_folder()
    claim = cached / f"{name}.building"
    try:
        with _notice(notice):
            return _wait_or_claim(name, claim) or _built(name, claim, build)
    except OSError as error:
        raise ScalatraceError(f"cannot build {purpose} in {cached}: {error.strerror}") from None


def _wait_or_claim(name: str, claim: Path) -> Path | None:
    """Return the library that another process has built, or None when this one is to build it."""
    seen, changed_s = -1, 0.0
    while True:
        with suppress(FileExistsError):
            claim.mkdir(mode=0o700)
            return None
        if path := cache.find(name):
            return path
        with suppress(FileNotFoundError):
            if (mtime := claim.stat().st_mtime_ns) != seen:
                seen, changed_s = mtime, time.monotonic()
            owner = _read_owner(claim)
            if _is_dead(owner) or time.monotonic() - changed_s > ABANDONED_S:
                _remove_abandoned(claim, owner)
        time.sleep(POLL_S)


def _built(name: str, claim: Path, build: Callable[[Path], bytes]) -> Path:
    """Build a library in the folder that this process has made."""
    for other in claim.parent.glob("*.building"):
        if _is_dead(owner := _read_owner(other)):
            _remove_abandoned(other, owner)
    with removed_unless_complete(str(claim)), _kept_alive(claim):
        (claim / "owner").write_text(f"{_machine()} {os.getpid()} {_started_at(os.getpid())}")
        path = cache.find(name) or cache.store(name, build(claim))
    shutil.rmtree(claim, ignore_errors=True)
    return path


@contextmanager
def _kept_alive(claim: Path) -> Iterator[None]:
    """Change the time of the folder again and again: other machines see that its owner is alive."""
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(ALIVE_S):
            with suppress(OSError):
                os.utime(claim)

    thread = threading.Thread(target=touch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _machine() -> str:
    """Return what tells apart machines, and containers that number their processes on their own."""
    return f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')}".replace(" ", "_")


def _started_at(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; "" if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _read_owner(claim: Path) -> str:
    """Return the text in a folder's file, "" without one."""
    try:
        return (claim / "owner").read_text()
    except OSError:
        return ""


def _is_dead(owner: str) -> bool:
    """Whether an owner is known to be gone: it was a process of this machine."""
    machine, *process = owner.split(" ")
    return len(process) == 2 and machine == _machine() and _started_at(int(process[0])) != process[1]


def _remove_abandoned(claim: Path, owner: str) -> None:
    """Remove the folder of a builder that is gone, unless another process did so and builds in it now."""
    moved = Path(beside(str(claim)))
    with suppress(FileNotFoundError):
        claim.rename(moved)
        if _read_owner(moved) == owner:
            shutil.rmtree(moved, ignore_errors=True)
        else:
            moved.rename(claim)


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
