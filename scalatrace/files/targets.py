"""Where an output path leads: a regular file, a descriptor of this process, a FIFO or device."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from os import PathLike, fspath
from zlib import crc32

from scalatrace.errors import UsageError

__all__ = ["FilePath", "check_output", "is_stdout", "is_stream", "open_stream", "path_below", "resolved"]

MAX_LINKS = 40
"""Symbolic links followed in one path, as in Linux."""
STICKY_WORLD_WRITABLE = stat.S_ISVTX | stat.S_IWOTH
"""Mode of a folder in which all users write, and delete only what is theirs."""
_DESCRIPTOR = re.compile(r"/proc/\d+(/task/\d+)?/fd/\d+")

FilePath = str | PathLike[str]


def path_below(folder: str, recorded: str) -> str:
    """Return the path of a replay's or benchmark's own file for a path in a trace. It is in the folder.

    It is equal on all ranks, and different for files of one name in two folders.
    """
    above, name = os.path.split(recorded.replace("\0", "_"))
    mark = f"{crc32(above.encode('utf-8', 'surrogateescape')):08x}-" if above else ""
    return os.path.join(folder, mark + (name if name not in ("", ".", "..") else "unnamed"))


def resolved(path: str) -> str:
    """Follow symbolic links, at most to an entry of a folder (/proc/self/fd).

    Raises:
        OSError: one cannot be followed, or another user planted it in a folder as /tmp.
    """
    if (planted := _find_planted_link(path)) is not None:
        raise OSError(errno.EACCES, f"{planted} is a link of another user; give another path", path)
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


def _find_planted_link(path: str, links: int = MAX_LINKS) -> str | None:
    """Return the link of another user on the way to a path, in a sticky folder where all users may write.

    Its owner could redirect the output. Linux refuses such links only with fs.protected_symlinks=1.
    """
    parts = path.split(os.sep)
    for n in range(1, len(parts) + 1):
        part = os.sep.join(parts[:n])
        try:
            target = os.readlink(part)
            if _is_of_another_user(part):
                return part
        except OSError:
            continue
        target_path = os.path.join(os.path.dirname(part), target, *parts[n:])
        return _find_planted_link(target_path, links - 1) if links else None
    return None


def _is_of_another_user(link: str) -> bool:
    owner, folder = os.lstat(link).st_uid, os.stat(os.path.dirname(link) or ".")
    shared = folder.st_mode & STICKY_WORLD_WRITABLE == STICKY_WORLD_WRITABLE
    return owner != os.geteuid() and shared and folder.st_uid != owner


def _own_descriptor(path: str) -> int | None:
    """Return N when a resolved path is this process's /proc/self/fd/N."""
    folder, number = os.path.split(path)
    folders = (os.path.realpath(f"/proc/{name}/fd") for name in ("self", "thread-self"))
    return int(number) if _DESCRIPTOR.fullmatch(path) and folder in folders else None


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


def open_stream(path: str) -> int | None:
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
        status = os.stat(target) if os.path.lexists(target) else None
    except OSError as error:
        return error.strerror
    if status is not None and stat.S_ISDIR(status.st_mode):
        return "this is a folder; give the path of a file"
    if target.endswith("/"):
        return "this is a folder's name; give the path of a file"
    return _folder_obstacle(os.path.dirname(target), status)


def _folder_obstacle(folder: str, status: os.stat_result | None) -> str | None:
    """Return why no file can be created in a folder, or an old one not replaced."""
    try:
        info = os.stat(folder)
        if not stat.S_ISDIR(info.st_mode):
            return f"{folder} is no folder"
        if os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            users = (0, info.st_uid, status.st_uid if status else os.geteuid())
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
