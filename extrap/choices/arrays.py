"""The table of arrays of a trace, which may be extended."""

from __future__ import annotations

from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.values.compress import vec_of

__all__ = ["Arrays"]


class Arrays:
    """The arrays of a trace, and new ones."""

    def __init__(self, arrays: list[IntArray]) -> None:
        self.arrays = arrays
        self._index: dict[tuple[int, ...], int] = {}
        for i, array in enumerate(arrays):
            if not array.summed:
                self._index.setdefault(array.values, i)

    def index(self, values: tuple[int, ...]) -> int:
        """Return the index of an array; add the array if it is new."""
        if values not in self._index:
            self._index[values] = len(self.arrays)
            self.arrays.append(IntArray(len(values), vec_of(values)))
        return self._index[values]
