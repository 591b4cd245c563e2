"""Write platforms as TOML that people can read and edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import tomlkit
import tomlkit.items

from scalatrace.files import read_text, write_file
from scalatrace.predict.platform.model import Check, Network, Platform
from scalatrace.predict.platform.reader import FORMAT

__all__ = ["add_check", "platform_text", "write_platform"]

_COMMENTS = {
    "network": "Messages between nodes. Times in ns, sizes in bytes; a segment starts at `from_bytes`.",
    "memory": "Messages within a node.",
    "collectives": "The first rule that holds is used, then the thresholds of MPICH.",
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
            document.add(name, _network(network, _COMMENTS[name]))
    for name in ("matching", "strided", "topology"):
        if values := _values(getattr(platform, name)):
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


def add_check(path: str | Path, check: Check) -> None:
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
    for each in fields(item):
        value = getattr(item, each.name)
        if value == each.default or value is None or isinstance(value, (Network, Mapping)):
            continue
        values[each.name] = list(value) if isinstance(value, tuple) else value
    return values


def _network(network: Network, comment: str) -> Any:
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
