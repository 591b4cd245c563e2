"""All studies, in the order in which they are measured."""

from __future__ import annotations

from benchmarks.reproduction.extrapolation import STRONG, WEAK
from benchmarks.reproduction.generated import COLLECTIVES, COMPUTATION, SCALABLE, TIMING
from benchmarks.reproduction.replays import REPLAYS
from benchmarks.reproduction.sizes import SIZES

STUDIES = (SIZES, STRONG, WEAK, REPLAYS, TIMING, SCALABLE, COMPUTATION, COLLECTIVES)
