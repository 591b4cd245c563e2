"""Parser of coNCePTuaL: lexer, grammar callbacks, messages for syntax errors.

In: the text of a program. Out: a tree.
"""
