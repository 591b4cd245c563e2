"""Other ways to divide a parameter among ranks that the traces cannot tell from the one in a formula.

`n//X`, the same rounded up, and the blocks of a distribution are equal wherever X divides n, and for small
remainders on some ranks. A formula that was fitted there says nothing of other sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from extrap.sought import Samples
from extrap.space import Space
from scalatrace.errors import FormulaError
from scalatrace.trace.counters import is_counter
from scalatrace.trace.expression import evaluate, names_of, parse
from scalatrace.trace.field import Field

__all__ = ["differing", "rivals", "with_rivals"]

BLOCKS = (
    "{n}//{s}",
    "-(-{n}//{s})",
    "({n}//{s}+({c}<{n}%{s}))",
    "(({c}+1)*{n}//{s}-{c}*{n}//{s})",
    "((2*{n}+{s})//(2*{s}))",
)
"""Sizes of blocks: parameter n over size s, at coordinate c."""

OFFSETS = ("{c}*{n}//{s}", "{c}*({n}//{s})+min({c},{n}%{s})")
"""Where blocks begin."""

MAX_ITERATIONS = 8
"""Iterations of loops for which formulas over them are compared."""

Pairs = tuple[tuple[str, str], ...]
"""Sizes with the coordinate along each."""


@lru_cache(maxsize=1 << 14)
def rivals(text: str, inputs: tuple[str, ...], pairs: Pairs) -> tuple[str, ...]:
    """The formula with its divisions replaced, by each other way to divide one parameter by one size."""
    if not names_of(text) & set(inputs):
        return ()
    found = dict.fromkeys(_replaced(text, inputs, pairs))
    return tuple(other for other in found if other != ast.unparse(parse(text)))


def _replaced(text: str, inputs: tuple[str, ...], pairs: Pairs) -> Iterator[str]:
    for n in inputs:
        for s, c in pairs:
            for family in (BLOCKS, OFFSETS):
                texts = [one.format(n=n, s=s, c=c) for one in family]
                for replacement in texts:
                    swap = _Swap(texts, replacement, n, s if family is BLOCKS else "")
                    changed = swap.visit(ast.parse(text, mode="eval"))
                    if swap.count:
                        yield ast.unparse(changed)


class _Swap(ast.NodeTransformer):
    """Replaces each of several subexpressions by one; `block` and `diagonal` are blocks of a size."""

    def __init__(self, texts: list[str], replacement: str, n: str, size: str) -> None:
        self._wanted = {ast.dump(parse(text)) for text in texts}
        self._replacement, self._n, self._size = replacement, n, size
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        if ast.dump(node) in self._wanted:
            self.count += 1
            return ast.parse(self._replacement, mode="eval").body
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        first = [ast.unparse(argument) for argument in node.args[:2]]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if first != [self._n, self._size] or name not in ("block", "diagonal"):
            return self.generic_visit(node)
        self.count += 1
        if name == "diagonal":
            whole = f"({self._n}//{self._size})"
            return ast.parse(f"{self._size}*{whole}*{whole}", mode="eval").body
        place = f"(({ast.unparse(node.args[2])})%{self._size})"
        text = f"(({place}+1)*{self._n}//{self._size}-{place}*{self._n}//{self._size})"
        return ast.parse(text, mode="eval").body


def differing(formula: str, rival: str, env: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Where two formulas differ: a mask over the ranks of `env`, or one for all."""
    counters = {name for name in names_of(formula) | names_of(rival) if is_counter(name)}
    found: Any = np.zeros(1, dtype=bool)
    for k in range(MAX_ITERATIONS if counters else 1):
        here = {**env, **dict.fromkeys(counters, k)}
        try:
            found = found | (np.asarray(evaluate(formula, here)) != np.asarray(evaluate(rival, here)))
        except FormulaError:
            continue  # neither has a value for such an iteration
    return np.asarray(found, dtype=bool)


def with_rivals(space: Space, field: Field, samples: Samples) -> Field:
    """The field with the other formulas that have the same values for all samples."""
    pairs = space.divisors
    texts = [text for part in field.parts for text in part.formulas or ()]
    if not any(rivals(text, space.inputs, pairs) for text in texts):
        return field
    left = np.array(sorted(point for point, value in samples.items() if value is not None), dtype=np.int64)
    parts = []
    for part in field.parts:
        columns = {name: column[left] for name, column in space.columns.items()}
        mask = np.broadcast_to(np.asarray(evaluate(part.condition, columns), dtype=bool), left.shape)
        here = {name: column[mask] for name, column in columns.items()}
        equal = [
            (text, rival)
            for text in part.formulas or ()
            for rival in rivals(text, space.inputs, pairs)
            if not differing(text, rival, here).any()
        ]
        parts.append(replace(part, rivals=tuple(equal)))
        left = left[~mask]
    return replace(field, parts=tuple(parts))
