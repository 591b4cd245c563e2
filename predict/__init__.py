"""Prediction: how long a trace takes on a described machine, and how sure that is.

In: a trace, recorded or extrapolated, and a platform. Out: times with intervals, performance models, exports.
"""
