"""Piecewise linear regression with an unknown number of breakpoints (Cornebize, section 5.3.3).

In: sizes and durations. Out: a `PiecewiseLinear` function, its breakpoints chosen by the BIC.
"""

from scalatrace.predict.regression.lines import Piece
from scalatrace.predict.regression.piecewise import PiecewiseLinear, fit
from scalatrace.predict.regression.points import Objective

__all__ = ["Objective", "Piece", "PiecewiseLinear", "fit"]
