"""Fits, extreme values, intervals and tests. In: arrays. Out: coefficients, curves, intervals, likelihoods.

Curves over scales: `forms`, `least_squares`, `curve`, `normal_form`, `four_models`, `trend_test`. Maxima:
`extreme_values`, `bootstrap`. Lines with breakpoints: `grouped_points`, `lines`, `partitions`, `piecewise`.
Means of new observations: `mean_test`. Width of intervals: `interval_width`. scipy is imported where a fit
runs.
"""
