"""Elastic values (dissertation §5.2.1): value vectors of the ranks that share a node.

An elastic value is one of these, all with `at(rank)`:

    Vec       one value vector for all participants
    Groups    a value vector for each of several disjoint groups of ranks
    Columns   one value for each rank, the same in every execution
    Formulas  value vectors by formulas over a rank's place in a grid, where there are too many to write down
    Summary   a histogram of all values, where the user gave up the values themselves (§5.3.1); never a repeat
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalatrace.trace.model.formulas import Elastic, Formulas
from scalatrace.trace.model.groups import Columns, Groups
from scalatrace.trace.values.compress import compress, vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = [
    "Columns", "Elastic", "Formulas", "Groups", "Summary", "Value", "at", "decode", "encode", "gather",
    "vecs",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Summary:
    """A histogram of a parameter's values, recorded in place of the values.

    Attributes:
        histogram: of all values of all ranks (encoded peers, averages of arrays); None: nothing was recorded.
        typical: the value that a walk gives in every execution: the mean; of an array, the index of one with
            the mean length and mean elements; UNDEFINED when nothing was recorded.
    """

    histogram: Histogram | None
    typical: int

    def at(self, rank: int) -> Vec:
        """Return the typical value, for every rank."""
        return Vec(self.typical)

    def __str__(self) -> str:
        return f"~{Vec(self.typical)}"


Value = Elastic | Summary
"""Value of a parameter."""


def at(value: Value, rank: int) -> Vec | None:
    """Return the value vector of a participant of the node; None if the value does not name the rank."""
    return value if type(value) is Vec else value.at(rank)  # type: ignore[union-attr]


def vecs(value: Value) -> list[Vec]:
    """Return the stored value vectors: one per group, none of formulas."""
    if isinstance(value, Groups):
        return [vec for _, vec in value.groups]
    if isinstance(value, Columns):
        return [value.vec]
    if isinstance(value, Summary):
        return [Vec(value.typical)]
    return [value] if isinstance(value, Vec) else []


MAX_FORMULA_DEPTH = 8
"""Nesting of formulas that depend on loops with formulas."""


def decode(raw: object, nprocs: int, depth: int = 0) -> Value:
    """Read the form in the file; `depth`: nesting of formulas that depend on this value.

    Raises:
        ValueError: not an elastic value.
    """
    if type(raw) is not dict:
        return Vec.decode(raw)
    if len(raw) != 1 or next(iter(raw)) not in (0, 1, 2, 3):
        raise ValueError("not a value vector, {0: groups}, {1: columns}, {2: summary} or {3: formulas}")
    kind, parts = next(iter(raw.items()))
    if kind == 2:
        return _summary(parts)
    if kind == 3:
        return _formulas(parts, nprocs, depth)
    if type(parts) is not tuple or len(parts) % 2 or not parts or (kind == 1 and len(parts) != 2):
        raise ValueError("an odd or wrong number of group entries")
    pairs = [
        (RankList.from_terms(ranks, nprocs), Vec.decode(vec))
        for ranks, vec in zip(parts[::2], parts[1::2], strict=True)
    ]
    return Columns(*pairs[0]) if kind == 1 else Groups(pairs)


def _summary(parts: object) -> Summary:
    if type(parts) is not tuple or len(parts) != 2 or type(parts[1]) is not int:
        raise ValueError("a summary is not a pair of histogram (or nil) and value")
    return Summary(None if parts[0] is None else Histogram.decode(parts[0]), parts[1])


def _formulas(parts: object, nprocs: int, depth: int) -> Formulas:
    if type(parts) is not tuple or len(parts) != 6 or type(parts[5]) is not tuple:
        raise ValueError("formulas have a wrong number of parts")
    if depth == MAX_FORMULA_DEPTH:
        raise ValueError(f"formulas depend on loops with formulas, nested more than {MAX_FORMULA_DEPTH} deep")
    around = [decode(raw, nprocs, depth + 1) for raw in parts[5]]
    if any(isinstance(value, Summary) for value in around):
        raise ValueError("the repeat of a node is a histogram")
    return Formulas.decode(parts[:5], around, nprocs)  # type: ignore[arg-type]


def encode(value: Value) -> Any:
    """Return the file's form."""
    if isinstance(value, Vec):
        return value.terms
    if isinstance(value, Summary):
        return {2: (value.histogram and value.histogram.encode(), value.typical)}
    if isinstance(value, Columns):
        return {1: (value.ranks.terms, value.vec.terms)}
    if isinstance(value, Formulas):
        return {3: (*value.encode(), tuple(map(encode, value.around)))}
    return {0: tuple(part for ranks, vec in value.groups for part in (ranks.terms, vec.terms))}


def gather(values: Mapping[int, Sequence[int]]) -> Elastic:
    """Return the smallest elastic value with these values per rank (all participants must be given)."""
    by_values: dict[tuple[int, ...], list[int]] = {}
    for rank in sorted(values):
        by_values.setdefault(tuple(values[rank]), []).append(rank)
    if len(by_values) == 1:
        return vec_of(next(iter(by_values)))
    groups = Groups([(RankList(ranks), vec_of(run)) for run, ranks in by_values.items()])
    if any(len(set(run)) != 1 for run in by_values):
        return groups
    ranks = RankList(values)
    columns = Columns(ranks, Vec(compress(values[rank][0] for rank in ranks)))
    return columns if len(str(encode(columns))) < len(str(encode(groups))) else groups
