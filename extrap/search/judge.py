"""The judge: whether a formula may be believed, by the description lengths of its rivals and of a table.

The hits are grouped by their values on all rows. A group's mass is the sum of 2**-bits. A formula is believed
if a table of the values over its names takes `MARGIN` bits more; groups whose mass is at most `MARGIN` bits
less are rivals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from scalatrace.arrays import Ints
from scalatrace.extrap.search.costs import table_bits
from scalatrace.extrap.search.hits import Hit
from scalatrace.formula import names_in

__all__ = ["BelievedFormula", "judge"]

MARGIN = 6.0
"""Bits by which rivals must be longer to be left out, and a table to be refused."""

MAX_SHARE = 0.55
"""Of the bits of a table. Of a few values, formulas that are hardly shorter hold by chance."""

MAX_BITS = 52
"""Longer formulas are beyond what is searched completely: others as short are not known."""

MAX_RIVALS = 24
"""Rivals that a target may decide between."""


@dataclass(frozen=True, slots=True)
class BelievedFormula:
    """The believed formula, its bits, and formulas with other values on other grids, as likely."""

    best: Hit
    rivals: tuple[Hit, ...]
    bits: float


def judge(hits: Sequence[Hit], values: Ints, columns: Mapping[str, Ints]) -> BelievedFormula | None:
    """Return the formula to believe with its rivals; None if there is none.

    Args:
        columns: what names stand for on the samples.
    """
    groups: dict[bytes, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.column.tobytes(), []).append(hit)
    ordered = sorted(groups.values(), key=_mass_bits)
    if not ordered:
        return None
    best, bits = _shortest(ordered[0]), _mass_bits(ordered[0])
    table = table_bits(values, [columns[name] for name in sorted(names_in(best.formula()))])
    if bits > MAX_BITS or bits + MARGIN > table or bits > MAX_SHARE * table:
        return None
    near = [group for group in ordered[1:] if _mass_bits(group) < bits + MARGIN]
    if len(near) > MAX_RIVALS:
        return None
    return BelievedFormula(best, tuple(map(_shortest, near)), bits)


def _shortest(group: Sequence[Hit]) -> Hit:
    return min(group, key=lambda hit: hit.bits)


def _mass_bits(group: Sequence[Hit]) -> float:
    """Return the bits of a group's mass."""
    least = min(hit.bits for hit in group)
    return least - log2(sum(2.0 ** (least - hit.bits) for hit in group))
