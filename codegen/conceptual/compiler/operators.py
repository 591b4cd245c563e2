"""Operators and functions of numbers in C; the operands are C texts."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["array", "integer_function", "integer_operator", "real_function", "real_operator"]

INTEGER_OPERATORS = {
    "+": "nc_add", "-": "nc_sub", "*": "nc_mul", "/": "nc_div", "MOD": "nc_mod", "**": "nc_power",
    "<<": "nc_shift",
}  # fmt: skip
REAL_OPERATORS = {"+": "nc_dadd", "-": "nc_dsub", "*": "nc_dmul", "/": "nc_ddiv", "**": "nc_dpower"}
BITWISE = {"&": "&", "|": "|", "XOR": "^"}
REAL_FUNCTIONS = {
    "ABS": "fabs({0})", "CEILING": "ceil({0})", "FLOOR": "floor({0})", "ROUND": "nc_dround({0})",
    "SQRT": "nc_droot(2.0, {0})", "CBRT": "nc_droot(3.0, {0})", "ROOT": "nc_droot({0}, {1})",
    "LOG10": "nc_dlog10({0})", "FACTOR10": "nc_dfactor10({0})",
    "RANDOM_UNIFORM": "nc_drandom_uniform({0}, {1})", "RANDOM_GAUSSIAN": "nc_random_gaussian({0}, {1})",
    "RANDOM_POISSON": "nc_random_poisson({0})",
}  # fmt: skip
INTEGER_FUNCTIONS = {
    "ABS": "nc_abs({0})", "BITS": "nc_bits({0})", "CBRT": "nc_root(3, {0})", "SQRT": "nc_root(2, {0})",
    "ROOT": "nc_root({0}, {1})", "LOG10": "nc_log10({0})", "FACTOR10": "nc_factor10({0})",
    "CEILING": "{0}", "FLOOR": "{0}", "ROUND": "{0}", "PROCESSOR_OF": "nc_processor_of({0})",
    "TASK_OF": "nc_task_of({0})", "RANDOM_UNIFORM": "nc_random_uniform({0}, {1})",
}  # fmt: skip
DEFAULTS = {
    "TREE_PARENT": (2, ("2",)),
    "TREE_CHILD": (3, ("2",)),
    "KNOMIAL_PARENT": (3, ("2", "(num)nc.tasks")),
    "KNOMIAL_CHILDREN": (3, ("2", "(num)nc.tasks")),
    "KNOMIAL_CHILD": (4, ("2", "(num)nc.tasks")),
}
"""Function -> its arguments in C, and what stands for those left out."""


def array(kind: str, texts: Sequence[str]) -> str:
    """Return an array literal."""
    return f"(const {kind}[]){{{', '.join(texts)}}}"


def integer_operator(operator: str, left: str, right: str) -> str:
    """Return what an operator makes of two integers."""
    if operator in BITWISE:
        return f"((num){left} {BITWISE[operator]} (num){right})"
    if operator == ">>":
        return f"nc_shift({left}, nc_neg({right}))"
    return f"{INTEGER_OPERATORS[operator]}({left}, {right})"


def integer_function(name: str, texts: list[str]) -> str:
    """Return what a function makes of integers."""
    if name in INTEGER_FUNCTIONS:
        return INTEGER_FUNCTIONS[name].format(*texts)
    if name in DEFAULTS:
        wanted, defaults = DEFAULTS[name]
        missing = wanted - len(texts)
        texts += defaults[len(defaults) - missing :] if missing else ()
        return f"nc_{name.lower()}({', '.join(texts)})"
    return f"nc_{name.lower()}({len(texts)}, {array('num', texts)})"


def real_operator(operator: str, left: str, right: str) -> str:
    """Return what an operator makes of two numbers in floating point."""
    if operator in REAL_OPERATORS:
        return f"{REAL_OPERATORS[operator]}({left}, {right})"
    return f"(double){integer_operator(operator, f'nc_trunc({left})', f'nc_trunc({right})')}"


def real_function(name: str, texts: list[str]) -> str:
    """Return what a function makes of numbers in floating point."""
    if name in REAL_FUNCTIONS:
        return REAL_FUNCTIONS[name].format(*texts)
    if name == "RANDOM_PARETO":
        return f"nc_random_pareto({', '.join(texts if len(texts) == 3 else [*texts, texts[1]])})"
    if name in ("MIN", "MAX"):
        return f"nc_d{name.lower()}({len(texts)}, {array('double', texts)})"
    return f"(double){integer_function(name, [f'nc_trunc({text})' for text in texts])}"
