"""Compilers of MPI installations, and libraries that they build for the cache.

In: a program or a loaded libmpi. Out: its compiler wrapper; shared libraries, each built once for all ranks.
"""
