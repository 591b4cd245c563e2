"""Temporary files and folders beside an output: made, locked, and removed unless they become the output."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import fspath, urandom
from types import FrameType

from scalatrace.files.targets import FilePath

__all__ = ["beside", "create_beside", "lock", "locked", "remove_leftovers", "removed_unless_complete"]

MAX_NAME_BYTES = 255
MIN_LEFTOVER_AGE_S = 60
"""Age from which a temporary file without a lock belongs to no process."""


def create_beside(path: str, mode: int) -> tuple[int, str]:
    """Create a file with a random name in the folder of `path`; its descriptor and path."""
    while True:
        temporary = beside(path)
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(temporary, flags, mode), temporary


def beside(path: str) -> str:
    """Return a random name for what becomes `path` when it is complete."""
    ending = f".{urandom(8).hex()}.tmp"
    folder, name = os.path.split(path)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[: MAX_NAME_BYTES - len(ending)]) + ending)


def remove_leftovers(path: FilePath) -> None:
    """Remove temporary files and folders that killed processes left beside an output.

    Who writes one holds a lock on it, if the file system has locks, and has made it a moment ago.
    """
    folder, name = os.path.split(os.path.abspath(fspath(path)))
    pattern = re.compile(re.escape(name) + r"\.[0-9a-f]{16}\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and _is_left_over(entry.path):
                _remove(entry.path)


def _is_left_over(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        info = os.fstat(descriptor)
        is_old = time.time() - info.st_mtime > MIN_LEFTOVER_AGE_S
        return is_old and info.st_uid == os.geteuid() and lock(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock a file or folder until it is closed; return False if another process has it, or without locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Lock a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def removed_unless_complete(temporary: str) -> Iterator[None]:
    """Remove a temporary file or folder after an error, also after KeyboardInterrupt and at SIGTERM."""
    handler = signal.getsignal(signal.SIGTERM)
    is_ours = threading.current_thread() is threading.main_thread() and handler is not None

    def end(number: int, frame: FrameType | None) -> None:
        _remove(temporary)
        signal.signal(signal.SIGTERM, handler)
        os.kill(os.getpid(), number)  # the handler before, or the end of the process

    if is_ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    except BaseException:
        _remove(temporary)
        raise
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, handler)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
        return
    shutil.rmtree(path, ignore_errors=True)
