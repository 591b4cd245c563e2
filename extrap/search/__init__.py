"""Search one grammar of formulas for a quantity, and judge by description length whether to believe the best.

Inputs: a quantity's values with the sizes, place and loop counters of each. Outputs: a field, or None.
"""
