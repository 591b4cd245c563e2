"""The trace: tree of nodes (RSDs and PRSDs), elastic values, tables of operations and call sites.

In: values and formulas. Out: the types that everything else works on.
"""
