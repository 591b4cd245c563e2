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
        large: a size with which two ranks compute most of the time.
    """

    accepts: Callable[[int], bool] = any_number
    large: int = 0

    @property
    def title(self) -> str:
        """The program's name: bt, sweep3d, ..."""
        return self.source.rpartition("/")[2].removesuffix(".py")

    def of_steps(self, steps: int) -> Sample:
        """The sample with so many time steps."""
        return Sample(self.source, (*self.arguments, "--steps", str(steps)), self.deterministic)

    def of_much_computation(self, steps: int) -> Sample:
        """The sample with its large problem."""
        return Sample(self.source, ("--size", str(self.large), "--steps", str(steps)), self.deterministic)


def _workload(source: str, size: int, large: int, accepts: Callable[[int], bool] = any_number) -> Workload:
    return Workload(f"{source}.py", ("--size", str(size)), accepts=accepts, large=large)


#: Sizes serve up to 64 ranks; ft's divides by the sides of all grids of 4, 9, 16, 36 and 64 ranks.
WORKLOADS = (
    _workload("npb/bt", 8, 48, square),
    _workload("npb/sp", 16, 64, square),
    _workload("npb/cg", 8, 2000, power_of_two),
    _workload("npb/ep", 32, 400_000),
    _workload("npb/ft", 24, 64),
    _workload("npb/is", 64, 400_000),
    _workload("npb/lu", 8, 64),
    _workload("npb/mg", 16, 64, power_of_two),
    _workload("sweep3d", 2, 32),
    _workload("ocean", 4, 256),
    _workload("amr", 4, 256),
    _workload("coupled", 4, 2048),
    _workload("hpl", 2, 200),
)
