"""Queries of a trace: walk, counts, matrix, partners, differences, verification.

In: a trace. Out: events, numbers, findings.
"""
