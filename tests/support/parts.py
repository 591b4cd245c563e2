"""Packed cores as lists of their fields (core/src/core/pack.hpp), to be changed and packed again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgpack

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.model.tables import Kind


def fields_of(core: Core) -> list[Any]:
    """The fields of a finished core."""
    unpacker = msgpack.Unpacker(raw=True)
    unpacker.feed(core.pack())
    return list(unpacker)


def packed(fields: Iterable[Any]) -> bytes:
    """The bytes of fields; the opposite of `fields_of`."""
    return b"".join(msgpack.packb(field, use_bin_type=False) for field in fields)


def uncountable(rank: int) -> bytes:
    """A packed core of two ranks whose histogram takes 2^41 values one by one, if both are merged."""
    with Core(rank, 2) as core:
        core.set_policy("Send.count", 8)
        core.define_comm(COMM_WORLD, 0, "world", range(2))
        op = core.define_op("Send", [("count", Kind.INT)])
        for i in range(100):
            core.append(op, [10 * rank + i % 2])
        core.finish()
        fields = fields_of(core)
    slot = fields[-1][0][6][0]
    slot[0], vec = 1, slot[1][0]  # two ranks have more than one group
    vec[0], vec[3] = 1 << 41, 1 << 40
    return packed(fields)
