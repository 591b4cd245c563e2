"""The two halves of the evaluator: compiled functions for integers, columns for int64 arrays.

In: expressions and what their names stand for. Out: exact values, or an overflow error.
"""
