"""Programs built from traces: `recorded` from an ordinary trace, `symbolic` from a trace of formulas.

In: a trace or model. Out: a tree of `codegen.program`.
"""
