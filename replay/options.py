"""How to replay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Compute(Enum):
    """What stands in for the program's computation."""

    SPIN = "spin"
    SLEEP = "sleep"
    NONE = "none"


@dataclass(frozen=True)
class Options:
    """Choices of one replay.

    Attributes:
        compute: wait out the recorded computation by spinning, sleeping, or not at all.
        compute_scale: factor on the recorded computation times.
        seed: of the random payload; each rank derives its own.
        io_folder: where the files of MPI-IO lie; the recorded ones are left alone.
    """

    compute: Compute = Compute.SPIN
    compute_scale: float = 1.0
    seed: int = 0
    io_folder: str = "replay-io"
