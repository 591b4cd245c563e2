"""Files kept between runs (compiled tracers, parser tables), in folders that no other user can write to.

What is in the cache runs in the user's programs. So a folder or file is used only if it belongs to this user
or root and nobody else can write to it. Where that does not hold, or the folder cannot be written,
`scalatrace-UID` in the folder for temporary files takes its place.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scalatrace.errors import ScalatraceError
from scalatrace.files import replace_file
from scalatrace.launched import launched_rank

__all__ = [
    "configured_folder",
    "distrust",
    "find",
    "folders",
    "keep_newest",
    "read",
    "store",
    "writable_folder",
]

VARIABLE = "SCALATRACE_CACHE"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FILE_MODE = 0o644

_reported: set[str] = set()


def configured_folder() -> Path | None:
    """SCALATRACE_CACHE, else scalatrace in XDG_CACHE_HOME, else ~/.cache/scalatrace; None without a home."""
    if folder_text := os.environ.get(VARIABLE):
        return Path(folder_text).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return Path(base, "scalatrace") if os.path.isabs(base) else None


def _fallback_folder() -> Path:
    return Path(os.path.realpath(tempfile.gettempdir()), f"scalatrace-{os.geteuid()}")


def folders(without: str = "") -> Iterator[Path]:
    """The folders of the cache, the first one to look in first, whose paths have none of the characters."""
    configured = configured_folder()
    for folder in (configured and Path(os.path.realpath(configured)), _fallback_folder()):
        if folder and not set(without) & set(str(folder)):
            yield folder


def distrust(folder: Path) -> str | None:
    """Return why nothing in a folder may be used, or None. Raises OSError when there is no such folder."""
    # A symbolic link is refused: its owner could let it name another folder a moment later.
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return _distrust_reason(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _distrust_reason(info: os.stat_result) -> str | None:
    if info.st_uid not in (0, os.geteuid()):
        return f"belongs to user {info.st_uid}"
    return "can be written by other users" if info.st_mode & _OTHERS_WRITE else None


def find(name: str, without: str = "") -> Path | None:
    """Return the path of a file in the cache; None when it is not there, or others could have written it."""
    return next((path for folder in folders(without) if (path := _find_in(folder, name))), None)


def _find_in(folder: Path, name: str) -> Path | None:
    try:
        if not _is_trusted(folder):
            return None
        path = folder / name
        info = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(info.st_mode):
        return None
    if reason := _distrust_reason(info):
        _report(f"cached file {path} is not used: it {reason}")
        return None
    return path


def read(name: str) -> bytes | None:
    """Return the content of a file in the cache; None when it is missing or others could have written it."""
    try:
        return path.read_bytes() if (path := find(name)) else None
    except OSError:
        return None


def store(name: str, data: bytes, without: str = "") -> Path:
    """Put a file into the cache and return its path.

    Raises:
        ScalatraceError: there is no folder for it.
        OSError: it cannot be written.
    """
    path = writable_folder(without) / name
    replace_file(str(path), data, _FILE_MODE)
    return path


def keep_newest(pattern: str, n: int, used: Path) -> None:
    """Mark a file as used now, and remove all but the n files of a pattern that were used last."""
    with suppress(OSError):  # only space is lost
        os.utime(used)
        by_age = sorted(used.parent.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in by_age[n:]:
            path.unlink(missing_ok=True)


def writable_folder(without: str = "") -> Path:
    """Return the folder to write to, created if need be (only its owner may enter it).

    Args:
        without: characters that its path must not have.

    Raises:
        ScalatraceError: there is none that only this user can write to.
    """
    reasons = []
    for folder in folders(without):
        reason = _unusable(folder)
        if reason is None:
            return folder
        reasons.append(f"{folder} {reason}")
    raise ScalatraceError(f"no cache folder: {'; '.join(reasons)}; set {VARIABLE} to a folder of yours")


def _unusable(folder: Path) -> str | None:
    """Return why the cache cannot be written in a folder, which is created if it is not there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        reason = distrust(folder)
    except OSError as error:
        return f"cannot be used: {error.strerror}"
    if reason:
        return reason
    return None if os.access(folder, os.W_OK | os.X_OK, effective_ids=True) else "is not writable"


def _is_trusted(folder: Path) -> bool:
    """Return whether files of a folder may be used; report a configured one that is not. Raises OSError."""
    reason = distrust(folder)
    if reason and folder != _fallback_folder():
        _report(f"cache folder {folder} is not used: it {reason}; see scalatrace doctor")
    return not reason


def _report(text: str) -> None:
    """Print a line on standard error, once per process and on rank 0 only."""
    if text not in _reported and not launched_rank():
        _reported.add(text)
        print(f"scalatrace: {text}", file=sys.stderr)
