"""Header entries of models and extrapolated traces: the inputs, the size, and what a result relies on."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ACCEPTED", "EXTRAPOLATED", "FOUND_SIZE", "LOSSY", "UNCONFIRMED", "origin_text", "split_origin"]

EXTRAPOLATED = "extrapolated"
"""Entry of results: the sizes of the inputs and of the result, and the timing model."""

UNCONFIRMED, ACCEPTED = "unconfirmed", "formulas that the traces do not confirm were accepted"
"""Entry of models and results, and its text."""

FOUND_SIZE = "found-size"
"""Entry of models: the size of the problem where no trace has it as a parameter."""

LOSSY = "lossy"
"""Entry of models and results: how many calls were dropped."""

_TIMES_BY = ", times by "


def origin_text(sizes: str, timing: str) -> str:
    """Return the text of EXTRAPOLATED, from that of the sizes and the name of the timing model."""
    return f"{sizes}{_TIMES_BY}{timing}"


def split_origin(meta: Mapping[str, str]) -> tuple[str, str | None]:
    """Return sizes and timing model of a header; "" and None where it names none."""
    sizes, _, timing = meta.get(EXTRAPOLATED, "").partition(_TIMES_BY)
    return sizes, timing or None
