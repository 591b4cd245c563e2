"""Lengths of pickled objects, whose form changes at 256 bytes.

Python's pickle writes the length of bytes or of a string in one byte up to 255, else in four (opcodes
SHORT_BINBYTES and BINBYTES). Bytes of 48 per rank are messages of 207 on 4 ranks, 255 on 5, but 306 on 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from scalatrace.extrap.fit.fit_types import Samples
from scalatrace.formula import Compare, Const, Expr, indicator
from scalatrace.trace.model.symbolic import Shape
from scalatrace.trace.symbolic.field import Field, Part
from scalatrace.trace.symbolic.shapes import Parts

MAX_SHORT_BYTES = 255
"""The largest length that is written in one byte."""

LONGER_BYTES = 3
"""By how much the length of larger lengths is longer."""

MAX_AROUND_BYTES = 64
"""What a message has around its bytes: opcodes, frames and names of classes."""

__all__ = ["ShortForm", "short_forms"]


@dataclass(frozen=True, slots=True)
class ShortForm:
    """Values as if the form did not change.

    Attributes:
        shape: of all values.
        changed: the integers of them that are lengths of both forms.
        longest: the longest message of the short form that was seen.
        next_bytes: the shortest one of the other form that was seen, as if it were short.
    """

    samples: Samples
    shape: Shape
    changed: frozenset[int]
    longest: int
    next_bytes: int

    def lengthened(self, field: Field) -> Field | None:
        """Return the field of the recorded lengths, with both ends of what is unknown as rivals.

        None: a part of the field has values of another shape.
        """
        parts = [self._lengthened(part) for part in field.parts if part.shape == self.shape]
        return replace(field, parts=tuple(parts)) if len(parts) == len(field.parts) else None

    def _lengthened(self, part: Part) -> Part:
        formulas, rivals = list(part.formulas or ()), list[tuple[Expr, Expr]]()
        for k in self.changed:
            if isinstance(formula := formulas[k], Expr):
                longer = _longer_above(formula, self.longest)
                rivals.append((longer, _longer_above(formula, self.next_bytes - 1)))
                formulas[k] = longer
        return replace(part, formulas=tuple(formulas), rivals=(*part.rivals, *rivals))


def short_forms(samples: Samples) -> Iterator[ShortForm]:
    """Yield values without the longer form of lengths, for each length at which the form may have changed."""
    values = [value for value in samples.values() if value is not None]
    shape = values[0].shape if values else None
    if any(value.shape != shape for value in values):
        return
    table = np.array([value.slots for value in values], dtype=np.int64)
    for longest, shortest in pairwise(np.unique(table).tolist()):
        next_bytes = shortest - LONGER_BYTES
        if longest > MAX_SHORT_BYTES + MAX_AROUND_BYTES:
            return
        changed = (table <= longest).any(axis=0) & (table >= shortest).any(axis=0)
        if next_bytes > max(MAX_SHORT_BYTES, longest) and changed.any():
            slots = frozenset(np.flatnonzero(changed).tolist())
            short = {point: _shortened(value, slots, shortest) for point, value in samples.items()}
            yield ShortForm(short, shape, slots, longest, next_bytes)


def _shortened(value: Parts | None, changed: frozenset[int], shortest: int) -> Parts | None:
    if value is None:
        return None
    slots = (slot - LONGER_BYTES * (k in changed and slot >= shortest) for k, slot in enumerate(value.slots))
    return replace(value, slots=tuple(slots))


def _longer_above(formula: Expr, most: int) -> Expr:
    return formula + Const(LONGER_BYTES) * indicator(Compare("<", Const(most), formula))
