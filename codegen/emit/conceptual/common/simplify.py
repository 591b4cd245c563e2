"""Remove from generated programs what never happens: cases that no iteration reaches, loops of one iteration.

The values that loop variables can have are known as intervals, and so are those of sums, products, quotients
and remainders of them. Behind a condition on an expression, its interval is smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import all_bound, children, list_variables
from scalatrace.codegen.conceptual.tree.node import cached_on_node
from scalatrace.codegen.emit.conceptual.common.expr_writer import integer
from scalatrace.codegen.emit.conceptual.common.rebuilding import TreeSubstitution, rebuilt, with_parts
from scalatrace.formula.bounds import Interval, combine_intervals

__all__ = ["simplify"]

INFINITE = 1 << 80
"""Beyond all 64-bit integers."""
EVERYTHING = (-INFINITE, INFINITE)
EMPTY = t.Block(())
OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "<>", "<>": "="}


class KnownFacts:
    """Intervals of expressions, in particular of variables, with cached results.

    Programs contain the same expression many times. Equal results are one object.
    """

    def __init__(self, intervals: Mapping[t.SyntaxNode, Interval], interned: dict[t.Expr, t.Expr]) -> None:
        self.known, self._interned = intervals, interned
        self._simpler: dict[t.Expr, t.Expr] = {}
        self._intervals: dict[t.SyntaxNode, Interval] = {}
        self._assumed: dict[tuple[t.Rel, bool], KnownFacts] = {}

    def expr(self, node: t.Expr) -> t.Expr:
        """Return a simpler expression with the same value."""
        if node not in self._simpler:
            simpler = _expr(node, self)
            self._simpler[node] = self._interned.setdefault(simpler, simpler)
        return self._simpler[node]

    def interval(self, node: t.SyntaxNode) -> Interval:
        """Return the least and the greatest value that an expression can have."""
        bounds = self._intervals.get(node)
        if bounds is None:
            bounds = self._intervals[node] = _interval(node, self)
        return bounds

    def assuming(self, condition: t.Rel, holds: bool) -> KnownFacts:
        """Return the facts where a condition holds or not."""
        key = condition, holds
        if key not in self._assumed:
            self._assumed[key] = _assume(condition, holds, self)
        return self._assumed[key]

    def with_interval(self, node: t.SyntaxNode, interval: Interval) -> KnownFacts:
        """Return these facts and one more."""
        return KnownFacts({**self.known, node: interval}, self._interned)

    def inside(self, loop: t.ForEach, numbers: Interval) -> KnownFacts:
        """Return the facts in the body of a loop."""
        name = loop.variable
        outer = {expr: interval for expr, interval in self.known.items() if name not in list_variables(expr)}
        return KnownFacts({**outer, t.Variable(name): numbers}, self._interned)


def simplify(program: t.ProgramTree) -> t.ProgramTree:
    """Return a program that does the same, without unreachable cases."""
    facts = KnownFacts({}, {})
    done = [
        replace(
            sentence,
            statements=tuple(_flat(_statement(statement, facts) for statement in sentence.statements)),
        )
        for sentence in program.sentences
    ]
    return replace(program, sentences=tuple(sentence for sentence in done if sentence.statements))


def _statement(node: t.Statement, facts: KnownFacts) -> t.Statement:
    match node:
        case t.Block(statements):
            done = [_statement(child, facts) for child in statements]
            return replace(node, statements=tuple(_flat(done)))
        case t.If():
            return _if(node, facts)
        case t.ForEach():
            return _for_each(node, facts)
        case t.ForCount() if node.warmup is None and not node.synchronized:
            count = facts.expr(node.count)
            body = _statement(node.body, facts)
            if body == EMPTY or count in (t.Integer(0), t.Integer(1)):
                return body if count == t.Integer(1) else EMPTY
            return replace(node, count=count, body=body)
        case t.Let() | t.ForTime() | t.ForCount():
            return node
    result: t.Statement = rebuilt(node, lambda part: _part(part, facts))
    return result


def _flat(statements: Iterable[t.Statement]) -> Iterator[t.Statement]:
    """Yield statements, and those of blocks without comments in their place."""
    for statement in statements:
        if isinstance(statement, t.Block) and statement.comments == t.Comments():
            yield from _flat(statement.statements)
        else:
            yield statement


def _if(node: t.If, facts: KnownFacts) -> t.Statement:
    condition = _rel(node.condition, facts)
    if isinstance(condition, bool):
        chosen = node.then if condition else node.otherwise
        return EMPTY if chosen is None else _statement(chosen, facts)
    then = _statement(node.then, facts.assuming(condition, True))
    otherwise = None
    if node.otherwise is not None:
        otherwise = _statement(node.otherwise, facts.assuming(condition, False))
    if then == EMPTY and otherwise in (None, EMPTY):
        return EMPTY
    return replace(node, condition=condition, then=then, otherwise=otherwise)


def _for_each(node: t.ForEach, facts: KnownFacts) -> t.Statement:
    ranges: tuple[Any, ...] = tuple(_part(range_node, facts) for range_node in node.ranges)
    numbers = _numbers(ranges, facts)
    inner = facts.inside(node, numbers)
    is_one = numbers[0] == numbers[1] and len(ranges) == 1 and _is_one(ranges[0])
    if is_one and node.variable not in all_bound(node.body):
        once = TreeSubstitution(node.variable, {t.Variable(node.variable): t.Integer(numbers[0])})
        return _statement(once.apply(node.body), inner)  # type: ignore[arg-type]
    body = _statement(node.body, inner)
    return EMPTY if body == EMPTY else replace(node, ranges=ranges, body=body)


def _numbers(ranges: tuple[t.SyntaxNode, ...], facts: KnownFacts) -> Interval:
    """Return the interval of the numbers in ranges."""
    low, high = INFINITE, -INFINITE
    for range_node in ranges:
        if isinstance(range_node, t.Listing):
            ends = [facts.interval(value) for value in range_node.values]
        elif isinstance(range_node, t.OpenRange) and len(range_node.leading) == 1:
            ends = [facts.interval(range_node.leading[0]), facts.interval(range_node.final)]
        else:
            return EVERYTHING
        low, high = min(low, *(end[0] for end in ends)), max(high, *(end[1] for end in ends))
    return low, high


def _is_one(node: t.SyntaxNode) -> bool:
    """Return whether a range is one number."""
    if isinstance(node, t.Listing):
        return len(node.values) == 1
    return isinstance(node, t.OpenRange) and len(node.leading) == 1 and node.leading[0] == node.final


# expressions


def _part(node: t.SyntaxNode, facts: KnownFacts) -> t.SyntaxNode:
    """Return any part of a statement with simpler expressions; a relation on tasks stays one."""
    if isinstance(node, (t.NumberComparison, t.Parity, t.Within, t.Between, t.Logical)):
        relation = _rel(node, facts)
        return node if isinstance(relation, bool) else relation
    if isinstance(node, (t.BinaryOperation, t.Conditional)):
        return facts.expr(node)
    return rebuilt(node, lambda part: _part(part, facts))


def _expr(node: t.Expr, facts: KnownFacts) -> t.Expr:
    if isinstance(node, t.Conditional):
        return _conditional(node, facts)
    if isinstance(node, (t.Integer, t.Variable)):
        return node
    if not isinstance(node, t.BinaryOperation):
        return rebuilt(node, lambda part: _part(part, facts))
    result = with_parts(node, left=facts.expr(node.left), right=facts.expr(node.right))
    low, high = facts.interval(result)
    if low == high and isinstance(low, int) and abs(low) < 1 << 63 and _is_pure(result):
        return integer(low)
    match result:
        case t.BinaryOperation("MOD", left, t.Integer(n)) if (
            0 <= facts.interval(left)[0] <= facts.interval(left)[1] < n
        ):
            return left
        case t.BinaryOperation("*" | "/", left, t.Integer(1)) | t.BinaryOperation(
            "+" | "-", left, t.Integer(0)
        ):
            return left
        case t.BinaryOperation("+", t.Integer(0), right):
            return right
    return result


def _conditional(node: t.Conditional, facts: KnownFacts) -> t.Expr:
    condition = _rel(node.condition, facts)
    if isinstance(condition, bool):
        return facts.expr(node.value if condition else node.otherwise)
    value = facts.assuming(condition, True).expr(node.value)
    otherwise = facts.assuming(condition, False).expr(node.otherwise)
    if value == otherwise and _is_pure(value) and _is_pure(condition):
        return value
    return with_parts(node, value=value, condition=condition, otherwise=otherwise)


@cached_on_node
def _is_pure(node: t.SyntaxNode) -> bool:
    """Return whether a node has a value without drawing random numbers."""
    if isinstance(node, (t.FunctionCall, t.FileData)):
        return False
    return all(map(_is_pure, children(node)))


def _interval(node: t.SyntaxNode, facts: KnownFacts) -> Interval:
    if node in facts.known:
        return facts.known[node]
    match node:
        case t.Integer(value):
            return value, value
        case t.Unary("-", operand):
            low, high = facts.interval(operand)
            return -high, -low
        case t.BinaryOperation(operator, left, right):
            return _combine(operator, facts.interval(left), facts.interval(right))
        case t.Conditional(value, _, otherwise):
            then_bounds, else_bounds = facts.interval(value), facts.interval(otherwise)
            return min(then_bounds[0], else_bounds[0]), max(then_bounds[1], else_bounds[1])
    return EVERYTHING


OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "//", "MOD": "%"}
"""Operators of coNCePTuaL -> those of expressions; a quotient is rounded down where nothing is negative."""


def _combine(operator: str, a: Interval, b: Interval) -> Interval:
    if operator == "MOD" and b[0] == b[1] > 0:
        return 0, b[0] - 1
    if operator not in OPERATORS or max(map(abs, (*a, *b))) >= INFINITE:
        return EVERYTHING
    if operator in ("/", "MOD") and (a[0] < 0 or b[0] <= 0):
        return EVERYTHING
    return combine_intervals(OPERATORS[operator], a, b) or EVERYTHING


# relations


def _rel(node: t.Rel, facts: KnownFacts) -> t.Rel | bool:
    match node:
        case t.NumberComparison(operator, left, right):
            left, right = facts.expr(left), facts.expr(right)
            decided = _decide_comparison(operator, facts.interval(left), facts.interval(right))
            return with_parts(node, left=left, right=right) if decided is None else decided
        case t.Logical(conjunction, left, right):
            left_rel, right_rel = _rel(left, facts), _rel(right, facts)
            if isinstance(left_rel, bool):
                return right_rel if left_rel == conjunction else left_rel
            if isinstance(right_rel, bool):
                return left_rel if right_rel == conjunction else right_rel
            return with_parts(node, left=left_rel, right=right_rel)
        case t.Within():
            return _within(rebuilt(node, lambda part: _part(part, facts)), facts)
    return rebuilt(node, lambda part: _part(part, facts))


def _within(node: t.Within, facts: KnownFacts) -> t.Rel | bool:
    """Return membership in the listed numbers that the operand can have."""
    low, high = facts.interval(node.operand)
    listed = _list_numbers(node.ranges)
    if listed is None or low <= -INFINITE or high >= INFINITE:
        return node
    inside = sorted(number for number in listed if low <= number <= high)
    if not inside:
        return node.negated
    if len(inside) == high - low + 1:
        return not node.negated
    if len(inside) == 1:
        return t.NumberComparison(
            "<>" if node.negated else "=", node.operand, integer(inside[0]), place=node.place
        )
    if len(inside) == len(listed):
        return node
    return replace(node, ranges=(t.Listing(tuple(map(integer, inside))),))


def _list_numbers(ranges: Iterable[t.SyntaxNode]) -> set[int] | None:
    """Return the numbers of sets that list them; None where others may be in them."""
    result: set[int] = set()
    nothing = KnownFacts({}, {})
    for range_node in ranges:
        if not isinstance(range_node, t.Listing):
            return None
        for value in range_node.values:
            low, high = nothing.interval(value)
            if low != high:
                return None
            result.add(low)
    return result


def _decide_comparison(operator: str, a: Interval, b: Interval) -> bool | None:
    """Return what a comparison always is; None where it depends."""
    if operator in (">", ">=", "<>"):
        opposite = {">": "<=", ">=": "<", "<>": "="}[operator]
        decided = _decide_comparison(opposite, a, b)
        return None if decided is None else not decided
    if operator == "<":
        return True if a[1] < b[0] else False if a[0] >= b[1] else None
    if operator == "<=":
        return True if a[1] <= b[0] else False if a[0] > b[1] else None
    if operator == "=":
        return True if a[0] == a[1] == b[0] == b[1] else False if a[1] < b[0] or b[1] < a[0] else None
    return None


def _assume(condition: t.Rel, holds: bool, facts: KnownFacts) -> KnownFacts:
    """Return the facts where a condition holds or not."""
    match condition:
        case t.Logical(conjunction, left, right) if conjunction == holds:
            return facts.assuming(left, holds).assuming(right, holds)
        case t.NumberComparison("DIVIDES", t.Integer(n), operand) if n > 0 and _is_pure(operand):
            return facts.with_interval(
                t.BinaryOperation("MOD", operand, t.Integer(n)), (0, 0) if holds else (1, n - 1)
            )
        case t.NumberComparison(operator, left, t.Integer(n)) if _is_pure(
            left
        ):  # else its next value is another one
            low, high = facts.interval(left)
            if not holds:
                operator = OPPOSITES.get(operator, "")
            bounds = {"<": (low, n - 1), "<=": (low, n), ">": (n + 1, high), ">=": (n, high), "=": (n, n)}
            if operator in bounds:
                first, last = bounds[operator]
                return facts.with_interval(left, (max(low, first), min(high, last)))
            return facts.with_interval(left, _without({n}, low, high)) if operator == "<>" else facts
        case t.Within(operand, ranges, negated) if _is_pure(operand) and (listed := _list_numbers(ranges)):
            low, high = facts.interval(operand)
            if holds == negated:
                return facts.with_interval(operand, _without(listed, low, high))
            return facts.with_interval(operand, (max(low, min(listed)), min(high, max(listed))))
    return facts


def _without(numbers: set[int], low: int, high: int) -> Interval:
    """Return an interval whose ends are not among some numbers; a number of it is left."""
    while low < high and low in numbers:
        low += 1
    while low < high and high in numbers:
        high -= 1
    return low, high
