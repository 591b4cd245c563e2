"""Read and check tables of TOML files with one `format` key and a list of tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalatrace.errors import FormatError
from scalatrace.files import read_toml

__all__ = ["check_table", "number_map", "read_document"]

_NAMES = {str: "text", float: "number", int: "integer", list: "array", dict: "table"}


def read_document(path: str | Path, kind: str, version: int) -> dict[str, Any]:
    """Return the content of a file. Raises FormatError unless it is TOML of this kind and version."""
    raw = read_toml(path)
    format_version = raw.pop("format", None)
    if format_version != version:
        raise FormatError(
            f"format is {format_version!r}, expected {version}: not {kind} of this version", path
        )
    return raw


def check_table(raw: object, types: Mapping[str, type], where: str, path: str | Path) -> dict[str, Any]:
    """Return a table whose values have the given types. A key ends with `?` if it may be missing.

    Raises:
        FormatError: names the key that is missing, unknown or of another type.
    """
    if not isinstance(raw, dict):
        raise FormatError(f"{where} must be a table", path)
    kinds = {key.removesuffix("?"): kind for key, kind in types.items()}
    for key, value in raw.items():
        if key not in kinds:
            raise FormatError(f"{where}.{key}: unknown key; known: {', '.join(kinds)}", path)
        kind = kinds[key]
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or isinstance(value, bool):
            raise FormatError(f"{where}.{key} is {value!r}; expected {_NAMES[kind]}", path)
    for key in types:
        if not key.endswith("?") and key not in raw:
            raise FormatError(f"{where}.{key} is missing", path)
    return raw


def number_map(raw: dict[str, Any], where: str, path: str | Path) -> dict[str, float]:
    """Return a table of numbers. Raises FormatError."""
    return {
        key: float(value) for key, value in check_table(raw, dict.fromkeys(raw, float), where, path).items()
    }
