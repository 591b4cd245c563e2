"""Curves of times over the number of ranks: models, terms, least squares, their registry.

In: points (ranks, mean time in ns). Out: fitted curves.
"""
