"""Quantities by formulas: the rank grid, fields, loop counters, and their evaluation.

In: formula text and sizes. Out: integers per rank.
"""
