"""Studies: simulations of many settings, whose times are kept in a file until the study is complete."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from scalatrace.errors import FormatError
from scalatrace.files import read_text, write_file

__all__ = ["StudyRun", "StudySetting", "StudyTime", "StudyTimes"]

FORMAT = "scalatrace study 1"
"""First line of a file of times."""


@dataclass(frozen=True)
class StudySetting:
    """What is simulated.

    Attributes:
        trace, platform: files, or the name of an installed platform.
        trace_digest, platform_digest: of their contents, so that times of other contents are not used.
        nprocs, dims, params: sizes of a symbolic trace; None, "" and () of others.
        placement, mpi, network: in place of the platform's; "": as it says.
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
class StudyTime:
    """The result of a simulation.

    Attributes:
        time_ns: None where it failed.
        nprocs: ranks of the trace.
        error: why it failed; "": it did not.
    """

    time_ns: float | None
    nprocs: int
    error: str = ""


class StudyTimes:
    """The times of a study, in a file where there is one.

    Args:
        path: a line of JSON for each time; None: they are kept in memory only.

    Raises:
        FormatError: the file is no file of times.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._times: dict[StudyRun, StudyTime] = dict(_read(path)) if path and path.exists() else {}

    def get(self, run: StudyRun) -> StudyTime | None:
        """Return the time of a run that succeeded before; None: it has to run."""
        time = self._times.get(run)
        return time if time and time.time_ns is not None else None

    def result(self, run: StudyRun) -> StudyTime:
        """Return the result of a run, also of one that failed. Raises KeyError if it was not kept."""
        return self._times[run]

    def keep(self, run: StudyRun, time: StudyTime) -> None:
        """Keep a result; `save` writes it."""
        self._times[run] = time

    def save(self) -> None:
        """Write the times that succeeded, of other studies in the file too. Raises ScalatraceError."""
        if self._path is None:
            return
        lines = [FORMAT, *(_line(run, time) for run, time in self._times.items() if time.time_ns is not None)]
        write_file(self._path, ("\n".join(lines) + "\n").encode())


def _line(run: StudyRun, time: StudyTime) -> str:
    setting = {name: value for name, value in asdict(run.setting).items() if value not in ("", (), None)}
    return json.dumps({**setting, "seed": run.seed, "time_ns": time.time_ns, "ranks": time.nprocs})


def _read(path: Path) -> Iterator[tuple[StudyRun, StudyTime]]:
    first, *lines = read_text(path).splitlines() or [""]
    if first != FORMAT:
        raise FormatError(f"the first line is not {FORMAT!r}: no file of times; give another name", path)
    for number, line in enumerate(lines, 2):
        try:
            yield _parse(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            reason = f"line {number} is no time of a study ({error}); delete the line"
            raise FormatError(reason, path) from None


def _parse(row: Mapping[str, Any]) -> tuple[StudyRun, StudyTime]:
    names = {member.name for member in fields(StudySetting)}
    values = {name: value for name, value in row.items() if name in names}
    for name in ("params", "factors"):
        values[name] = tuple((str(key), value) for key, value in row.get(name, ()))
    time_ns, nprocs, seed = row["time_ns"], row["ranks"], row["seed"]
    if not isinstance(time_ns, (int, float)) or not isinstance(nprocs, int):
        raise TypeError("time_ns and ranks must be numbers")
    return StudyRun(StudySetting(**values), seed), StudyTime(float(time_ns), nprocs)
