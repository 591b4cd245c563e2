"""Parts of the coNCePTuaL emitter for programs of one size and of any size.

In: expressions, conditions, rank sets, steps of collectives. Out: the tree of `codegen.conceptual.tree`.
"""
