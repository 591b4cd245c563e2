"""Lossy extrapolation (§3.2.4): what follows no rule is dropped and counted, what it left alone repaired."""

from scalatrace.extrap.lossy.extrapolate import LossyExtrapolation, extrapolate_lossy, lossy_model_of

__all__ = ["LossyExtrapolation", "extrapolate_lossy", "lossy_model_of"]
