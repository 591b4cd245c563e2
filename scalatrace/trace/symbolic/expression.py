"""Integer formulas as text, evaluated for one rank or for all at once.

A formula is a Python expression over names (sizes X Y Z of the grid, coordinates x y z, P, i, and the user's
parameters), integers, + - * // % ^ & comparisons, and log2(a), which is exact or an error. `(...) // n` of a
solved formula always divides evenly.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from scalatrace.errors import FormulaError, UsageError

Env = Mapping[str, Any]
"""Name -> int, or -> an array with one number per rank."""

MAX_SHIFT = 62
"""So far integers of 64 bits can be shifted."""

MAX_INT64 = (1 << 63) - 1
"""What an integer of an array can be."""


def multiplied(a: Any, b: Any) -> Any:
    """The product. Raises FormulaError where an array's integers are too small for it."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        most = int(np.max(np.abs(a), initial=0)) * int(np.max(np.abs(b), initial=0))
        if most > MAX_INT64:
            raise FormulaError(f"a product of up to {most} does not fit into 64 bits")
    return a * b


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: multiplied,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.BitAnd: lambda a, b: a & b,
    ast.LShift: lambda a, b: a << np.clip(b, 0, MAX_SHIFT),
    ast.RShift: lambda a, b: a >> np.clip(b, 0, MAX_SHIFT),
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}

KNOWN = (
    ast.BinOp, ast.UnaryOp, ast.USub, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.Load,
    *BINARY, *COMPARE,
)  # fmt: skip
MAX_TEXT_LENGTH = 1 << 16


def log2(value: Any) -> Any:
    """The exponent of a power of two, rounded down; -1 of what is below 1."""
    if isinstance(value, int):
        return value.bit_length() - 1 if value > 0 else -1
    return np.frexp(value)[1].astype(np.int64) - 1


def block(n: Any, parts: Any, k: Any) -> Any:
    """How many of n things part k of `parts` has, the first ones one more where it does not divide."""
    return n // parts + (k % parts < n % parts)


def diagonal(n: Any, parts: Any, shift: Any, sign: int) -> Any:
    """Sum over c of block(c) * block(shift + sign c): the points of a diagonal of cells (multi-partition).

    A block has n // parts points, the first n % parts blocks one more; what remains to be counted are the c
    for which both blocks are such: two arcs of as many places on a circle, the second one turned.
    """
    least, more = n // parts, n % parts
    turn = shift % parts if sign > 0 else (shift + 1 - more) % parts
    both = np.maximum(0, more - turn) + np.maximum(0, more - (parts - turn))
    return parts * least * least + 2 * least * more + both


def choose(cond: Any, then: Any, otherwise: Any) -> Any:
    """One of two values: special values of MPI take part in no other formula."""
    if isinstance(cond, np.ndarray):
        return np.where(cond != 0, then, otherwise)
    return then if cond else otherwise


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log2": log2,
    "min": np.minimum,
    "max": np.maximum,
    "block": block,
    "diagonal": diagonal,
    "choose": choose,
}


def evaluate(text: str, env: Env) -> Any:
    """The value of a formula: an int, or an array where a name is one.

    Raises:
        FormulaError: it is no formula, uses an unknown name, or divides by zero.
    """
    try:
        with np.errstate(divide="raise", invalid="raise"):
            return _value(parse(text), env)
    except KeyError as error:
        raise FormulaError(f"the formula {text} needs a value for {error.args[0]}") from None
    except (ZeroDivisionError, FloatingPointError):
        raise FormulaError(f"the formula {text} divides by zero for these sizes") from None


def as_int(text: str, env: Env) -> int:
    """The value of a formula that has one number."""
    return int(evaluate(text, env))


def check(text: str) -> None:
    """Whether a text is a formula. Raises FormulaError."""
    if type(text) is not str or len(text) > MAX_TEXT_LENGTH:
        raise FormulaError(f"not a formula: {str(text)[:40]}")
    for node in ast.walk(parse(text)):
        if not isinstance(node, KNOWN) or (isinstance(node, ast.Constant) and type(node.value) is not int):
            raise FormulaError(f"not a formula: {text}")


def names_of(text: str) -> frozenset[str]:
    """The names a formula uses, functions aside."""
    return _names_in(text).difference(FUNCTIONS)


@lru_cache(maxsize=65536)
def _names_in(text: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(parse(text)) if isinstance(node, ast.Name))


@lru_cache(maxsize=65536)
def called_in(text: str) -> frozenset[str]:
    """The functions a formula uses."""
    return frozenset(
        node.func.id
        for node in ast.walk(parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )


@lru_cache(maxsize=65536)
def parse(text: str) -> ast.expr:
    """The tree of a formula, which is not to be changed; unlike `check`, whatever Python may say in one.

    Raises:
        FormulaError: it is no expression.
    """
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"not a formula: {text}") from None


def _value(node: ast.expr, env: Env) -> Any:
    match node:
        case ast.Constant(value=int() as number):
            return int(number)
        case ast.Name(id=name):
            return env[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, env)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return BINARY[type(op)](_value(left, env), _value(right, env))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            found = COMPARE[type(op)](_value(left, env), _value(right, env))
            return found.astype(np.int64) if isinstance(found, np.ndarray) else int(found)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return _called(name, [_value(arg, env) for arg in args])
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            raise FormulaError(f"no formula knows the function {name}: a plug-in's (--plugin)?")
    raise FormulaError(f"not a formula: {ast.unparse(node)}")


def _called(name: str, args: list[Any]) -> Any:
    try:
        return FUNCTIONS[name](*args)
    except (ArithmeticError, FormulaError):
        raise  # told as of the formula
    except Exception as error:  # whatever a plug-in's function does
        raise UsageError(f"the function {name} fails: {type(error).__name__}: {error}") from None
