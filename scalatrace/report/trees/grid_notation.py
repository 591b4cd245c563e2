"""ValueNotation of peers and sets of ranks by the grid of the ranks: `{x==0: PROC_NULL; x>0: north}`.

The grid is that of the trace's formulas, of MPI_Cart_create, or of the distances of messages, if these are
mostly between neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.errors import ScalatraceError
from scalatrace.report.page.grid import find_grid, stated_grid
from scalatrace.report.style import ranks as ranks_text
from scalatrace.report.trees.conditions import RankConditions
from scalatrace.report.trees.neighbours import GridNeighbours, direction, place_text
from scalatrace.report.values import ValueNotation, ends_of, grouped
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import union_of
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["GridNotation", "notation_grid"]

MAX_COUNTED_CALLS = 1 << 14
"""Different calls whose messages are examined to find the grid."""

MAX_EVENTS = 1 << 13
"""Event nodes of a trace whose peers are named; more would take seconds."""

MAX_RANKS = 1 << 22
"""Ranks of a grid; arrays over all ranks take 32 MB each."""

MAX_COMPARED_RANKS = 1 << 26
"""Ranks that are compared for the names of a tree, and for its conditions, in all."""

NOBODY = "PROC_NULL"

UNIT_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


class GridNotation(ValueNotation):
    """Texts by the grid of the ranks, and by numbers where there is none.

    Attributes:
        grid: of all ranks; None: there is none with two or more dimensions.
        source: how it was found.
    """

    def __init__(self, trace: Trace, grid: Grid | None, source: str = "") -> None:
        self.grid, self.source = grid, source
        if grid is not None:
            self._neighbours = GridNeighbours(trace, grid, MAX_COMPARED_RANKS)
            self._conditions = RankConditions(grid, MAX_COMPARED_RANKS)

    @classmethod
    def of(cls, trace: Trace) -> GridNotation:
        """Return the notation of a trace, with the grid that is found."""
        if trace.nnodes > MAX_EVENTS:
            return cls(trace, None)
        if (found := stated_grid(trace)) is not None:
            return cls(trace, *notation_grid(trace, *found))
        try:
            messages = list(messages_of(trace, Budget(MAX_COUNTED_CALLS)))
        except ScalatraceError:  # the tree shows damaged traces, too
            messages = []
        return cls(trace, *notation_grid(trace, *find_grid(trace, messages)))

    def ranks(self, sets: Sequence[RankList], among: RankList) -> list[str]:
        """Return sets of the ranks that have a value: conditions such as `y>0`, or else all by numbers.

        Single ranks are numbers in any case.
        """
        if self.grid is None:
            return list(map(ranks_text, sets))
        conditions = [None if len(one) == 1 else self._conditions.condition(one, among) for one in sets]
        if any(condition is None and len(one) > 1 for condition, one in zip(conditions, sets, strict=True)):
            return list(map(ranks_text, sets))
        return [condition or ranks_text(one) for condition, one in zip(conditions, sets, strict=True)]

    def taking_part(self, ranklist: RankList) -> str:
        """Return the ranks of a node: `where y>0`, or `ranks 1-3`."""
        condition = None if self.grid is None else self._conditions.condition(ranklist)
        return f"ranks {ranks_text(ranklist)}" if condition is None else f"where {condition}"

    def peer(self, event: Event, peer: Peer, taking_part: RankList) -> str | None:
        """Return the peers of the ranks that execute an event as names of neighbours; None: some are none."""
        if self.grid is None or (named := self._neighbours.classes(event, peer, taking_part)) is None:
            return None
        if len(named) == 1 and named[0].ranks == taking_part:
            return str(named[0])
        sets = [peers.ranks for peers in named]
        return grouped(zip(self.ranks(sets, union_of(sets)), map(str, named), strict=True))

    def partners(self, event: Event, peer: Peer, taking_part: RankList) -> str:
        """Return the names of all neighbours that are peers of some rank: `north, south`; "": not all are."""
        if self.grid is None or (named := self._neighbours.classes(event, peer, taking_part)) is None:
            return ""
        vecs = [peer.value] if isinstance(peer.value, Vec) else []
        if isinstance(peer.value, Groups):
            vecs = [vec for _, vec in peer.value.groups]
        if not all(map(ends_of, vecs)) or (not vecs and not all(peers.complete for peers in named)):
            return ""  # there are more than the names say
        names = dict.fromkeys(name for peers in named for name in peers.names if name != NOBODY)
        return ", ".join(names) if all(not name.isupper() for name in names) else ""

    def legend(self) -> str:
        """Return what the names mean, for the legend; "" without a grid."""
        if self.grid is None:
            return ""
        sides = " x ".join(map(str, self.grid.dims))
        names = ""
        if len(self.grid.dims) == 2:
            named = [f"{direction(self.grid, step)} is {place_text(self.grid, step)}" for step in UNIT_STEPS]
            names = f": {'; '.join(named)}"
        return f"grid {sides} of the ranks ({self.source}){names}"


def notation_grid(trace: Trace, grid: Grid, source: str = "") -> tuple[Grid | None, str]:
    """Return a grid as `find_grid` returns it, if it has all ranks and two or more dimensions."""
    is_plane = sum(side > 1 for side in grid.dims) > 1 and grid.nprocs == trace.nprocs <= MAX_RANKS
    return (grid, source) if is_plane and trace.nnodes <= MAX_EVENTS else (None, "")
