"""Write output files: regular files are replaced in one step, FIFOs, devices, descriptors written through."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import fspath
from typing import IO

from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files.reading import hint
from scalatrace.files.targets import FilePath, open_stream, resolved
from scalatrace.files.temporary import (
    beside,
    create_beside,
    lock,
    locked,
    remove_leftovers,
    removed_unless_complete,
)

__all__ = ["output_file", "output_folder", "replace_file", "write_file"]

_NEW_MODE, _PRIVATE_MODE = 0o666, 0o600


def write_file(path: FilePath, data: bytes, mode: int | None = None) -> int:
    """Write a file and return its size in bytes.

    A regular file is replaced in one step, so no reader sees half of it; it keeps its permissions, and a
    symbolic link to it stays. Anything else (FIFO, device, /dev/stdout, /dev/fd/N) is opened and written.

    Args:
        mode: permissions of a regular file; None: as of the existing file, or what the umask leaves.

    Raises:
        ScalatraceError: the file cannot be written.
    """
    path = fspath(path)
    try:
        stream = open_stream(path)
        if stream is None:
            replace_file(resolved(path), data, mode)
        else:
            with os.fdopen(stream, "wb") as file:
                file.write(data)
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot write: {error.strerror}{hint(error)}") from None
    return len(data)


def replace_file(path: str, data: bytes, mode: int | None = None) -> None:
    """Write a temporary file beside `path`, then rename it to exactly `path`.

    Args:
        mode: permissions; None: those of the existing file, for a new one what the umask leaves of 0666.

    Raises:
        OSError: the file cannot be written; the temporary file is removed.
    """
    with _replacement(path, mode) as file:
        file.write(data)


@contextmanager
def output_file(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file to be written in parts, as `write_file` does: nobody sees it before it is complete.

    Raises:
        ScalatraceError: the file cannot be written.
    """
    path = fspath(path)
    try:
        stream = open_stream(path)
        opened = _replacement(resolved(path), None) if stream is None else os.fdopen(stream, "wb")
        with opened as file:
            yield file
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot write: {error.strerror}{hint(error)}") from None


@contextmanager
def output_folder(path: FilePath) -> Iterator[str]:
    """Make a new folder that appears when it is complete; gives the path to write to until then.

    Raises:
        UsageError: there is something in the folder already.
        ScalatraceError: the folder cannot be written.
    """
    path = os.path.abspath(fspath(path))
    try:
        if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
            raise UsageError(f"{path}: is there already; give the path of a new folder")
        remove_leftovers(path)
        temporary = beside(path)
        os.mkdir(temporary)
        with removed_unless_complete(temporary), locked(temporary):
            yield temporary
            os.rename(temporary, path)
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot write: {error.strerror}{hint(error)}") from None


@contextmanager
def _replacement(path: str, mode: int | None) -> Iterator[IO[bytes]]:
    """Give a temporary file beside `path`, which is renamed to it at the end; as `replace_file`."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        status = None
    remove_leftovers(path)
    descriptor, temporary = create_beside(path, _NEW_MODE if status is None else _PRIVATE_MODE)
    with removed_unless_complete(temporary):
        with os.fdopen(descriptor, "wb") as file:
            lock(descriptor)
            if mode is not None:
                os.fchmod(descriptor, mode)
            elif status is not None:
                _copy_permissions(descriptor, status)
            yield file
        os.rename(temporary, path)


def _copy_permissions(descriptor: int, status: os.stat_result) -> None:
    """Give a file the owner, group and mode of another, as far as this user may."""
    for owner, group in ((-1, status.st_gid), (status.st_uid, -1)):
        with suppress(OSError):
            os.fchown(descriptor, owner, group)
    with suppress(OSError):  # file systems without permissions
        os.fchmod(descriptor, status.st_mode & 0o777)
