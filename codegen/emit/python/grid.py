"""The grid of a scalable benchmark in Python."""

from __future__ import annotations

from scalatrace.codegen.emit.formula_printer import Infix
from scalatrace.codegen.emit.grids import demands, local_demands, places, sides_of
from scalatrace.codegen.emit.text import python_string
from scalatrace.codegen.program.grid_shape import Array, Shape
from scalatrace.formula import negate

__all__ = ["array", "declarations", "rules"]


def declarations(shape: Shape) -> str:
    """The options, and how sides follow from the number of ranks."""
    sides = ", ".join(f'"--{name}"' for name in shape.coords)
    given = ", ".join(f"{python_string('--' + name)}: {shape.default(name)}" for name in shape.inputs)
    lines = [f"SIDES = ({sides},)  # of the grid", f"given = {{{given}}}  # parameters"]
    return "\n".join(
        [*lines, f"RULE = {python_string(shape.rule)}  # how sides follow from the number of ranks"]
    )


def rules(infix: Infix, shape: Shape) -> str:
    """Sides and parameters by name, where a rank stands, and what is wrong with sides."""
    own = [infix.renamed.get(name, name) for name in shape.inputs]
    lines = ["def take(ranks):", '    """Name sides, parameters and ranks."""']
    lines.append(f"    global {', '.join([*shape.sizes, *own, 'P', 'RANKS'])}")
    lines.append("    P = RANKS = ranks")
    lines += [f'    {name} = given["--{name.lower()}"]' for name in shape.sizes]
    lines += [
        f"    {mine} = given[{python_string('--' + name)}]"
        for name, mine in zip(shape.inputs, own, strict=True)
    ]
    lines += ["", "", "def stand(r):", '    """Find where a rank stands in the grid."""']
    lines.append(f"    global {', '.join(['rank', *shape.coords])}")
    lines += ["    rank = r", *(f"    {text}" for text in places(shape, "//"))]
    lines += ["", "", "def refusal():", '    """What is wrong with the sides of the grid, or None."""']
    for cond, complaint in sides_of(shape):
        lines.append(f"    if {infix.cond(cond)}:\n        return {python_string(complaint)}")
    for cond, complaint in demands(shape):
        lines.append(f"    if {infix.cond(negate(cond))}:\n        return {python_string(complaint)}")
    if local := local_demands(shape):
        lines += ["    for r in range(P):", "        stand(r)"]
        for cond, complaint in local:
            lines.append(
                f"        if {infix.cond(negate(cond))}:\n            return {python_string(complaint)}"
            )
    return "\n".join([*lines, "    return None"])


def array(infix: Infix, number: int, made: Array) -> str:
    """The statement that makes an array."""
    name, length = made.variable.name, infix.expr(made.length)
    return f"A{number} = [{infix.expr(made.element)} for {name} in range({length})]"
