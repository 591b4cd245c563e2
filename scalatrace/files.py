"""Read input files; replace regular output files in one step, write through FIFOs, devices, descriptors."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike, fspath, urandom
from typing import IO
from zlib import crc32

from scalatrace.errors import FormatError, ScalatraceError, UsageError

__all__ = [
    "check_output", "is_stdout", "is_stream", "output_file", "output_folder", "path_below", "read_file",
    "read_text", "replace_file", "resolved", "unreadable", "write_file",
]  # fmt: skip

MAX_LINKS = 40
"""Symbolic links followed in one path, as in Linux."""
MAX_NAME_BYTES = 255
_DESCRIPTOR = re.compile(r"/proc/\d+(/task/\d+)?/fd/\d+")
_NEW_MODE, _PRIVATE_MODE = 0o666, 0o600

FilePath = str | PathLike[str]


_NEXT_STEPS = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check its permissions",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "give a folder",
}
"""Error of the system -> what the user can do."""


def path_below(folder: str, recorded: str) -> str:
    """Return the path of a replay's or benchmark's own file for a path in a trace. It is in the folder.

    It is equal on all ranks, and different for files of one name in two folders.
    """
    above, name = os.path.split(recorded.replace("\0", "_"))
    mark = f"{crc32(above.encode('utf-8', 'surrogateescape')):08x}-" if above else ""
    return os.path.join(folder, mark + (name if name not in ("", ".", "..") else "unnamed"))


def read_file(path: FilePath) -> bytes:
    """Return the content of a file. Raises FormatError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise unreadable(error, path) from None


def read_text(path: FilePath) -> str:
    """Return the content of a file in UTF-8. Raises FormatError."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise unreadable(error, path) from None
    except UnicodeDecodeError as error:
        raise FormatError(f"cannot read: not a text in UTF-8 ({error.reason})", path) from None


def unreadable(error: OSError, path: FilePath) -> FormatError:
    """Return the error to raise for a file or folder that the system refuses to read."""
    return FormatError(f"cannot read: {error.strerror}{_hint(error)}", path)


def _hint(error: OSError) -> str:
    return f"; {_NEXT_STEPS[error.errno]}" if error.errno in _NEXT_STEPS else ""


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
        stream = _open_stream(path)
        if stream is None:
            replace_file(resolved(path), data, mode)
        else:
            with os.fdopen(stream, "wb") as file:
                file.write(data)
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot write: {error.strerror}{_hint(error)}") from None
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
        stream = _open_stream(path)
        opened = _replacement(resolved(path), None) if stream is None else os.fdopen(stream, "wb")
        with opened as file:
            yield file
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot write: {error.strerror}{_hint(error)}") from None


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
        temporary = f"{path}.{urandom(8).hex()}.tmp"
        os.mkdir(temporary)
        try:
            yield temporary
            os.rename(temporary, path)
        except BaseException:  # also KeyboardInterrupt
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot write: {error.strerror}{_hint(error)}") from None


@contextmanager
def _replacement(path: str, mode: int | None) -> Iterator[IO[bytes]]:
    """Give a temporary file beside `path`, which is renamed to it at the end; as `replace_file`."""
    try:
        old = os.lstat(path)
    except FileNotFoundError:
        old = None
    descriptor, temporary = _create_beside(path, _NEW_MODE if old is None else _PRIVATE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            elif old is not None:
                _copy_permissions(descriptor, old)
            yield file
        os.rename(temporary, path)
    except BaseException:  # also KeyboardInterrupt
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _create_beside(path: str, mode: int) -> tuple[int, str]:
    """Create a file with a random name in the folder of `path`; its descriptor and path."""
    folder, name = os.path.split(path)
    while True:
        ending = f".{urandom(8).hex()}.tmp"
        short = os.fsdecode(os.fsencode(name)[: MAX_NAME_BYTES - len(ending)])
        temporary = os.path.join(folder, short + ending)
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(temporary, flags, mode), temporary


def _copy_permissions(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner, group and mode of another, as far as this user may."""
    for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
        with suppress(OSError):
            os.fchown(descriptor, owner, group)
    with suppress(OSError):  # file systems without permissions
        os.fchmod(descriptor, old.st_mode & 0o777)


def resolved(path: str) -> str:
    """Follow symbolic links, at most to an entry of a folder (/proc/self/fd). Raises OSError."""
    for _ in range(MAX_LINKS):
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder or ".")
        path = os.path.join(folder, name)
        if _DESCRIPTOR.fullmatch(path):
            return path
        try:
            path = os.path.join(folder, os.readlink(path))
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):  # no link; nothing there yet
                return path
            raise
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _own_descriptor(path: str) -> int | None:
    """Return N when a resolved path is this process's /proc/self/fd/N."""
    folder, number = os.path.split(path)
    own = (os.path.realpath(f"/proc/{name}/fd") for name in ("self", "thread-self"))
    return int(number) if _DESCRIPTOR.fullmatch(path) and folder in own else None


def is_stream(path: FilePath) -> bool:
    """Return whether a path is to be written through: it exists and is neither a file nor a folder."""
    path = fspath(path)
    try:
        if _DESCRIPTOR.fullmatch(resolved(path)):
            return True
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_stdout(path: FilePath) -> bool:
    """Return whether a path names what standard output is, /dev/null apart."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(1)) and not os.path.samefile(path, os.devnull)
    except OSError:
        return False


def _open_stream(path: str) -> int | None:
    """Return a descriptor to write to what is no regular file, or None for one. Raises OSError."""
    descriptor = _own_descriptor(resolved(path))
    if descriptor is not None:
        if sys.stdout is not None:
            sys.stdout.flush()
        # A copy shares the position in the file, and works for sockets, which cannot be opened.
        return os.dup(descriptor)
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return None
    except FileNotFoundError:
        return None
    return os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)  # a folder: an error


def check_output(path: FilePath, option: str) -> None:
    """Check that a file can be written, without creating anything.

    Raises:
        UsageError: it cannot; the message names option, path and reason.
    """
    if reason := _obstacle(fspath(path)):
        raise UsageError(f"{option} {fspath(path)}: {reason}")


def _obstacle(path: str) -> str | None:
    """Return why a file cannot be written; None when nothing speaks against it."""
    if not path or "\0" in path:
        return "this is no path"
    try:
        target = resolved(path)
        if is_stream(path):
            return None if os.access(path, os.W_OK, effective_ids=True) else os.strerror(errno.EACCES)
        old = os.stat(target) if os.path.lexists(target) else None
    except OSError as error:
        return error.strerror
    if old is not None and stat.S_ISDIR(old.st_mode):
        return "this is a folder; give the path of a file"
    if target.endswith("/"):
        return "this is a folder's name; give the path of a file"
    return _folder_obstacle(os.path.dirname(target), old)


def _folder_obstacle(folder: str, old: os.stat_result | None) -> str | None:
    """Return why no file can be created in a folder, or an old one not replaced."""
    try:
        info = os.stat(folder)
        if not stat.S_ISDIR(info.st_mode):
            return f"{folder} is no folder"
        if os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            users = (0, info.st_uid, old.st_uid if old else os.geteuid())
            if info.st_mode & stat.S_ISVTX and os.geteuid() not in users:
                return f"the file belongs to another user, and {folder} protects it"
            return None
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return f"{folder} is on a read-only file system"
    except FileNotFoundError:
        return f"there is no folder {folder}; create it or give another path"
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return f"folder {folder} is not writable; give another path"
