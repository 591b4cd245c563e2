"""Bytes that a message reaches over, before and behind its address."""

from __future__ import annotations

import pytest

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.engine.rank import BuiltType
from scalatrace.replay.transport.buffers import BufferPool
from support.memory_transport import MemoryTransport


@pytest.mark.parametrize(
    ("true_lb", "wanted"),
    [
        (0, (0, 16 + 4)),
        (8, (0, 16 + 8 + 4)),
        (-8, (8, 16 + 4)),
        (94_000_000_000_000, (-94_000_000_000_000, 16 + 4)),
        (-94_000_000_000_000, (94_000_000_000_000, 16 + 4)),
    ],
)
def test_addresses_as_displacements_take_no_memory(true_lb: int, wanted: tuple[int, int]) -> None:
    """2 elements of 4 bytes with an extent of 16."""
    before, nbytes = BuiltType(None, 4, 16, true_lb, 4).span(0, 2)
    assert (before, nbytes) == wanted or (before, nbytes) == (wanted[0], max(wanted[1], wanted[0]))


@pytest.mark.parametrize("direction", ["incoming", "outgoing"])
def test_more_than_the_machine_has_is_an_error_of_one_line(direction: str) -> None:
    with pytest.raises(ReplayError, match=f"a message spans {1 << 45} bytes") as caught:
        getattr(BufferPool(MemoryTransport()), direction)(1 << 45)
    assert "\n" not in str(caught.value)
