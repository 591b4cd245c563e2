"""Choices that depend on timing, replaced by canonical ones.

In: a trace. Out: a trace of the same program in which such choices follow a rule.
"""
