"""Extremes of times: bins, maxima, and the generalized extreme value distribution.

In: histograms of several sizes. Out: predicted minima and maxima with intervals.
"""
