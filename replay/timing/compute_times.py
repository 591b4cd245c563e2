"""How long to compute before an event: from the histogram for its predecessor (§2.3, §3.4.2).

A histogram has the samples of all ranks that make the call. A factor for each rank corrects its mean: the
total computation of the rank divided by the total of the means.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from scalatrace.replay.common.options import ComputeMode, ReplayOptions, TimeChoice
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.trace.query.load import COMPUTE, Loads

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.query.walk import Call, CompiledEvent
    from scalatrace.trace.values.histogram import Histogram


class ComputeTimes:
    """The computation of one rank. Sampled times depend on seed, rank and the events asked for so far."""

    def __init__(
        self, trace: Trace, rank: int, options: ReplayOptions, whatif: WhatIf, stat: str = COMPUTE
    ) -> None:
        scale = options.compute_scale if stat == COMPUTE else 1.0
        if options.compute is ComputeMode.NONE:
            scale = 0.0
        self._stat = stat
        loads = Loads(trace, stat)
        self._factor = scale and scale * loads.over_means(rank)
        self._whatif = whatif
        self._drawn = options.times is TimeChoice.DRAWN
        self._spread = loads.spread() if self._drawn and self._factor else 0.0
        self._random = random.Random(f"{options.seed} {rank} {stat}").random
        self._means: dict[tuple[CompiledEvent, int], int] = {}
        self._histograms: dict[tuple[CompiledEvent, int], tuple[Histogram | None, float]] = {}

    def before(self, event: Call) -> int:
        """Return the nanoseconds to wait before an event of the walk."""
        if not self._factor:
            return 0
        key = (event.place, event.pred)
        mean = self._means.get(key)
        if mean is not None:
            return mean
        histogram, factor = self._context(key, event)
        if histogram is None:
            ns = 0
        elif self._drawn:
            return max(0, round(histogram.draw(self._random) * factor))
        else:
            ns = max(0, round(histogram.mean * factor))
        self._means[key] = ns
        return ns

    def _context(self, key: tuple[CompiledEvent, int], event: Call) -> tuple[Histogram | None, float]:
        if key not in self._histograms:
            histogram, factor = event.stat(self._stat), self._factor * self._whatif.compute(event.place)
            self._histograms[key] = histogram and histogram.within_ranks(self._spread), factor
        return self._histograms[key]
