"""How to replay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from scalatrace.trace.query.factors import FactorRule


class ComputeMode(Enum):
    """What a rank does in place of computing."""

    SPIN = "spin"
    SLEEP = "sleep"
    NONE = "none"


class TimeChoice(Enum):
    """How long a computation takes: the mean of its histogram, or a sample."""

    MEAN = "mean"
    DRAWN = "drawn"


class CollectiveMode(Enum):
    """How collectives are replayed."""

    NATIVE = "native"
    P2P = "p2p"


@dataclass(frozen=True)
class ReplayOptions:
    """Choices of one replay.

    Attributes:
        compute: wait out the recorded computation by spinning, sleeping, or not at all.
        compute_scale: factor on the recorded computation times.
        seed: of random payload and sampled times; each rank derives its own.
        times: the mean of each histogram, or drawn from it.
        rules: factors for some of the calls.
        collectives: MPI's own, or messages between each pair of ranks.
        io_folder: folder of the files of MPI-IO; the files of the program are not touched.
    """

    compute: ComputeMode = ComputeMode.SPIN
    compute_scale: float = 1.0
    seed: int = 0
    io_folder: str = "replay-io"
    times: TimeChoice = TimeChoice.MEAN
    rules: tuple[FactorRule, ...] = ()
    collectives: CollectiveMode = CollectiveMode.NATIVE
