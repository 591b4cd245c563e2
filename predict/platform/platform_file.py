"""Read and write platforms as TOML, whose keys are the attributes of the classes in `model.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

import tomlkit
import tomlkit.items

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import parse_toml, read_text, write_file
from scalatrace.predict.platform.model import (
    MatchingCost,
    Network,
    Platform,
    PlatformCheck,
    Segment,
    StridedCost,
)
from scalatrace.predict.platform.table_objects import as_list, as_table, object_of, read_rules
from scalatrace.predict.platform.topology import NetworkTopology, TopologyLink
from scalatrace.spelling import did_you_mean

__all__ = ["FORMAT", "add_check", "example_names", "platform_text", "read_platform", "write_platform"]

FORMAT = 1
"""Version of the file."""


def example_names() -> list[str]:
    """Return the names of the platforms that are installed with the package."""
    return sorted(path.name.removesuffix(".toml") for path in _examples() if path.name.endswith(".toml"))


def read_platform(path: str | Path) -> Platform:
    """Read a platform file, or an installed example by its name.

    Raises:
        FormatError: the file cannot be read, is no TOML or of another version.
        UsageError: a key is unknown, or a value is of another type or out of range; names the key.
    """
    raw = parse_toml(_text(path), path)
    version = raw.pop("format", None)
    if version != FORMAT:
        raise FormatError(f"format is {version!r}, expected {FORMAT}: not a platform of this version", path)
    try:
        return _platform(_resolve_hosts(raw, Path(path).parent))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _resolve_hosts(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the table with the path of a file of hosts, which is relative to the platform file's folder."""
    kind, _, hosts = str(raw.get("placement", "")).partition(":")
    return {**raw, "placement": f"file:{folder / hosts}"} if kind == "file" and hosts else raw


def _examples() -> list[Any]:
    return list(resources.files("scalatrace.predict.platform").joinpath("examples").iterdir())


def _text(path: str | Path) -> str:
    if not Path(path).exists():
        for example in _examples():
            if example.name == f"{path}.toml":
                return str(example.read_text(encoding="utf-8"))
        if not str(path).endswith(".toml"):
            names = example_names()
            platforms = ", ".join(names) + did_you_mean(str(path), names)
            raise UsageError(f"{path}: no such file, and no installed platform; installed: {platforms}")
    return read_text(path)


def _platform(raw: dict[str, Any]) -> Platform:
    parts: dict[str, Any] = {}
    for key in ("network", "memory"):
        if key in raw:
            parts[key] = _network(raw.pop(key), key)
    for key, kind in (("matching", MatchingCost), ("strided", StridedCost)):
        if key in raw:
            parts[key] = object_of(kind, raw.pop(key), key)
    if "topology" in raw:
        parts["topology"] = _topology(raw.pop("topology"))
    if "collectives" in raw:
        parts["collectives"] = read_rules(raw.pop("collectives"))
    if "checks" in raw:
        listed = enumerate(as_list(raw.pop("checks"), "checks"))
        parts["checks"] = tuple(object_of(PlatformCheck, check, f"checks[{i}]") for i, check in listed)
    return object_of(Platform, raw, "", parts)


def _network(raw: object, where: str) -> Network:
    table = dict(as_table(raw, where))
    segments = as_list(table.pop("segments", [{}]), f"{where}.segments")
    listed = tuple(
        object_of(Segment, segment, f"{where}.segments[{i}]") for i, segment in enumerate(segments)
    )
    return object_of(Network, table, where, {"segments": listed})


def _topology(raw: object) -> NetworkTopology:
    table = dict(as_table(raw, "topology"))
    links = enumerate(as_list(table.pop("links", []), "topology.links"))
    listed = tuple(object_of(TopologyLink, link, f"topology.links[{i}]") for i, link in links)
    return object_of(NetworkTopology, table, "topology", {"links": listed})


_COMMENTS = {
    "network": "Messages between nodes. Times in ns, sizes in bytes; a segment starts at `from_bytes`.",
    "memory": "Messages within a node.",
    "collectives": "The first rule that holds is used, then those of `mpi`.",
}


def platform_text(platform: Platform) -> str:
    """Return the file's text; `read_platform` of it gives the same platform."""
    document = tomlkit.document()
    document.add("format", tomlkit.item(FORMAT))
    for name, value in _values(platform).items():
        if name not in ("network", "memory", "matching", "strided", "topology", "collectives", "checks"):
            document.add(name, tomlkit.item(value))
    for name in ("network", "memory"):
        network = getattr(platform, name)
        if network is not None:
            document.add(name, _network_table(network, _COMMENTS[name]))
    for name in ("matching", "strided", "topology"):
        if values := _values(getattr(platform, name)):
            if links := values.pop("links", ()):
                values["links"] = _array([_values(link) for link in links])
            document.add(name, tomlkit.item(values))
    if platform.collectives:
        table = tomlkit.table()
        table.comment(_COMMENTS["collectives"])
        for name, rules in platform.collectives.items():
            table.add(name, _array([_values(rule) for rule in rules]))
        document.add("collectives", table)
    if platform.checks:
        document.add("checks", _array([_values(check) for check in platform.checks]))
    return tomlkit.dumps(document)


def write_platform(path: str | Path, platform: Platform) -> None:
    """Write a platform file. Raises ScalatraceError."""
    write_file(path, platform_text(platform).encode())


def add_check(path: str | Path, check: PlatformCheck) -> None:
    """Append a check to a platform file; its other text stays. Raises ScalatraceError."""
    document = tomlkit.parse(read_text(path))
    before = document.get("checks", [])
    if isinstance(before, tomlkit.items.AoT) or "checks" not in document:
        document.setdefault("checks", tomlkit.aot()).append(tomlkit.item(_values(check)))
    else:  # written within brackets
        document["checks"] = _array([*before.unwrap(), _values(check)])
    write_file(path, tomlkit.dumps(document).encode())


def _values(item: Any) -> dict[str, Any]:
    """Return the attributes that differ from their defaults, as TOML has them."""
    values = {}
    for member in fields(item):
        value = getattr(item, member.name)
        if not member.metadata.get("file", True):
            continue
        if value == member.default or value is None or isinstance(value, (Network, Mapping)):
            continue
        values[member.name] = list(value) if isinstance(value, tuple) else value
    return values


def _network_table(network: Network, comment: str) -> Any:
    table = tomlkit.table()
    table.comment(comment)
    for name, value in _values(network).items():
        if name != "segments":
            table.add(name, value)
    table.add("segments", _array([{"from_bytes": s.from_bytes, **_values(s)} for s in network.segments]))
    return table


def _array(rows: list[dict[str, Any]]) -> Any:
    array = tomlkit.aot()
    for row in rows:
        array.append(tomlkit.item(row))
    return array
