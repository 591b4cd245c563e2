"""The calls of one trace, as the search for grids needs them: call sites and partners of each rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.errors import ScalatraceError
from scalatrace.extrap.grid.patterns import Pairs
from scalatrace.trace.exchange.matrix import Site, pairs_by_site
from scalatrace.trace.query.counting import executions_of

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Observed", "Sites", "join_pairs"]

Sites = frozenset[tuple[int, int]]
"""Call sites: operations and stack signatures, as in the tables of the trace."""


class Observed:
    """Facts of a trace, each computed once, on first use."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def sites(self) -> list[Sites]:
        """The call sites that each rank executes."""
        executed = (executions_of(self._trace, rank) for rank in range(self._trace.nprocs))
        return [frozenset((event.op, event.signature) for event, _ in events) for events in executed]

    @cached_property
    def by_site(self) -> Mapping[Site, Pairs]:
        """The pairs that exchange messages, by the call site of the send; none if they are unknown.

        Without messages, origins and targets of one-sided communication.
        """
        for one_sided in (False, True):
            try:
                pairs_of_site = pairs_by_site(self._trace, one_sided)
            except ScalatraceError:
                return {}
            if pairs_of_site:
                return {site: np.array(sorted(pairs)) for site, pairs in pairs_of_site.items()}
        return {}

    @cached_property
    def sent(self) -> Pairs:
        """All pairs that exchange messages."""
        return join_pairs(self.by_site.values())


def join_pairs(parts: Iterable[Pairs]) -> Pairs:
    """Return the different pairs of all parts, in order."""
    return np.unique(np.concatenate([np.empty((0, 2), dtype=np.int64), *parts]), axis=0)
