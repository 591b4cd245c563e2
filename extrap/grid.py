"""A grid of ranks: sizes of its dimensions, and where in it a rank is (§3.2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]

NAMES = ("X", "Y", "Z", "W")
"""Names of the sizes; coordinates have the same in small letters."""


@dataclass(frozen=True)
class Grid:
    """Ranks in order over a grid.

    Attributes:
        dims: sizes, that of the first dimension first.
        column_major: whether the first coordinate varies fastest, not the last.
    """

    dims: tuple[int, ...]
    column_major: bool = False

    @property
    def nprocs(self) -> int:
        """Number of ranks."""
        return prod(self.dims)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes."""
        return NAMES[: len(self.dims)]

    @property
    def coords(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(name.lower() for name in self.sizes)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The names' numbers: of coordinates and rank `r` one per rank."""
        ranks = np.arange(self.nprocs, dtype=np.int64)
        places = np.unravel_index(ranks, self.dims, order="F" if self.column_major else "C")
        found: dict[str, Any] = dict(zip(self.sizes, self.dims, strict=True))
        found |= {"P": self.nprocs, "r": ranks}
        found |= {name: place.astype(np.int64) for name, place in zip(self.coords, places, strict=True)}
        return found

    def __str__(self) -> str:
        text = "x".join(map(str, self.dims))
        return f"{text}, column-major" if self.column_major and len(self.dims) > 1 else text
