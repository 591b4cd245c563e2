"""Parse the statistics of `record --stat`: built-in names, libraries and Python classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scalatrace.errors import UsageError
from scalatrace.files import unreadable

__all__ = ["BUILTINS", "MAX_MEASURED", "StatSpec", "parse_stats"]

BUILTINS = {
    "cpu": "CPU time of the thread: cpu_ns",
    "instructions": "instructions of the thread in user mode, where the hardware counts them",
    "memory": "resident memory of the process: memory_bytes",
}
MAX_MEASURED = 12
"""ST_MAX_STATS of st_core.h less the tracer's own four; `:both` takes two."""

_BEFORE, _CALL = 1, 2
_WINDOWS = {"before": _BEFORE, "call": _CALL, "both": _BEFORE | _CALL}
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_KINDS = ("python", "library", "builtin")
_SYMBOL = b"st_plugin"


@dataclass(frozen=True, slots=True)
class StatSpec:
    """One plug-in and where it measures.

    Attributes:
        word: as the user gave it.
        kind: one of "builtin", "library", "python".
        which: built-in's name, absolute path of the library, `module:Class` or `/absolute/file.py:Class`.
        windows: 1 before the call, 2 inside it, 3 both.
    """

    word: str
    kind: str
    which: str
    windows: int

    @property
    def entry(self) -> str:
        """As the tracer reads it."""
        return f"{self.windows} {self.kind} {self.which}"


def parse_stats(words: Sequence[str]) -> list[StatSpec]:
    """`["cpu", "memory:call", "./libmine.so:both", "mine.py:Mine"]`; what costs most per call comes first.

    Windows are nested, so that the built-ins do not measure what the others cost.

    Raises:
        UsageError: an unknown name, a missing file, one name twice, too many.
    """
    specs = [_parse(word) for word in words]
    if twice := next((s for i, s in enumerate(specs) if s.which in {t.which for t in specs[:i]}), None):
        raise UsageError(
            f"{twice.word} measures {twice.which} a second time; give it once, with :both for both windows"
        )
    if sum(spec.windows.bit_count() for spec in specs) > MAX_MEASURED:
        raise UsageError(f"more than {MAX_MEASURED} statistics (:both counts twice); leave some out")
    return sorted(specs, key=lambda spec: _KINDS.index(spec.kind))


def _parse(word: str) -> StatSpec:
    name, colon, suffix = word.rpartition(":")
    windows = _WINDOWS.get(suffix, 0) if colon else 0
    if not windows:
        name, windows = word, _BEFORE
    if name in BUILTINS:
        return StatSpec(word, "builtin", name, windows)
    target, colon, cls = name.rpartition(":")
    if colon and target and target not in BUILTINS and _CLASS.fullmatch(cls):
        return StatSpec(word, "python", f"{_module(word, target)}:{cls}", windows)
    if "/" in name or ".so" in name:
        return StatSpec(word, "library", _library(word, name), windows)
    raise UsageError(
        f"unknown statistic {word!r}; give {', '.join(BUILTINS)}, a library (./libmine.so) or a Python class "
        "(module:Class, file.py:Class), with :call or :both to measure inside the call"
    )


def _module(word: str, target: str) -> str:
    """The module's name, or the absolute path of its file."""
    if not target.endswith(".py"):
        if not _CLASS.fullmatch(target):
            raise UsageError(
                f"{word}: {target!r} is neither a module nor a .py file; give module:Class or file.py:Class"
            )
        return target
    path = Path(target).absolute()
    _read(word, path)
    return str(path)


def _library(word: str, name: str) -> str:
    path = Path(name).absolute()
    if _SYMBOL not in _read(word, path):
        raise UsageError(f"{word}: {path} exports no {_SYMBOL.decode()}; see st_plugin.h")
    return str(path)


def _read(word: str, path: Path) -> bytes:
    if "\x1f" in str(path) or "\n" in str(path):
        raise UsageError(f"{word!r}: the path has control characters; rename the file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{word}: {unreadable(error, path)}") from None
