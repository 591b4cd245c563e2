"""What stands at the head of a scalable program: its parameters, and what they have to be."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from string import ascii_lowercase

from scalatrace.codegen.build.places import opposite
from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import NUM_TASKS, Tongue
from scalatrace.codegen.emit.grids import demands, local_demands, sides_of
from scalatrace.codegen.emit.text import ncptl_string
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.expr import Cond
from scalatrace.codegen.program.tree import Duration

__all__ = ["clock", "preamble"]


def preamble(tongue: Tongue) -> list[str]:
    """Declarations and assertions."""
    shape = tongue.shape
    if local_demands(shape):
        asked = local_demands(shape)[0][1]
        raise GenerateError(f"the formulas ask something of each rank ({asked}): coNCePTuaL cannot check it")
    dims, _ = min(shape.seen, key=lambda run: prod(run[0]))
    lines, letters = [], [letter for letter in ascii_lowercase if letter not in shape.coords]
    if len(shape.sizes) > 1:
        for name, side in zip(shape.coords, dims, strict=True):
            lines.append(_parameter(name, f"tasks along {name}", name, name, side))
    for name in shape.inputs:
        wish = [name[0].lower(), *letters]
        letter = next((one for one in wish if one in letters), None)
        if letter is None:
            raise GenerateError(f"coNCePTuaL has no letter left for the option of parameter {name}")
        letters.remove(letter)
        default = shape.default(name)
        fallback = shape.seen[0][1][name] if default is None else default
        lines.append(_parameter(tongue.inputs[name], f"parameter {name}", name, letter, fallback))
    for cond, complaint in sides_of(shape)[len(shape.sizes) == 1 :]:  # a line is as long as there are tasks
        lines.append(_assert(complaint, tongue, cond))
    for cond, complaint in demands(shape):
        lines.append(_assert(complaint, tongue, opposite(cond)))
    return [*lines, ""]


def _parameter(name: str, told: str, option: str, letter: str, default: int) -> str:
    texts = ncptl_string(told), ncptl_string(f"--{option}"), ncptl_string(f"-{letter}")
    return f"{name} IS {texts[0]} AND COMES FROM {texts[1]} OR {texts[2]} WITH DEFAULT {default} ."


def _assert(complaint: str, tongue: Tongue, wrong: Cond) -> str:
    right = words.cond(tongue.cond(opposite(wrong)))
    return f"ASSERT THAT {ncptl_string(complaint.lower())} WITH {right} ."


def clock(duration: Duration) -> str:
    """A time in microseconds: a number, or a formula of the number of tasks with integers for nanoseconds."""
    if not duration.law or all(not power and not log for _, power, log in duration.law):
        return str(round(sum(c for c, _, _ in duration.law) / 1000 if duration.law else duration.ns / 1000))
    text, tasks = "", NUM_TASKS.name
    for c, power, log in duration.law:
        term = str(abs(round(c)))
        if power:
            whole = f"{tasks} ** {abs(power):g}" if power == int(power) else _root(tasks, abs(power))
            whole = tasks if abs(power) == 1 else f"({whole})"
            term += f" {'*' if power > 0 else '/'} {whole}"
        term += f" * (LOG10({tasks})) / (LOG10(2 ))" * log
        text += f" {'-' if c < 0 else '+'} {term}" if text else f"{'0 - ' if c < 0 else ''}{term}"
    return f"(MAX(0 , REAL(({text}) / 1000 )))"


def _root(base: str, power: float) -> str:
    found = Fraction(power).limit_denominator(12)
    raised = base if found.numerator == 1 else f"{base} ** {found.numerator} "
    return f"ROOT({found.denominator} , {raised})"
