"""Values of all ranks that each rank needs before the replay starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.replay.transport.base import Transport

__all__ = ["exchange_parts", "gather_all"]


def gather_all(transport: Transport, mine: Any) -> list[Any]:
    """Return on all ranks what each rank gave, by rank; past any tracer.

    Args:
        mine: numbers, texts, lists and dictionaries of them.
    """
    packed = transport.gather(msgpack.packb(mine))
    everything: list[bytes] = msgpack.unpackb(transport.broadcast(msgpack.packb(packed or [])))
    return [msgpack.unpackb(data, strict_map_key=False, use_list=False) for data in everything]


def exchange_parts(transport: Transport, parts: Sequence[Any]) -> list[Any]:
    """Send each rank its part; return what each rank sent to this one; past any tracer.

    Args:
        parts: numbers, texts, lists and dictionaries of them, by rank.
    """
    packed = transport.exchange([msgpack.packb(part) for part in parts])
    return [msgpack.unpackb(data, strict_map_key=False, use_list=False) for data in packed]
