"""Integers and sets of ranks in compressed form: value vectors, ranklists, histograms.

In: integers. Out: immutable values that know their encoding.
"""
