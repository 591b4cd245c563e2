"""Values of coNCePTuaL: expressions, operators, functions, topologies, random numbers.

In: expressions and an environment. Out: 64-bit integers and floating-point numbers.
"""
