"""Printers of expressions: base class, notation of trace files, LaTeX. Languages of programs derive theirs.

In: expressions and conditions. Out: text.
"""
