"""Lossy extrapolation (§3.2.4): calls without a rule are dropped and counted, their partners repaired.

Counts without a rule become means, so that their calls stay.
"""

from scalatrace.extrap.lossy.extrapolate import LossyExtrapolation, extrapolate_lossy, lossy_model_of

__all__ = ["LossyExtrapolation", "extrapolate_lossy", "lossy_model_of"]
