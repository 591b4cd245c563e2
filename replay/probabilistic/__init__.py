"""Replays of traces with histograms: calls are sampled from distributions that ranks share.

In: a trace with histograms. Out: calls that ranks agree on.
"""
