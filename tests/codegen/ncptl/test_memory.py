"""Message buffers: where they lie, which are shared, and what is written into them."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.conceptual.lowering.events import MessageMemory
from scalatrace.codegen.conceptual.run.memory import TaskBuffers, fill, wrong_bits


@pytest.mark.parametrize("alignment", [1, 8, 64, 4096])
def test_alignment(alignment: int) -> None:
    message = TaskBuffers().message(MessageMemory(alignment=alignment), 100, 0, 1)
    assert len(message) == 100
    assert message.ctypes.data % alignment == 0


@pytest.mark.parametrize("behind", [1, 3, -4])
def test_misalignment_is_from_a_page(behind: int) -> None:
    message = TaskBuffers().message(MessageMemory(alignment=behind, misaligned=True), 100, 0, 1)
    assert (message.ctypes.data - behind) % mmap.PAGESIZE == 0


def test_who_shares() -> None:
    buffers = TaskBuffers()

    def place(slot: int = 0, owner: int = 1, size: int = 10, **memory: int) -> int:
        return buffers.message(MessageMemory(**memory), size, slot, owner).ctypes.data  # type: ignore[arg-type]

    assert place() == place(owner=2)
    assert place() != place(slot=1)
    assert place(buffer=3) == place(buffer=3, slot=1) != place(buffer=4)
    assert place(buffer=3, offset=4, size=6) == place(buffer=3) + 4
    assert place(unique=True) == place(unique=True) != place(unique=True, owner=2)


def test_touching() -> None:
    buffers = TaskBuffers()
    named, other = (buffers.message(MessageMemory(buffer=n), 4, 0, 1) for n in (1, 2))
    buffers.touch(1, current=False)
    buffers.touch(None, current=True)
    buffers.touch(None, current=False)
    assert (named[0], other[0]) == (2, 2)


@given(st.integers(0, 100), st.integers(0, 2**63), st.data())
def test_wrong_bits_are_counted(size: int, seed: int, data: st.DataObject) -> None:
    message = np.zeros(size, np.uint8)
    fill(message, seed)
    assert wrong_bits(message) == 0
    if size > 8:
        at = data.draw(st.integers(8, size - 1))
        message[at] ^= 0b101
        assert wrong_bits(message) == 2
