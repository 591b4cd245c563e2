"""Places of the ranks in a drawing: on their grid, around a ring, around one rank, or as a tree.

Pairs of ranks with few messages, such as those of set-up, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.report.page.grid import MAX_SAMPLED_PAIRS, hub_of, weighted_pairs
from scalatrace.report.page.patterns import Receives, recognise
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["RankLayout", "layout_of"]

MIN_PAIR_PART = 0.1
"""Messages of a pair over those of the pair with most, from which on the pair counts."""

MAX_RING, MAX_TREE = 96, 256
"""Ranks that are drawn around a ring or a rank, and as a tree."""


@dataclass(frozen=True)
class RankLayout:
    """Where ranks are drawn.

    Attributes:
        kind: "grid", "ring", "star" or "tree".
        hub: of a star: the rank in the middle; else -1.
        parents: of a tree: the parent of each rank; the root has itself.
    """

    kind: str = "grid"
    hub: int = -1
    parents: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """What most messages do; "": they say nothing, or go to neighbours of a grid."""
        texts = {
            "ring": "most messages go around a ring",
            "star": f"most messages are from or to rank {self.hub}",
            "tree": "most messages go along a tree",
        }
        return texts.get(self.kind, "")


def layout_of(messages: Sequence[Messages], grid: Grid) -> RankLayout:
    """Return the layout of the ranks of a grid, by the messages between them."""
    if not 3 <= grid.nprocs <= MAX_TREE or len(grid.dims) > 1:
        return RankLayout()
    senders, receivers, counts = weighted_pairs(messages, MAX_SAMPLED_PAIRS)
    if not len(senders):
        return RankLayout()
    keys, where = np.unique(senders * grid.nprocs + receivers, return_inverse=True)
    sums = np.bincount(where, weights=counts)
    senders, receivers = np.divmod(keys[sums >= MIN_PAIR_PART * sums.max()], grid.nprocs)
    kind, detail, _ = recognise(senders, receivers, grid, Receives.ANYWHERE)
    if kind == "star" and grid.nprocs <= MAX_RING:
        hub = hub_of(senders, receivers)
        return RankLayout() if hub is None else RankLayout("star", hub)
    if kind == "ring" and detail.startswith("distance 1,") and grid.nprocs <= MAX_RING:
        return RankLayout("ring")
    if kind == "tree" and detail == f"{grid.nprocs} ranks":
        return RankLayout("tree", -1, _parents(senders, receivers, grid.nprocs))
    return RankLayout()


def _parents(senders: Ints, receivers: Ints, nprocs: int) -> tuple[int, ...]:
    parents = np.arange(nprocs)
    parents[np.maximum(senders, receivers)] = np.minimum(senders, receivers)
    return tuple(parents.tolist())
