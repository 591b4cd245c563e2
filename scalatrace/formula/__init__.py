"""Integer formulas: expressions, conditions, their evaluation, notation and proofs.

In: texts of trace files, or nodes built by constructors. Out: values, texts of languages, proofs.
Nothing here knows of traces, MPI or grids.
"""

from scalatrace.formula.arithmetic import add, div, linear_combination, mod, mul, sub, xor
from scalatrace.formula.bounds import bounds
from scalatrace.formula.conditions import (
    all_of,
    choose,
    compare,
    either,
    indicator,
    is_nonzero,
    map_leaves,
    negate,
    select,
)
from scalatrace.formula.evaluate import evaluate, evaluate_all
from scalatrace.formula.functions import FUNCTIONS, Function, register
from scalatrace.formula.nodes import (
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
    Element,
    Expr,
    Item,
    Member,
    Select,
    Special,
    Truth,
    Value,
    Var,
)
from scalatrace.formula.parse import parse, parse_condition, parse_number
from scalatrace.formula.parts import (
    children,
    functions_in,
    leaves,
    length,
    mentions,
    names_in,
    numbers_in,
    variables,
)
from scalatrace.formula.printing.latex import latex
from scalatrace.formula.printing.text import format_text

__all__ = [
    "FALSE",
    "FUNCTIONS",
    "TRUE",
    "AllOf",
    "AnyOf",
    "Binary",
    "Called",
    "Choose",
    "Compare",
    "Cond",
    "Const",
    "Element",
    "Expr",
    "Function",
    "Item",
    "Member",
    "Select",
    "Special",
    "Truth",
    "Value",
    "Var",
    "add",
    "all_of",
    "bounds",
    "children",
    "choose",
    "compare",
    "div",
    "either",
    "evaluate",
    "evaluate_all",
    "format_text",
    "functions_in",
    "indicator",
    "is_nonzero",
    "latex",
    "leaves",
    "length",
    "linear_combination",
    "map_leaves",
    "mentions",
    "mod",
    "mul",
    "names_in",
    "negate",
    "numbers_in",
    "parse",
    "parse_condition",
    "parse_number",
    "register",
    "select",
    "sub",
    "variables",
    "xor",
]  # fmt: skip
