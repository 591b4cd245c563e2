"""Proofs that the calls of a symbolic trace's ranks match on all sizes.

In: a model. Out: what was proved, under which assumptions on the sizes; what was not, and why.
"""
