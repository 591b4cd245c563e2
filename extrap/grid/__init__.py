"""Grids of ranks: their sizes, topology, communicators, parameters, and plug-ins that extend them.

In: traces. Out: a space of points (size, rank) with named columns.
"""
