"""Canonical replacements of choices that depend on timing.

In: a trace. Out: a trace of the same program in which such choices follow a rule.
"""
