"""Archives of measurements: JSON lines, the first of which describes the machine and the campaign.

    {"format": "scalatrace calibration", "version": 1, "command": [...], "hosts": {...}, ...}
    {"kind": "pingpong", "level": "memory", "nbytes": 4096, "ns": [812.0, ...], "at_s": 12.3}

Archives are complete: `fit_archive` needs nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scalatrace.errors import FormatError
from scalatrace.files import read_text, write_file

__all__ = ["Archive", "Measurement", "read_archive", "write_archive"]

FORMAT = "scalatrace calibration"
VERSION = 1


@dataclass(frozen=True)
class Measurement:
    """One experiment of a campaign.

    Attributes:
        kind: pingpong, send, recv, burst, unexpected, collective, pairs, reduce_local, pack, kernel,
            threshold.
        ns: a duration per repeat.
        at_s: when it began, since the start of the campaign.
        level: "memory" (within a node) or "network" (between nodes); "": none.
        name: of the operation or kernel.
        nbytes: size of the message.
        params: of a kernel (m, n, k), or of the experiment (entries, ranks, pairing).
        host: where it was measured.
        rank: that measured it; 0 in archives of older versions.
    """

    kind: str
    ns: tuple[float, ...] = ()
    at_s: float = 0.0
    level: str = ""
    name: str = ""
    nbytes: int = 0
    params: dict[str, int] = field(default_factory=dict)
    host: str = ""
    rank: int = 0


@dataclass(frozen=True)
class Archive:
    """Measurements and their metadata, which `metadata.py` describes."""

    metadata: dict[str, Any]
    measurements: tuple[Measurement, ...]

    def of(self, kind: str, level: str | None = None) -> list[Measurement]:
        """Return the measurements of a kind, and level unless None."""
        return [m for m in self.measurements if m.kind == kind and level in (None, m.level)]


def write_archive(path: str | Path, archive: Archive) -> None:
    """Write an archive. Raises ScalatraceError."""
    header = {"format": FORMAT, "version": VERSION, **archive.metadata}
    rows: Iterable[dict[str, Any]] = (_row(m) for m in archive.measurements)
    write_file(path, "".join(f"{json.dumps(row)}\n" for row in (header, *rows)).encode())


def _row(measurement: Measurement) -> dict[str, Any]:
    """Return the attributes that are not empty."""
    return {key: value for key, value in asdict(measurement).items() if value or key == "ns"}


def read_archive(path: str | Path) -> Archive:
    """Read an archive.

    Raises:
        FormatError: the file cannot be read, or a line is not what it should be; names the line.
    """
    lines = read_text(path).splitlines()
    header = _object(lines[0] if lines else "", path, 1)
    if header.pop("format", None) != FORMAT:
        raise FormatError(f"no archive of measurements: the first line has no format {FORMAT!r}", path)
    version = header.pop("version", None)
    if version != VERSION:
        raise FormatError(f"version {version!r} of archives is not supported; expected {VERSION}", path)
    if not _has_readings(header.get("monitor", {})):
        raise FormatError("line 1: 'monitor' must have a list of readings, which are numbers, by host", path)
    hosts = header.get("hosts", {})
    if not isinstance(hosts, dict) or not all(isinstance(facts, dict) for facts in hosts.values()):
        raise FormatError("line 1: 'hosts' must have the facts of each host", path)
    rows = [_measurement(_object(line, path, i), path, i) for i, line in enumerate(lines[1:], 2)]
    return Archive(header, tuple(rows))


def _object(line: str, path: str | Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise FormatError(f"line {number} is no JSON object: not an archive of measurements", path)
    return row


def _has_readings(monitored: object) -> bool:
    """Return whether this is what `HostMonitor` made: host -> readings."""
    if not isinstance(monitored, dict) or not all(isinstance(rows, list) for rows in monitored.values()):
        return False
    readings = [row for rows in monitored.values() for row in rows]
    return all(
        isinstance(row, dict) and all(isinstance(value, _NUMBER) for value in row.values())
        for row in readings
    )


_NUMBER, _TEXT = (int, float), (str,)
_TYPES = {
    "kind": _TEXT, "level": _TEXT, "name": _TEXT, "host": _TEXT, "at_s": _NUMBER, "nbytes": (int,),
    "rank": (int,), "params": (dict,), "ns": (list,),
}  # fmt: skip


def _measurement(row: dict[str, Any], path: str | Path, number: int) -> Measurement:
    for key, value in row.items():
        if key not in _TYPES:
            raise FormatError(f"line {number} has the unknown key {key!r}", path)
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            raise FormatError(f"line {number}: {key} is {value!r}", path)
    durations = row.get("ns", [])
    numbers = [*durations, *row.get("params", {}).values(), row.get("nbytes", 0), row.get("rank", 0)]
    if not all(isinstance(n, _NUMBER) and not isinstance(n, bool) and 0 <= n < 1e300 for n in numbers):
        raise FormatError(f"line {number}: durations, sizes and parameters must be numbers, 0 or more", path)
    if "kind" not in row:
        raise FormatError(f"line {number} has no kind", path)
    return Measurement(**{**row, "ns": tuple(durations)})
