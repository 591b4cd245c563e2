"""Studies: simulations of many settings, whose times are kept in a file until the study is complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO

from scalatrace.errors import FormatError, ScalatraceError
from scalatrace.files import read_text

__all__ = ["StudyFile", "StudyResult", "StudyRun", "StudySetting"]

FORMAT = "scalatrace study 1"
"""First line of a file of times."""


@dataclass(frozen=True)
class StudySetting:
    """A setting of a study: trace, platform, and changes to the platform.

    Attributes:
        trace, platform: files, or the name of an installed platform.
        trace_digest, platform_digest: of their contents, with those of plug-ins and files of hosts, and of
            the version of the program, so that times of other contents are not used.
        nprocs, dims, params: sizes of a symbolic trace; None, "" and () of others.
        placement, mpi, network: in place of the platform's; "": those of the platform.
        factors: on parameters of the platform, by the names of `sensitivity.scale_platform`.
    """

    trace: str
    platform: str
    trace_digest: str = ""
    platform_digest: str = ""
    nprocs: int | None = None
    dims: str = ""
    params: tuple[tuple[str, int], ...] = ()
    placement: str = ""
    mpi: str = ""
    network: str = ""
    factors: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class StudyRun:
    """One simulation.

    Attributes:
        seed: of drawn computation times; None: their means.
    """

    setting: StudySetting
    seed: int | None


@dataclass(frozen=True)
class StudyResult:
    """The result of a simulation.

    Attributes:
        time_ns: None where it failed.
        nprocs: ranks of the trace.
        error: why it failed; "": it did not.
        warnings: lines about the trace, for the user; they are not kept in the file.
    """

    time_ns: float | None
    nprocs: int
    error: str = ""
    warnings: tuple[str, ...] = ()


class StudyFile:
    """The results of a study, in a file where there is one.

    Lines are appended, so that several studies may write the same file.

    Args:
        path: a line of JSON for each result; None: they are kept in memory only.

    Raises:
        FormatError: the file is no file of times.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._results: dict[StudyRun, StudyResult] = dict(_read(path)) if path and path.exists() else {}
        self._unsaved: list[str] = []

    def needs(self, run: StudyRun) -> bool:
        """Whether a run has no time yet."""
        result = self._results.get(run)
        return result is None or result.time_ns is None

    def result(self, run: StudyRun) -> StudyResult:
        """Return the result of a run, also of one that failed. Raises KeyError if it was not added."""
        return self._results[run]

    def add(self, run: StudyRun, result: StudyResult) -> None:
        """Add a result; `save` writes it if it has a time."""
        self._results[run] = result
        if result.time_ns is not None:
            self._unsaved.append(_line(run, result))

    def save(self) -> None:
        """Append the times that are new. Raises ScalatraceError."""
        if self._path is None or not (self._unsaved or not self._path.exists()):
            return
        head = [] if self._path.exists() else [FORMAT]
        text = "".join(f"{line}\n" for line in [*head, *self._unsaved])
        try:
            with open(self._path, "a+b") as file:
                if file.tell() and not _ends_line(file):
                    text = "\n" + text
                file.write(text.encode())
        except OSError as error:
            raise ScalatraceError(f"{self._path}: cannot write: {error.strerror}") from None
        self._unsaved.clear()


def _ends_line(file: BinaryIO) -> bool:
    """Whether the last byte ends a line; another one is of a write that was cut off."""
    file.seek(-1, SEEK_END)
    return file.read(1) == b"\n"


def _line(run: StudyRun, result: StudyResult) -> str:
    setting = {name: value for name, value in asdict(run.setting).items() if value not in ("", (), None)}
    return json.dumps({**setting, "seed": run.seed, "time_ns": result.time_ns, "ranks": result.nprocs})


def _read(path: Path) -> Iterator[tuple[StudyRun, StudyResult]]:
    first, *lines = read_text(path).splitlines() or [""]
    if first != FORMAT:
        raise FormatError(f"the first line is not {FORMAT!r}: no file of times; give another name", path)
    for number, line in enumerate(lines, 2):
        if not line.endswith("}") and line.startswith("{"):
            continue  # its write was cut off
        try:
            yield _parse(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            reason = f"line {number} is no time of a study ({error}); delete the line"
            raise FormatError(reason, path) from None


def _parse(row: Any) -> tuple[StudyRun, StudyResult]:
    if not isinstance(row, dict):
        raise TypeError("no JSON object")
    members = {member.name: member for member in fields(StudySetting)}
    values = {name: value for name, value in row.items() if name in members}
    for name in ("params", "factors"):
        values[name] = tuple((str(key), _number(value, name)) for key, value in row.get(name, ()))
    for name, value in values.items():
        if members[name].type == "str" and not isinstance(value, str):
            raise TypeError(f"{name} must be a text")
    seed, nprocs = row["seed"], values.get("nprocs")
    for name, value in (("seed", seed), ("nprocs", nprocs), ("ranks", row["ranks"])):
        if value is not None and type(value) is not int:
            raise TypeError(f"{name} must be an integer")
    result = StudyResult(float(_number(row["time_ns"], "time_ns")), row["ranks"])
    return StudyRun(StudySetting(**values), seed), result


def _number(value: Any, name: str) -> Any:
    if type(value) not in (int, float):
        raise TypeError(f"{name} must be numbers")
    return value
