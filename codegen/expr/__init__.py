"""Integer expressions of the program tree, and what is known of them without running anything.

The functions (`add`, `mul`, `div`, `mod`, `choose`, ...) make expressions as small as they can: sums are
linear forms with each variable once, and what the limits of the variables decide is decided here. So the
6th value of the 3rd iteration, `(i * 6 + j) % 6`, is `j` when j runs from 0 to 5.
"""

from scalatrace.codegen.expr.arithmetic import add, div, mod, mul, sub, xor
from scalatrace.codegen.expr.limits import bounds
from scalatrace.codegen.expr.logic import all_of, choose, compare, either, is_nonzero, map_leaves, negate
from scalatrace.codegen.expr.nodes import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Member,
    Own,
    Size,
    Truth,
    Var,
)
from scalatrace.codegen.expr.parts import leaves, length, mentions, names_in, numbers_in, variables

__all__ = [
    "FALSE", "TRUE", "AllOf", "AnyOf", "Binary", "Called", "Choose", "Compare", "Cond", "Const", "Expr",
    "Item", "Member", "Own", "Size", "Truth", "Var", "add", "all_of", "bounds", "choose", "compare", "div",
    "either", "is_nonzero", "leaves", "length", "map_leaves", "mentions", "mod", "mul", "names_in", "negate",
    "numbers_in", "sub", "variables", "xor",
]  # fmt: skip
