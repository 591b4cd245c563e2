"""The workloads: larger samples with the communication of known programs, and on how many ranks each runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from support.programs import Sample


def any_number(_: int) -> bool:
    """Programs that run on any number of ranks."""
    return True


def square(nprocs: int) -> bool:
    """Programs on a square of ranks."""
    return math.isqrt(nprocs) ** 2 == nprocs


def power_of_two(nprocs: int) -> bool:
    """Programs that halve until one rank is left."""
    return nprocs.bit_count() == 1


@dataclass(frozen=True)
class Workload(Sample):
    """A workload; its arguments are a problem so small that the calls are what takes time.

    Attributes:
        accepts: whether it runs on so many ranks.
    """

    accepts: Callable[[int], bool] = any_number

    @property
    def title(self) -> str:
        """The program's name: bt, sweep3d, ..."""
        return self.source.rpartition("/")[2].removesuffix(".py")

    def of_steps(self, steps: int) -> Sample:
        """The sample with so many time steps."""
        return Sample(self.source, (*self.arguments, "--steps", str(steps)), self.deterministic)


def _workload(source: str, size: int, accepts: Callable[[int], bool] = any_number) -> Workload:
    return Workload(f"{source}.py", ("--size", str(size)), accepts=accepts)


#: Sizes serve up to 64 ranks; ft's divides by the sides of all grids of 4, 9, 16, 36 and 64 ranks.
WORKLOADS = (
    _workload("npb/bt", 8, square),
    _workload("npb/sp", 16, square),
    _workload("npb/cg", 8, power_of_two),
    _workload("npb/ep", 32),
    _workload("npb/ft", 24),
    _workload("npb/is", 64),
    _workload("npb/lu", 8),
    _workload("npb/mg", 16, power_of_two),
    _workload("sweep3d", 2),
    _workload("ocean", 4),
    _workload("amr", 4),
    _workload("coupled", 4),
    _workload("hpl", 2),
)
