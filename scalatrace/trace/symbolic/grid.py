"""A grid of ranks: sizes of its dimensions, and coordinates of a rank (§3.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, prod
from typing import Any

NAMES = ("X", "Y", "Z", "W")
"""Names of the sizes; coordinates have the same in small letters."""

GRID_NAMES = frozenset([*NAMES, *map(str.lower, NAMES)])
"""Sizes of a grid, and a rank's coordinates in it."""


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
        import numpy as np  # takes longer to import than most traces to read

        ranks = np.arange(self.nprocs, dtype=np.int64)
        places = np.unravel_index(ranks, self.dims, order="F" if self.column_major else "C")
        columns: dict[str, Any] = dict(zip(self.sizes, self.dims, strict=True))
        columns |= {"P": self.nprocs, "r": ranks}
        columns |= {name: place.astype(np.int64) for name, place in zip(self.coords, places, strict=True)}
        return columns

    @cached_property
    def axes(self) -> dict[str, Any]:
        """As `columns`, but each coordinate along a dimension of its own, in an order that ranks follow."""
        import numpy as np

        count = len(self.dims)
        axes = dict(self.columns)
        for axis, (name, side) in enumerate(zip(self.coords, self.dims, strict=True)):
            shape = [1] * count
            shape[count - 1 - axis if self.column_major else axis] = side
            axes[name] = np.arange(side, dtype=np.int64).reshape(shape)
        axes["r"] = self.columns["r"].reshape(self.shape)
        return axes

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an array over all ranks that has a dimension for each coordinate."""
        return self.dims[::-1] if self.column_major else self.dims

    def place(self, rank: int) -> dict[str, int]:
        """Return the values of the names in formulas for one rank."""
        place = {**dict(zip(self.sizes, self.dims, strict=True)), "P": self.nprocs, "r": rank}
        names = list(zip(self.coords, self.dims, strict=True))
        remainder = rank
        for name, side in names if self.column_major else reversed(names):
            remainder, place[name] = divmod(remainder, side)
        return place

    def rank(self, place: Sequence[int]) -> int:
        """Return the rank at a place."""
        rank = 0
        pairs = list(zip(place, self.dims, strict=True))
        for x, side in reversed(pairs) if self.column_major else pairs:
            rank = rank * side + x
        return rank

    def __str__(self) -> str:
        text = "x".join(map(str, self.dims))
        return f"{text}, column-major" if self.column_major and len(self.dims) > 1 else text


def balanced(nprocs: int, ndims: int) -> tuple[int, ...]:
    """Return the dimensions that MPI_Dims_create makes: as equal as possible, not increasing."""
    if ndims == 1:
        return (nprocs,)
    if ndims == 2:
        small = next(d for d in range(isqrt(nprocs), 0, -1) if nprocs % d == 0)
        return nprocs // small, small
    divisors = [d for d in range(1, nprocs + 1) if nprocs % d == 0]
    best = min(
        ((d, *balanced(nprocs // d, ndims - 1)) for d in divisors),
        key=lambda dims: (max(dims) - min(dims), dims),
    )
    return tuple(sorted(best, reverse=True))
