"""Extrapolation: a trace of any number of ranks from a few small traces (ScalaExtrap, dissertation ch. 3).

big = scalatrace.extrap.extrapolate([scalatrace.load(p) for p in ("a.st", "b.st", "c.st")], 1024)
"""

from scalatrace.extrap.extrapolate import Extrapolation, extrapolate, model_of
from scalatrace.extrap.lossy import LossyExtrapolation, extrapolate_lossy, lossy_model_of
from scalatrace.trace.symbolic.grid import Grid

__all__ = [
    "Extrapolation",
    "Grid",
    "LossyExtrapolation",
    "extrapolate",
    "extrapolate_lossy",
    "lossy_model_of",
    "model_of",
]
