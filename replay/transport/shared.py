"""Values of all ranks that each rank needs before the replay starts."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.replay.transport.base import Transport

__all__ = ["all_gathered"]


def all_gathered(transport: Transport, mine: Any) -> list[Any]:
    """Return on all ranks what each rank gave, by rank; past any tracer.

    Args:
        mine: numbers, texts, lists and dictionaries of them.
    """
    packed = transport.gather(msgpack.packb(mine))
    everything: list[bytes] = msgpack.unpackb(transport.broadcast(msgpack.packb(packed or [])))
    return [msgpack.unpackb(data, strict_map_key=False, use_list=False) for data in everything]
