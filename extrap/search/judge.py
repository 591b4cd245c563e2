"""The judge: whether a formula may be believed, by the description lengths of its rivals and of a table.

Of the hits with equal values on all rows, the shortest counts. The shortest of all is believed if a table of
the values over its names takes `EVIDENCE` bits more; those of less than `MARGIN` bits more are its rivals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scalatrace.arrays import Ints
from scalatrace.extrap.search.costs import table_bits
from scalatrace.extrap.search.hits import Hit
from scalatrace.formula import names_in

__all__ = ["EVIDENCE", "MARGIN", "MIN_TRACES", "SHARED_EVIDENCE", "BelievedFormula", "judge"]

MARGIN = 6.0
"""Bits by which rivals must be longer to be left out."""

EVIDENCE = 12.0
"""Bits by which a table must be longer: a program has many quantities, of which one may fit by chance."""

MIN_TRACES = 4
"""Traces that must have values: what three of them show, many formulas show."""

SHARED_EVIDENCE = 4.0
"""That of one integer of a quantity whose integers together have `EVIDENCE`."""

MAX_BITS = 52
"""Of a believed formula. The bank has all formulas of some 17 to 24 bits, and only some longer ones."""

MAX_RIVALS = 24
"""Rivals that a target may decide between."""


@dataclass(frozen=True, slots=True)
class BelievedFormula:
    """The believed formula, and formulas with other values on other grids, as likely.

    Attributes:
        evidence: bits by which a table of the values is longer.
    """

    best: Hit
    rivals: tuple[Hit, ...]
    evidence: float


def judge(
    hits: Sequence[Hit], values: Ints, columns: Mapping[str, Ints], least: float = EVIDENCE
) -> BelievedFormula | None:
    """Return the formula to believe with its rivals; None if there is none.

    Args:
        columns: what names stand for on the samples.
        least: evidence that is enough.
    """
    shortest: dict[bytes, Hit] = {}
    for hit in sorted(hits, key=lambda hit: hit.bits):
        shortest.setdefault(hit.column.tobytes(), hit)
    if not shortest:
        return None
    best, *others = shortest.values()
    table = table_bits(values, [columns[name] for name in sorted(names_in(best.formula()))])
    evidence = table - best.bits
    if best.bits > MAX_BITS or evidence < least:
        return None
    near = [hit for hit in others if hit.bits < best.bits + MARGIN]
    if len(near) > MAX_RIVALS:
        return None
    return BelievedFormula(best, tuple(near), evidence)
