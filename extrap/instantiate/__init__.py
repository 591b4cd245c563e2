"""Instances of a model: the trace of one number of ranks.

In: a model, grid sides and parameters. Out: a trace.
"""
