"""Objects of dataclasses from the tables of TOML files, whose keys are the attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar, get_type_hints

from scalatrace.errors import UsageError
from scalatrace.predict.platform.algorithms import AlgorithmRule
from scalatrace.spelling import did_you_mean

__all__ = ["as_list", "as_table", "object_of", "read_rules"]

T = TypeVar("T")

_ITEM_TYPES = {"str": ((str,), "texts"), "float": ((int, float), "numbers"), "int": ((int,), "integers")}
_TYPES: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool, "str": str}


def as_table(raw: object, where: str) -> Mapping[str, Any]:
    """Return a value that must be a table. Raises UsageError."""
    if not isinstance(raw, dict):
        raise UsageError(f"{where} must be a table")
    return raw


def as_list(raw: object, where: str) -> list[Any]:
    """Return a value that must be an array of tables. Raises UsageError."""
    if not isinstance(raw, list):
        raise UsageError(f"{where} must be an array of tables: write [[{where}]]")
    return raw


def object_of(kind: type[T], raw: object, where: str, parts: Mapping[str, Any] = {}) -> T:
    """Make an object of a dataclass from a table.

    Args:
        where: key of the table, for errors; "" for the whole file.
        parts: attributes that are read already.

    Raises:
        UsageError: a key is unknown or missing, or a value is of another type or out of range; names the key.
    """
    table = as_table(raw, where)
    types = get_type_hints(kind)
    declared = fields(kind)  # type: ignore[arg-type]
    members = [m.name for m in declared if m.name not in parts and m.metadata.get("file", True)]
    prefix = f"{where}." if where else ""
    for key, value in table.items():
        if key not in members:
            hint = did_you_mean(key, members, likeness=0.5) or f"; known: {', '.join(members)}"
            raise UsageError(f"{prefix}{key}: unknown key{hint}")
        _check_type(value, types[key], prefix + key)
    for member in declared:
        if member.name in members and member.name not in table and _is_required(member):
            raise UsageError(f"{prefix}{member.name} is missing")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values, **parts)
    except UsageError as error:
        raise UsageError(f"{where}: {error}" if where else str(error)) from None


def read_rules(raw: object) -> dict[str, tuple[AlgorithmRule, ...]]:
    """Return the rules of the table `collectives`: by operation, in their order. Raises UsageError."""
    return {
        name: tuple(
            object_of(AlgorithmRule, rule, f"collectives.{name}[{i}]")
            for i, rule in enumerate(as_list(rules, name))
        )
        for name, rules in as_table(raw, "collectives").items()
    }


def _is_required(member: Field[Any]) -> bool:
    return member.default is MISSING and member.default_factory is MISSING


def _check_type(value: object, kind: Any, where: str) -> None:
    """Raise UsageError unless a value from the file has the type of its attribute."""
    name = getattr(kind, "__name__", str(kind))
    if name == "tuple":
        item_types, items = next(types for word, types in _ITEM_TYPES.items() if word in str(kind))
        fits = isinstance(value, list) and all(type(item) in item_types for item in value)
        name = f"array of {items}"
    else:
        base = "int" if "int" in str(kind) else name
        expected = _TYPES.get(base, ())
        fits = isinstance(value, expected) and (base == "bool" or not isinstance(value, bool))
        name = {"int": "integer", "float": "number", "str": "text", "bool": "true or false"}.get(base, base)
    if not fits:
        raise UsageError(f"{where} is {value!r}; expected {name}")
