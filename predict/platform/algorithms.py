"""Algorithms of collective operations, rules that choose them, and the rules where a platform has none.

The message size that a rule counts is the number of bytes that one rank contributes or receives: the whole
vector of Bcast, Reduce, Allreduce and Scan, one rank's block of the others (their mean, where they differ).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.executor import binding
from scalatrace.executor.operations import COLLECTIVES

__all__ = ["DEFAULT_RULES", "AlgorithmRule", "AlgorithmRules", "CollectiveAlgorithm", "algorithm_table"]


@dataclass(frozen=True)
class CollectiveAlgorithm:
    """An algorithm of a collective operation.

    Attributes:
        number: in the executor's table (`native/schedules.hpp`).
        condition: on calls ("an even number of ranks"); "": none.
        otherwise: name of the algorithm that calls without the condition use.
    """

    name: str
    number: int
    condition: str
    otherwise: str


@cache
def algorithm_table() -> dict[str, dict[str, CollectiveAlgorithm]]:
    """Return the algorithms of the executor by operation, without `MPI_` and in lower case, and name."""
    table: dict[str, dict[str, CollectiveAlgorithm]] = {operation: {} for operation in COLLECTIVES}
    operations = list(COLLECTIVES)
    for number in count():
        row = binding.library().st_sim_describe_algorithm(number)
        if row.name is None:
            return table
        name, condition, otherwise = (
            (text or b"").decode() for text in (row.name, row.condition, row.otherwise)
        )
        table[operations[row.collective]][name] = CollectiveAlgorithm(name, number, condition, otherwise)
    raise AssertionError("the table has no end")


@dataclass(frozen=True)
class AlgorithmRule:
    """The algorithm of those calls of a collective operation that fulfil all conditions.

    Attributes:
        max_bytes: largest message, as the rules count it; None: any, as of the other limits.
        min_ranks, max_ranks: smallest and largest communicator.
        max_total_bytes: largest message times ranks.
        max_bytes_per_rank: largest message over ranks, rounded down.
        power_of_two: only communicators of so many ranks.
        blocks: "equal": calls with one size for all ranks; "lists": with a size for each; "": any.
    """

    algorithm: str
    max_bytes: int | None = None
    max_ranks: int | None = None
    max_total_bytes: int | None = None
    max_bytes_per_rank: int | None = None
    power_of_two: bool = False
    blocks: str = ""
    min_ranks: int | None = None

    def __post_init__(self) -> None:
        if self.blocks not in BLOCKS:
            raise UsageError(f'blocks is {self.blocks!r}; known: "equal", "lists"')


BLOCKS = {"": -1, "equal": 0, "lists": 1}
"""Value of `blocks` -> number in st_sim.h."""

MAX_BYTES, MAX_RANKS = (1 << 63) - 1, (1 << 31) - 1
"""Largest message and communicator that the executor can represent."""

DEFAULT_RULES: Mapping[str, tuple[AlgorithmRule, ...]] = {
    "barrier": (AlgorithmRule("dissemination"),),
    "bcast": (
        AlgorithmRule("binomial", 12288),
        AlgorithmRule("binomial", None, 8),
        AlgorithmRule("scatter_allgather"),
    ),
    "reduce": (AlgorithmRule("binomial", 2048), AlgorithmRule("rabenseifner")),
    "allreduce": (AlgorithmRule("recursive_doubling", 2048), AlgorithmRule("rabenseifner")),
    "gather": (AlgorithmRule("binomial"),),
    "scatter": (AlgorithmRule("binomial"),),
    "allgather": (AlgorithmRule("recursive_doubling", 81920), AlgorithmRule("ring")),
    "alltoall": (AlgorithmRule("bruck", 256), AlgorithmRule("pairwise")),
    "reduce_scatter": (AlgorithmRule("recursive_halving", 65536), AlgorithmRule("pairwise")),
    "scan": (AlgorithmRule("recursive_doubling"),),
}
"""Thresholds of MPICH (Thakur, Rabenseifner, Gropp 2005)."""


def _limits(rule: AlgorithmRule) -> tuple[int | None, ...]:
    return rule.max_bytes, rule.min_ranks, rule.max_ranks, rule.max_total_bytes, rule.max_bytes_per_rank


class AlgorithmRules:
    """Rules of all collective operations as the executor reads them; the last list decides every call.

    Attributes:
        array: of all rules; the first one that holds for a call counts.
    """

    def __init__(self, *lists: Mapping[str, Sequence[AlgorithmRule]]) -> None:
        rows = [
            binding.RuleParameters(
                COLLECTIVES[operation],
                algorithms[rule.algorithm].number,
                *(-1 if limit is None else limit for limit in _limits(rule)),
                rule.power_of_two,
                BLOCKS[rule.blocks],
            )
            for operation, algorithms in algorithm_table().items()
            for rules in lists
            for rule in rules.get(operation, ())
        ]
        self.array: Any = (binding.RuleParameters * len(rows))(*rows)

    def choose(self, operation: str, nbytes: int, nranks: int, lists: bool = False) -> str:
        """Return the algorithm of a call; arguments as of `Platform.algorithm`."""
        size = min(nbytes, MAX_BYTES), min(nranks, MAX_RANKS), lists
        executor = binding.library()
        number = executor.st_sim_choose_algorithm(self.array, len(self.array), COLLECTIVES[operation], *size)
        name: bytes = executor.st_sim_describe_algorithm(number).name
        return name.decode()
