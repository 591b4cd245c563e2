"""The grid of a scalable benchmark in C."""

from __future__ import annotations

from scalatrace.codegen.emit.formula_printer import Infix
from scalatrace.codegen.emit.grids import demands, local_demands, places, sides_of
from scalatrace.codegen.emit.text import c_string
from scalatrace.codegen.program.grid_shape import Array, GridShape
from scalatrace.formula import negate

__all__ = ["array", "declarations", "rules"]


def declarations(infix: Infix, shape: GridShape) -> str:
    """Ranks, sides, coordinates, parameters and the options that they come from."""
    names = [*shape.sizes, *shape.coords, "P"]
    lines = [f"static long {', '.join(names)}; /* sides of the grid, this rank's place in it, ranks */"]
    options = [f'{{"--{name.lower()}", &{name}, 0}}' for name in shape.sizes]
    for name in shape.inputs:
        default = shape.default(name)
        c_name = infix.renamed.get(name, name)
        lines.append(f"static long {c_name}{'' if default is None else f' = {default}'};")
        options.append(f"{{{c_string(f'--{name}')}, &{c_name}, {int(default is not None)}}}")
    lines.append(f"enum {{ SIDES = {len(shape.sizes)}, OPTIONS = {len(options)} }};")
    lines.append("static struct option {\n    const char *name;\n    long *value;\n    int given;")
    lines.append(f"}} options[OPTIONS] = {{{', '.join(options)}}};")
    lines.append(f"#define RULE {c_string(shape.rule)} /* how sides follow from the number of ranks */")
    lines.append("#define RANKS ((int)P)")
    lines.append("static const char *refusal(void);\nstatic void stand(int r);")
    return "\n".join(lines)


def rules(infix: Infix, shape: GridShape) -> str:
    """Where a rank stands, and what is wrong with sides that the application cannot have."""
    lines = ["/* Where a rank stands in the grid. */", "static void stand(int r) {", "    rank = r;"]
    lines += [f"    {text};" for text in places(shape, "/")]
    lines += ["}", "", "/* What is wrong with the sides of the grid, or NULL. */"]
    lines.append("static const char *refusal(void) {")
    for cond, complaint in sides_of(shape):
        lines.append(f"    if ({infix.cond(cond)}) return {c_string(complaint)};")
    for cond, complaint in demands(shape):
        lines.append(f"    if ({infix.cond(negate(cond))}) return {c_string(complaint)};")
    if local := local_demands(shape):
        lines += ["    for (int r = 0; r < P; r++) {", "        stand(r);"]
        for cond, complaint in local:
            lines.append(f"        if ({infix.cond(negate(cond))}) return {c_string(complaint)};")
        lines.append("    }")
    return "\n".join([*lines, "    return NULL;", "}"])


def array(infix: Infix, number: int, definition: Array) -> str:
    """The statement that makes an array."""
    name, element = definition.variable.name, infix.expr(definition.element)
    return (
        f"    {{\n        long length = {infix.expr(definition.length)};\n"
        "        int *values = memory(length > 0 ? (size_t)length * sizeof *values : 1);\n"
        f"        for (long {name} = 0; {name} < length; {name}++) values[{name}] = (int)({element});\n"
        f"        arrays[A{number}] = (struct array){{.n = (int)length, .at = values}};\n    }}"
    )
