"""Protobuf types of the messages in Chakra execution traces (MLCommons, version 1.0.0)."""

from __future__ import annotations

from functools import cache
from typing import Any

from scalatrace.errors import UsageError

__all__ = ["COLL", "COLLECTIVES", "COMP", "RECV", "SEND", "Types", "types"]

COMP, SEND, RECV, COLL = 4, 5, 6, 7
"""Node types."""

COLLECTIVES = {"allreduce": 0, "allgather": 2, "alltoall": 6, "reduce_scatter": 7}
"""Collective types that ASTRA-sim runs."""

_FIELDS = {
    "AttributeProto": [
        ("name", 1, "string"), ("int32_val", 7, "int32"), ("int64_val", 9, "int64"), ("bool_val", 27, "bool"),
        ("string_val", 29, "string"),
    ],
    "GlobalMetadata": [("version", 1, "string")],
    "Node": [
        ("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, "int32"), ("data_deps", 5, "repeated uint64"),
        ("duration_micros", 7, "uint64"), ("attr", 10, "repeated AttributeProto"),
    ],
}  # fmt: skip
"""Fields by message: name, number, type. An enumeration has the same wire format as an int32."""

PACKAGE = "scalatrace.chakra"


class Types:
    """Classes of the messages."""

    def __init__(self, classes: dict[str, Any]) -> None:
        self.attribute, self.metadata, self.node = (classes[name] for name in _FIELDS)


@cache
def types() -> Types:
    """Make the classes. Raises UsageError if protobuf is not installed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise UsageError(
            "Chakra needs the package protobuf; install it: pip install 'scalatrace[chakra]'"
        ) from None
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="scalatrace_chakra.proto", package=PACKAGE, syntax="proto3"
    )
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        # Members of a oneof are written even if they are 0.
        values = described.oneof_decl.add(name="value") if message == "AttributeProto" else None
        for name, number, kind in fields:
            word = kind.removeprefix("repeated ")
            repeated = word != kind
            made = described.field.add(
                name=name, number=number,
                label=field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL,
            )  # fmt: skip
            if word in _FIELDS:
                made.type, made.type_name = field_type.TYPE_MESSAGE, f".{PACKAGE}.{word}"
            else:
                made.type = getattr(field_type, f"TYPE_{word.upper()}")
            if values is not None and name != "name":
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return Types(
        {
            name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
            for name in _FIELDS
        }
    )
