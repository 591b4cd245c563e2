"""Passes over program trees: world ranks, unsupported calls, what-if factors, obfuscation.

In: a program tree. Out: a program tree.
"""
