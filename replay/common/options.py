"""How to replay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from scalatrace.replay.common.whatif import Rule


class Compute(Enum):
    """What stands in for the program's computation."""

    SPIN = "spin"
    SLEEP = "sleep"
    NONE = "none"


class Times(Enum):
    """How long a computation takes, of which the trace has a histogram."""

    MEAN = "mean"
    DRAWN = "drawn"


class Collectives(Enum):
    """How collectives are replayed."""

    NATIVE = "native"
    P2P = "p2p"


@dataclass(frozen=True)
class Options:
    """Choices of one replay.

    Attributes:
        compute: wait out the recorded computation by spinning, sleeping, or not at all.
        compute_scale: factor on the recorded computation times.
        seed: of the random payload and of drawn times; each rank derives its own.
        times: the mean of each histogram, or drawn from it.
        rules: factors for some of the calls.
        collectives: MPI's own, or messages between each pair of ranks.
        io_folder: where the files of MPI-IO lie; the recorded ones are left alone.
    """

    compute: Compute = Compute.SPIN
    compute_scale: float = 1.0
    seed: int = 0
    io_folder: str = "replay-io"
    times: Times = Times.MEAN
    rules: tuple[Rule, ...] = ()
    collectives: Collectives = Collectives.NATIVE
