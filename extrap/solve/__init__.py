"""Exact formulas through points: features, linear systems, pruning, evaluation.

In: columns of integers. Out: the lightest formula with exactly these values.
"""
