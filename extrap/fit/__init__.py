"""Fits of one trace's quantities over ranks and sizes: classes of ranks, sequences, rivals, held-out checks.

In: aligned traces on grids. Out: the rules of a model.
"""
