"""Traces, symbolic or not, without the names of the application and its machine.

In: a trace, a table of names. Out: the same structure with `function1`, `file2`, ...; a check that
no name is left. Generated benchmarks use the same check (`scalatrace.codegen.passes.obfuscate`).
"""
