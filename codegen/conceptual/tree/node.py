"""What all nodes of the tree have."""

from __future__ import annotations

from dataclasses import dataclass, field

from scalatrace.codegen.conceptual.errors import Place

__all__ = ["Node"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """Anything in a program."""

    place: Place = field(default=Place(), compare=False, repr=False)
