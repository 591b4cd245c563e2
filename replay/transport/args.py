"""Arguments of MPI calls, with the types that the C interface distinguishes.

A handler lists the arguments in the order of the C binding; a transport converts them.
Plain integers are C ints; handles (communicators, datatypes, requests, ...) are the transport's own objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Constant(Enum):
    """Addresses and handles that MPI gives a meaning of their own."""

    IN_PLACE = "MPI_IN_PLACE"
    NULL = "NULL"
    UNWEIGHTED = "MPI_UNWEIGHTED"
    INFO_NULL = "MPI_INFO_NULL"
    ARGV_NULL = "MPI_ARGV_NULL"
    STATUS = "a status to be filled in"


@dataclass(frozen=True, slots=True)
class Count:
    """A number of elements: an int, or an MPI_Count in the large-count form of the call."""

    n: int


@dataclass(frozen=True, slots=True)
class Counts:
    """An array of numbers of elements, or of displacements that grow with them."""

    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Ints:
    """An array of C ints."""

    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Wide:
    """An MPI_Aint or MPI_Offset, in bytes or elements as the call defines it."""

    n: int


@dataclass(frozen=True, slots=True)
class Wides:
    """An array of MPI_Aint."""

    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Text:
    """A C string."""

    text: str


@dataclass(frozen=True, slots=True)
class Handles:
    """An array of handles; those that MPI changes (requests that complete) are changed in the objects."""

    items: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Statuses:
    """Room for n statuses."""

    n: int


@dataclass(slots=True)
class Status:
    """A status that the caller reads afterwards; `room` is the transport's memory of it."""

    room: Any = None


@dataclass(slots=True)
class Out:
    """An int, or with `n` an array of ints, that the call fills in; `value` or `values` afterwards."""

    n: int = 1
    values: list[int] = field(default_factory=list)

    @property
    def value(self) -> int:
        """The first integer that was filled in."""
        return self.values[0]


@dataclass(frozen=True, slots=True)
class Ref:
    """The address of a handle: the call makes, changes or frees it."""

    handle: Any
