"""What `tune` needs of an MPI library: its algorithms as settings, and the file of its rules.

    candidates(point)   algorithms with their parameters, as settings: control variables with a value
    measured with       the default, and the settings of one candidate, in turn
    rules               candidates that were chosen, by ranks and bytes: text of the library's own file

`openmpi.py` and `mpich.py` implement it. Another library needs such a class, and a place in `run.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.replay.tune.size_rules import SizeRule

__all__ = ["DYNAMIC", "SIZELESS", "MpiLibrary", "OperationRules", "TunedSetting", "usage_lines"]

DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"
"""Variable that has to be 1 before Open MPI starts: communicators then read the chosen algorithms."""

SIZELESS = frozenset({"barrier", "gather", "scatter", "alltoallv", "scan", "exscan"})
"""Operations with one choice for all sizes.

Both libraries take the size of Gather and Scatter from parameters that are significant on some ranks
only, and that of Alltoallv from the own counts of each rank: with rules by size, ranks could choose
different algorithms, and hang. For Scan and Exscan, Open MPI does not multiply by the count, and MPICH
has no sizes.
"""


@dataclass(frozen=True)
class TunedSetting:
    """An algorithm with its parameters.

    Attributes:
        name: as the library calls it.
        number: its value in the library's enumeration.
        settings: control variables and their values, which make the library use it.
        segment: bytes of a segment; 0: not segmented.
        fanout: branches of a tree or chain.
        parameters: further parameters in the notation of the library's file.
    """

    name: str
    number: int
    settings: tuple[tuple[str, int], ...]
    segment: int = 0
    fanout: int = 0
    parameters: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name and parameters, for tables."""
        details = [f"segments of {self.segment} B"] if self.segment else []
        details += [f"fan-out {self.fanout}"] if self.fanout else []
        return f"{self.name} ({', '.join(details)})" if details else self.name


@dataclass(frozen=True)
class OperationRules:
    """Rules of one operation, by the ranks of a communicator.

    Attributes:
        by_ranks: number of ranks -> rules in the library's measure of sizes.
    """

    op: str
    by_ranks: Mapping[int, Sequence[SizeRule[TunedSetting]]] = field(default_factory=dict)


class MpiLibrary(Protocol):
    """An MPI library whose algorithms can be chosen.

    Attributes:
        name: with its version.
        per_communicator: the settings count when a communicator is made, not at each call.
        knows_operators: rules apply to predefined operations of reductions only.
    """

    name: str
    per_communicator: bool
    knows_operators: bool

    def candidates(self, point: CollectivePoint) -> Sequence[TunedSetting]:
        """Return the algorithms for a point, without those that cannot carry it out."""
        ...

    def fallback(self, op: str) -> TunedSetting | None:
        """Return what sizes without a rule get, if a file has rules; None: it is the default."""
        ...

    def rule_bytes(self, point: CollectivePoint) -> int:
        """Return the bytes by which the library's rules choose."""
        ...

    def text(self, rules: Sequence[OperationRules], about: Sequence[str]) -> str:
        """Return the content of the library's file.

        Args:
            about: lines for readers, where the format has comments.
        """
        ...

    def variables(self, rules: Sequence[OperationRules], path: Path) -> Mapping[str, str]:
        """Return the environment variables with which programs use the file."""
        ...

    def options(self, rules: Sequence[OperationRules], path: Path) -> Sequence[str]:
        """Return the options of mpiexec with which programs use the file."""
        ...


def usage_lines(library: MpiLibrary, rules: Sequence[OperationRules], path: Path, nranks: int) -> list[str]:
    """Return how programs are started with a file."""
    options = " ".join(library.options(rules, path))
    exports = " ".join(f"{name}={value}" for name, value in library.variables(rules, path).items())
    return [f"mpiexec -n {nranks} {options} PROGRAM", f"export {exports}"]
