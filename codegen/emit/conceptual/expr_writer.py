"""Expressions, conditions and sets of tasks in coNCePTuaL's words.

Two habits of its compiler matter here: a `-` before a keyword vanishes (so minus stands before numbers,
variables and parentheses only), and numbers swallow letters behind them (so a blank follows each).
"""

from __future__ import annotations

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.expr import (
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
    Truth,
    Var,
)
from scalatrace.codegen.program.conditions import RANK, among
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX

__all__ = ["MOST_ALTERNATIVES", "cond", "expr", "tasks"]

MOST_ALTERNATIVES = 64
"""A table becomes a chain of so many conditions at most, a longer one a tree of conditions."""

MOST_ENTRIES = 1 << 12
"""A table has so many entries at most."""

CHOOSE, SUM, PRODUCT, ATOM = range(4)
OR, AND, COMPARE = range(3)
NOBODY = "-1"
"""A task that is not there: messages to it and from it are not sent."""


def expr(e: Expr, task: str = "t") -> str:
    """The text of an expression; `task` is the variable that stands for the rank."""
    return _expr(e, task)[0]


def atom(e: Expr, task: str = "t") -> str:
    """The text of an expression that other words may follow or precede."""
    return _at(_expr(e, task), ATOM)


def cond(c: Cond, task: str = "t") -> str:
    """The text of a condition."""
    return _cond(c, task)[0]


def _at(part: tuple[str, int], level: int) -> str:
    return part[0] if part[1] >= level else f"({part[0]})"


def _expr(e: Expr, task: str) -> tuple[str, int]:
    match e:
        case Const(value):
            text = NOBODY if value < SPECIAL_MAX else str(value)
            return text, ATOM if not text.startswith("-") else CHOOSE
        case Var(name):
            return task if name == RANK else name, ATOM
        case Binary("^" | "&" | "<<" | ">>" as op, a, b):
            return f"({atom(a, task)} {'XOR' if op == '^' else op} {atom(b, task)})", ATOM
        case Called(name, arguments):  # in parentheses: a minus before a keyword vanishes
            return f"({name.upper()}({', '.join(expr(a, task) for a in arguments)}))", ATOM
        case Binary(op, a, b):
            level = SUM if op in "+-" else PRODUCT
            sign = {"%": "MOD"}.get(op, op)
            return f"{_at(_expr(a, task), level)} {sign} {_at(_expr(b, task), level + 1)}", level
        case Choose(c, a, b):
            return f"{_at(_expr(a, task), SUM)} IF {cond(c, task)} OTHERWISE {_expr(b, task)[0]}", CHOOSE
        case Item(table, index):
            return _chain(table, index, task), CHOOSE
    raise GenerateError(f"{e} cannot be said in coNCePTuaL")


def _chain(table: tuple[int, ...], index: Expr, task: str) -> str:
    """A table as conditions on its index: equal values together, the most frequent one last."""
    places: dict[int, list[int]] = {}
    for i, value in enumerate(table):
        places.setdefault(value, []).append(i)
    *others, last = sorted(places, key=lambda value: len(places[value]))
    if len(others) > MOST_ALTERNATIVES:
        if len(table) > MOST_ENTRIES:
            raise GenerateError(f"{len(places)} different values without a rule: too many for a condition")
        return _halves(table, expr(index, task), 0)
    text = ""
    for value in others:
        where = _is_in(expr(index, task), places[value])
        text += f"{_at(_expr(Const(value), task), SUM)} IF {where} OTHERWISE "
    return text + _at(_expr(Const(last), task), SUM)


def _halves(values: tuple[int, ...], index: str, start: int) -> str:
    """A long table as conditions within conditions, each of which halves it."""
    if len(set(values)) == 1:
        return _at(_expr(Const(values[0]), ""), SUM)
    middle = len(values) // 2
    left, right = _halves(values[:middle], index, start), _halves(values[middle:], index, start + middle)
    then = left if left.isdigit() else f"({left})"
    return f"{then} IF {index} < {start + middle} OTHERWISE {right}"


def _is_in(text: str, values: list[int], negated: bool = False) -> str:
    if len(values) == 1:
        return f"{text} {'<>' if negated else '='} {values[0]}"
    if len(values) > 2 and values == list(range(values[0], values[-1] + 1)):
        return f"{text} IS {'NOT ' if negated else ''}IN {{{values[0]}, ..., {values[-1]}}}"
    return f"{text} IS {'NOT ' if negated else ''}IN {{{', '.join(map(str, values))}}}"


def _cond(c: Cond, task: str) -> tuple[str, int]:
    match c:
        case Truth(value):
            return "0 = 0" if value else "0 = 1", COMPARE
        case Compare("==" | "!=" as op, Binary("%", a, Const(m)), Const(0)) if op == "==" and isinstance(
            a, Var
        ):
            return f"{m} DIVIDES {expr(a, task)}", COMPARE
        case Compare(op, a, b):
            sign = {"==": "=", "!=": "<>"}.get(op, op)
            return f"{_at(_expr(a, task), SUM)} {sign} {_at(_expr(b, task), SUM)}", COMPARE
        case AllOf(parts):
            return " /\\ ".join(_at(_cond(part, task), COMPARE) for part in parts), AND
        case AnyOf(parts):
            return " \\/ ".join(_at(_cond(part, task), COMPARE) for part in parts), OR
        case Member(e, values, outside):
            return _is_in(_at(_expr(e, task), SUM), list(values), outside), COMPARE


def plain_words(text: str) -> set[str]:
    """The words of a text."""
    return set(text.replace("{", " ").replace("}", " ").replace(".", " ").replace(",", " ").split())


def tasks(ranks: RankList, nprocs: int, task: str = "t", named: bool = True, target: bool = False) -> str:
    """A set of tasks.

    Args:
        named: the variable is used in what follows.
        target: the receiving side, which "all tasks" cannot be.
    """
    if len(ranks) == 1:
        return f"TASK {ranks.first}"
    if len(ranks) == nprocs:
        if target:
            return f"TASKS {task} SUCH THAT {task} >= 0"
        return f"ALL TASKS {task}" if named else "ALL TASKS"
    return f"TASKS {task} SUCH THAT {cond(among(ranks, RankList.all(nprocs), nprocs), task)}"
