"""Read Chakra execution traces (MLCommons, schema et_def.proto): a file `NAME.RANK.et` for each rank.

A file is a sequence of protobuf messages, each after its length: metadata, then nodes in any order. The wire
format is read here, so no package is needed. Of a node count: `id` 1, `type` 3, `data_deps` 5,
`duration_micros` 7, and of `attr` 10 the names `comm_type`, `comm_size`, `comm_src`, `comm_dst`, `comm_tag`,
`comm_root`, `pg_name` and `is_cpu_op`. As in Chakra's own feeder, `ctrl_deps` do not count: the converters
have made them data dependencies. Nodes for memory and metadata take no time. The groups of ranks are in JSON,
as for ASTRA-sim's option `--comm-group-configuration`: {"1": [0, 2], ...}.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from scalatrace.convert.schedules.model import (
    ANY,
    OperationKind,
    OperationSchedule,
    ScheduledCollective,
    ScheduledOperation,
)
from scalatrace.errors import FormatError

__all__ = ["chakra_files", "group_file", "read_chakra"]

_NAME = re.compile(r"(.*)\.(\d+)\.et$")
_INVALID, _METADATA, _LOAD, _STORE, _COMP, _SEND, _RECV, _COLL = range(8)
_KINDS = {_SEND: OperationKind.SEND, _RECV: OperationKind.RECV}
_COLLECTIVES = (
    "Allreduce", "Reduce", "Allgather", "Gather", "Scatter", "Bcast", "Alltoall", "Reduce_scatter_block",
    "Reduce_scatter_block", "Barrier",
)  # fmt: skip
_US_NS = 1000

MISSING = "dependencies on nodes that are not there"
MEMORY = "nodes of memory, which take no time"
_MAX_FIELD = (1 << 29) - 1


def chakra_files(folder: Path) -> list[Path]:
    """Return the files of all ranks, in order. Raises FormatError if there is none, or one is missing."""
    by_rank: dict[int, Path] = {}
    names = set()
    for path in sorted(folder.glob("*.et")):
        if match := _NAME.fullmatch(path.name):
            names.add(match[1])
            by_rank[int(match[2])] = path
    if len(names) > 1:
        first, second = sorted(names)[:2]
        raise FormatError(f"it has files of two traces: {first}.N.et and {second}.N.et", folder)
    if not by_rank:
        raise FormatError("no Chakra trace: expected NAME.0.et, NAME.1.et and so on", folder)
    missing = next((rank for rank in range(max(by_rank)) if rank not in by_rank), None)
    if missing is not None:
        raise FormatError(f"there is no file {min(names)}.{missing}.et", folder)
    return [by_rank[rank] for rank in range(len(by_rank))]


def group_file(folder: Path) -> Path | None:
    """Return the JSON file with the groups of ranks; None without one.

    Raises:
        FormatError: the folder has several JSON files, none of which is groups.json.
    """
    files = sorted(folder.glob("*.json"))
    named = folder / "groups.json"
    if named in files:
        return named
    if len(files) > 1:
        raise FormatError("several JSON files; rename that with the groups of ranks to groups.json", folder)
    return files[0] if files else None


def read_chakra(folder: str | PathLike[str]) -> OperationSchedule:
    """Read the trace in a folder.

    Raises:
        FormatError: a file is missing or damaged, or a node lacks what its kind needs.
    """
    files = chakra_files(Path(folder))
    path = group_file(Path(folder))
    groups = {} if path is None else _read_groups(path, len(files))
    left_out: Counter[str] = Counter()
    ranks = [
        _RankReader(file, rank, len(files), groups, path, left_out).read() for rank, file in enumerate(files)
    ]
    return OperationSchedule(ranks, list(files), is_text=False, left_out=left_out)


def _read_groups(path: Path, nranks: int) -> dict[str, tuple[int, ...]]:
    try:
        groups = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no groups of ranks: {error}", path) from None
    if not isinstance(groups, dict):
        raise FormatError("no groups of ranks: it is no JSON object", path)
    result: dict[str, tuple[int, ...]] = {}
    for name, members in groups.items():
        if not _is_group(members, nranks):
            raise FormatError(f"group {name!r} is no list of different ranks from 0 to {nranks - 1}", path)
        result[name] = tuple(members)
    return result


def _is_group(members: Any, nranks: int) -> bool:
    if not isinstance(members, list) or not members:
        return False
    return all(type(rank) is int and 0 <= rank < nranks for rank in members) and len(set(members)) == len(
        members
    )


class _RankReader:
    """Reads the file of one rank; `_at` is the byte of the node, and `_group_path` the groups, for errors."""

    def __init__(
        self,
        path: Path,
        rank: int,
        nranks: int,
        groups: dict[str, tuple[int, ...]],
        group_path: Path | None,
        left_out: Counter[str],
    ) -> None:
        self._path, self._rank, self._nranks, self._groups = path, rank, nranks, groups
        self._group_path, self._left_out, self._at = group_path, left_out, 0

    def read(self) -> list[ScheduledOperation]:
        data = self._path.read_bytes()
        operations: list[ScheduledOperation] = []
        numbers: dict[int, int] = {}
        dependencies: list[list[int]] = []
        at, is_first = 0, True
        while at < len(data):
            self._at = at
            length, at = self._varint(data, at)
            if at + length > len(data):
                raise self._error(f"a message of {length} bytes is longer than the file")
            message, at = data[at : at + length], at + length
            if is_first:
                is_first = False
                continue
            ident, depends, operation = self._node(message)
            if ident in numbers:
                raise self._error(f"two nodes have the id {ident}")
            numbers[ident] = len(operations)
            operations.append(operation)
            dependencies.append(depends)
        if is_first:
            raise self._error("the file is empty")
        for operation, depends in zip(operations, dependencies, strict=True):
            known_idents = [ident for ident in dict.fromkeys(depends) if ident in numbers]
            operation.ended = [numbers[ident] for ident in known_idents]
            if len(known_idents) < len(set(depends)):  # converters of PyTorch's traces drop nodes
                self._left_out[MISSING] += len(set(depends)) - len(known_idents)
        return operations

    def _node(self, message: bytes) -> tuple[int, list[int], ScheduledOperation]:
        ident = kind = duration_us = 0
        depends: list[int] = []
        attributes: dict[str, int | bytes] = {}
        for number, value in self._fields(message):
            if number == 5:
                depends += [value] if isinstance(value, int) else self._packed(value)
            elif number == 10 and isinstance(value, bytes):
                name, attribute = self._attribute(value)
                attributes[name] = attribute
            elif isinstance(value, int):
                ident = value if number == 1 else ident
                kind = value if number == 3 else kind
                duration_us = value if number == 7 else duration_us
        return ident, depends, self._operation(kind, duration_us, attributes)

    def _operation(
        self, kind: int, duration_us: int, attributes: dict[str, int | bytes]
    ) -> ScheduledOperation:
        # Nodes of the host that start a communication are computation; its own node is of the device.
        on_host = self._number(attributes, "is_cpu_op", 0) == 1
        if kind in (_SEND, _RECV) and not on_host:
            peer = self._number(attributes, "comm_dst" if kind == _SEND else "comm_src")
            if not 0 <= peer < self._nranks:
                raise self._error(f"rank {peer} is not one of {self._nranks} ranks")
            size, tag = self._natural(attributes, "comm_size"), self._number(attributes, "comm_tag", 0)
            if tag < (0 if kind == _SEND else ANY):
                raise self._error(f"the attribute comm_tag is {tag}, less than 0")
            return ScheduledOperation(_KINDS[kind], size, peer, tag, self._at)
        if kind == _COLL and not on_host:
            size = self._natural(attributes, "comm_size", 0)
            return ScheduledOperation(
                OperationKind.COLLECTIVE, size, place=self._at, collective=self._collective(attributes)
            )
        if not _INVALID <= kind <= _COLL:
            raise self._error(f"nodes have the types 0 to {_COLL}, not {kind}")
        if kind in (_LOAD, _STORE):
            self._left_out[MEMORY] += 1
        takes_time = kind in (_COMP, _SEND, _RECV, _COLL)
        ns = duration_us * _US_NS if takes_time else 0
        return ScheduledOperation(OperationKind.CALC, ns, place=self._at, cpu=int(on_host))

    def _collective(self, attributes: dict[str, int | bytes]) -> ScheduledCollective:
        number = self._number(attributes, "comm_type")
        if not 0 <= number < len(_COLLECTIVES):
            raise self._error(f"collectives have the types 0 to {len(_COLLECTIVES) - 1}, not {number}")
        name = attributes.get("pg_name", b"")
        group = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        members = tuple(range(self._nranks))
        if group in self._groups:
            members = self._groups[group]
        elif group:
            path = self._group_path
            reason = "there is no groups.json" if path is None else f"{path.name} does not have it"
            raise self._error(f"group {group!r} is named, and {reason}")
        if self._rank not in members:
            raise self._error(f"rank {self._rank} is not in its group {group!r}")
        root = self._number(attributes, "comm_root", members[0])
        if root not in members:
            raise self._error(f"the root {root} is not in the group {group!r}")
        return ScheduledCollective(_COLLECTIVES[number], members, members.index(root))

    def _number(self, attributes: dict[str, int | bytes], name: str, default: int | None = None) -> int:
        value = attributes.get(name, default)
        if not isinstance(value, int):
            raise self._error(f"a node lacks the attribute {name}, an integer")
        return value

    def _natural(self, attributes: dict[str, int | bytes], name: str, default: int | None = None) -> int:
        value = self._number(attributes, name, default)
        if value < 0:
            raise self._error(f"the attribute {name} is {value}, less than 0")
        return value

    def _attribute(self, message: bytes) -> tuple[str, int | bytes]:
        name: str = ""
        result: int | bytes = b""
        for number, value in self._fields(message):
            if number == 1 and isinstance(value, bytes):
                name = value.decode("utf-8", "replace")
            elif number > 2:
                is_zigzag = number in (15, 17) and isinstance(value, int)
                result = (int(value) >> 1) ^ -(int(value) & 1) if is_zigzag else value
                if isinstance(result, int) and number in (7, 9) and result >> 63:
                    result -= 1 << 64
        return name, result

    def _fields(self, message: bytes) -> Iterator[tuple[int, int | bytes]]:
        """Yield number and value of each field; those of 4 and 8 bytes as unsigned integers."""
        at = 0
        while at < len(message):
            key, at = self._varint(message, at)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, at = self._varint(message, at)
                yield number, value
                continue
            if wire == 2:
                length, at = self._varint(message, at)
            else:
                length = {1: 8, 5: 4}.get(wire, -1)
            if length < 0 or at + length > len(message) or not 1 <= number <= _MAX_FIELD:
                raise self._error("a node is damaged")
            field, at = message[at : at + length], at + length
            yield number, field if wire == 2 else int.from_bytes(field, "little")

    def _packed(self, values: bytes) -> list[int]:
        at, result = 0, []
        while at < len(values):
            value, at = self._varint(values, at)
            result.append(value)
        return result

    def _varint(self, data: bytes, at: int) -> tuple[int, int]:
        result = shift = 0
        while at < len(data) and shift < 70:
            byte = data[at]
            result |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return result, at
        raise self._error("the file ends too early, or a number is too long")

    def _error(self, reason: str) -> FormatError:
        return FormatError(reason, self._path, self._at)
