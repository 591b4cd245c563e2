"""Message buffers: reused, aligned, filled with patterns and compared."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from scalatrace.codegen.conceptual.lowering.events import MemoryEvent

__all__ = ["RunBuffers", "fill", "wrong_bits"]

Bytes = npt.NDArray[np.uint8]
BufferKey = tuple[int, bool, int]
"""Owner of a unique message or 0, whether the program gives the number, number."""
GOLDEN = 0x9E3779B97F4A7C15


class RunBuffers:
    """The memory that a task's messages lie in."""

    def __init__(self) -> None:
        self._blocks: dict[BufferKey, tuple[Bytes, MemoryEvent]] = {}
        self._regions: dict[int, Bytes] = {}
        self.current: Bytes = np.empty(0, np.uint8)

    def message(self, memory: MemoryEvent, size: int, slot: int, owner: int) -> Bytes:
        """Return where a message of `size` bytes lies.

        Args:
            memory: what the program says of it.
            size: bytes.
            slot: keeps pending messages apart.
            owner: the event to which a unique message belongs.
        """
        room = memory.offset + size
        named = memory.buffer is not None and not memory.unique
        key = (
            owner if memory.unique else 0,
            named,
            memory.buffer if memory.buffer is not None and named else slot,
        )
        block, before = self._blocks.get(key, (self.current[:0], memory))
        is_alike = before.misaligned == memory.misaligned and memory.alignment in (0, before.alignment)
        if len(block) < room or not is_alike or key not in self._blocks:
            block = self._made(room, memory)
            self._blocks[key] = block, memory
        self.current = block[memory.offset : room]
        return self.current

    def _made(self, room: int, memory: MemoryEvent) -> Bytes:
        """Fresh memory that starts where it is wanted."""
        step = mmap.PAGESIZE if memory.misaligned else max(memory.alignment, 1)
        block = np.zeros(room + 2 * step + abs(memory.alignment), np.uint8)
        start = -block.ctypes.data % step
        if memory.misaligned:
            start += memory.alignment % mmap.PAGESIZE
        return block[start : start + room]

    def touch(self, number: int | None, current: bool) -> None:
        """Write to message buffers: one, the one last used, or all."""
        if current:
            self.current += 1
            return
        for (_, named, buffer), (block, _) in self._blocks.items():
            if number is None or (named and buffer == number):
                block += 1

    def region(self, size: int) -> Bytes:
        """Return memory that is no message's."""
        return self._regions.setdefault(size, np.zeros(size, np.uint8))


def _pattern(seed: int, size: int) -> Bytes:
    words = np.arange(size // 8 + 1, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(seed)
    words ^= words >> np.uint64(29)
    return words.view(np.uint8)[:size]


def fill(message: Bytes, seed: int) -> None:
    """Fill a message with a pattern; its first word says which."""
    if len(message) >= 8:
        message[:8] = np.frombuffer(seed.to_bytes(8, "little"), np.uint8)
        message[8:] = _pattern(seed, len(message) - 8)


def wrong_bits(message: Bytes) -> int:
    """Return how many bits of a filled message are not as they were."""
    if len(message) < 8:
        return 0
    seed = int.from_bytes(message[:8].tobytes(), "little")
    differing = message[8:] ^ _pattern(seed, len(message) - 8)
    return int(np.unpackbits(differing).sum())
