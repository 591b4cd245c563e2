"""Read input files; errors of the system name the file and a next step."""

from __future__ import annotations

import errno
from typing import Any

from scalatrace.errors import FormatError
from scalatrace.files.targets import FilePath

__all__ = ["hint", "parse_toml", "read_file", "read_text", "read_toml", "unreadable"]

_NEXT_STEPS = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check its permissions",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "give a folder",
}
"""Error of the system -> what the user can do."""


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


def read_toml(path: FilePath) -> dict[str, Any]:
    """Return the content of a TOML file. Raises FormatError."""
    return parse_toml(read_text(path), path)


def parse_toml(text: str, path: FilePath) -> dict[str, Any]:
    """Return the content of a TOML file with this text. Raises FormatError."""
    import tomllib  # takes 5 ms, and few commands need it

    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or int() of thousands of digits
        reason = str(error).split(";")[0]
    except RecursionError:
        reason = "brackets are nested too deeply"
    raise FormatError(f"not valid TOML: {reason}", path)


def unreadable(error: OSError, path: FilePath) -> FormatError:
    """Return the error to raise for a file or folder that the system refuses to read."""
    return FormatError(f"cannot read: {error.strerror}{hint(error)}", path)


def hint(error: OSError) -> str:
    """Return what the user can do about an error, after a semicolon; "" if nothing is known."""
    return f"; {_NEXT_STEPS[error.errno]}" if error.errno in _NEXT_STEPS else ""
