"""The program tree, its expressions' helpers, and the interpreter that defines its meaning.

In: nothing of the folders beside it. Out: the types that builders, passes and emitters share.
"""
