"""Parameters and assertions at the head of a program for any number of tasks, and times that follow P."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from string import ascii_lowercase

from scalatrace.codegen.builders.places import opposite
from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import NUM_TASKS, ExprTranslator
from scalatrace.codegen.emit.grids import demands, local_demands, sides_of
from scalatrace.codegen.emit.text import ncptl_text
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import Duration
from scalatrace.formula import Cond

__all__ = ["clock", "preamble"]

TASKS: t.Expr = t.Variable(NUM_TASKS.name)
ZERO = t.Integer(0)


def preamble(translator: ExprTranslator) -> tuple[list[t.Parameter], list[t.Assert]]:
    """Return the declarations of sides and parameters, and the assertions on them."""
    shape = translator.shape
    if local_demands(shape):
        demand = local_demands(shape)[0][1]
        raise GenerateError(
            f"the formulas hold only if on each rank {demand}: coNCePTuaL cannot check it; use --to c"
        )
    dims, _ = min(shape.seen, key=lambda run: prod(run[0]))
    headers, letters = [], [letter for letter in ascii_lowercase if letter not in shape.coords]
    if len(shape.sizes) > 1:
        for name, side in zip(shape.coords, dims, strict=True):
            headers.append(_parameter(name, f"tasks along {name}", name, name, side))
    for name in shape.inputs:
        wish = [name[0].lower(), *letters]
        letter = next((one for one in wish if one in letters), None)
        if letter is None:
            raise GenerateError(f"coNCePTuaL has no letter left for the option of parameter {name}")
        letters.remove(letter)
        default = shape.default(name)
        fallback = shape.seen[0][1][name] if default is None else default
        headers.append(_parameter(translator.inputs[name], f"parameter {name}", name, letter, fallback))
    sides = sides_of(shape)[len(shape.sizes) == 1 :]  # a line is as long as there are tasks
    return headers, [_assertion(*each, translator) for each in (*sides, *demands(shape))]


def _parameter(name: str, text: str, option: str, letter: str, default: int) -> t.Parameter:
    return t.Parameter(
        name, ncptl_text(text), ncptl_text(f"--{option}"), ncptl_text(f"-{letter}"), writing.integer(default)
    )


def _assertion(wrong: Cond, complaint: str, translator: ExprTranslator) -> t.Assert:
    return t.Assert(ncptl_text(complaint.lower()), writing.cond(translator.cond(opposite(wrong))))


def clock(duration: Duration) -> t.Expr:
    """Return a time in microseconds: a number, or a formula of the number of tasks.

    The formula's terms are integers of nanoseconds.
    """
    if not duration.law or all(not power and not log for _, power, log in duration.law):
        ns = sum(c for c, _, _ in duration.law) if duration.law else duration.ns
        return writing.integer(round(ns / 1000))
    nanoseconds: t.Expr | None = None
    for c, power, log in duration.law:
        term = _term(abs(round(c)), power, log)
        if nanoseconds is None and c >= 0:
            nanoseconds = term
        else:
            nanoseconds = t.Binary("-" if c < 0 else "+", nanoseconds or ZERO, term)
    assert nanoseconds is not None
    return t.Call("MAX", (ZERO, t.Real(t.Binary("/", nanoseconds, t.Integer(1000)))))


def _term(factor: int, power: float, log: int) -> t.Expr:
    """Return factor * num_tasks ** power * log2(num_tasks) ** log."""
    term: t.Expr = t.Integer(factor)
    if power:
        term = t.Binary("*" if power > 0 else "/", term, _raised(abs(power)))
    for _ in range(log):
        term = t.Binary("/", t.Binary("*", term, _log10(TASKS)), _log10(t.Integer(2)))
    return term


def _log10(e: t.Expr) -> t.Expr:
    return t.Call("LOG10", (e,))


def _raised(power: float) -> t.Expr:
    """Return num_tasks to a positive power, a fraction with a small denominator."""
    fraction = Fraction(power).limit_denominator(12) if power != int(power) else Fraction(int(power))
    raised = TASKS
    if fraction.numerator != 1:
        raised = t.Binary("**", TASKS, t.Integer(fraction.numerator))
    return raised if fraction.denominator == 1 else t.Call("ROOT", (t.Integer(fraction.denominator), raised))
