"""What a C program has beside its functions: communicators, datatypes, arrays and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from scalatrace.codegen.emit.arguments import NAMED_CONSTANTS, named_constants
from scalatrace.codegen.emit.c import grid as grid_c
from scalatrace.codegen.emit.c.large import INT_MAX, LARGE
from scalatrace.codegen.emit.c.typing import construct, needs_large, required
from scalatrace.codegen.emit.imperative import Writing
from scalatrace.codegen.emit.text import c_string
from scalatrace.formula import Choose, Const, Special, Value, Var
from scalatrace.predefined import OPERATIONS
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import special_name

__all__ = ["CData"]


class CData(Writing):
    """The parts of a C program's text that hold data."""

    @property
    def wide(self) -> bool:
        """Whether the expression that is being written is to have 64 bits."""
        return self.infix.variant

    @wide.setter
    def wide(self, value: bool) -> None:
        self.infix.variant = value

    @property
    def large(self) -> bool:
        """Whether the program needs an MPI with large counts, as far as it is written."""
        return self.large_types or any(name.endswith(LARGE) for name in self.wanted)

    @property
    def large_types(self) -> bool:
        """Whether a datatype or a count of its constructor exceeds an int."""
        return any(
            self.program.types[i].size > INT_MAX or self.of_type(i, needs_large) for i in self.used_types
        )

    @cached_property
    def large_arrays(self) -> frozenset[int]:
        """The arrays with numbers that an int does not hold."""
        made = self.program.shape.arrays if self.program.shape else ()
        kept = (i for i in self.used_arrays if i not in made)
        return frozenset(i for i in kept if _is_wide(self.program.arrays[i]))

    def member(self, e: str, values: tuple[int, ...], outside: bool) -> str:
        """Membership in a static set."""
        self.infix.helpers.add("among")
        return f"{'!' if outside else ''}among({e}, {self.table(values)}, {len(values)})"

    def constant(self, value: int) -> str:
        """An integer, of 64 bits where an expression needs them, or a constant of MPI."""
        text = super().constant(value)
        return f"{text}L" if self.wide and text.lstrip("-").isdigit() else text

    def enumerations(self, has_types: bool) -> str:
        """Communicators, datatypes and arrays by name, and where they are kept.

        Args:
            has_types: the program's functions use the table of datatypes, though calls may name none.
        """
        n = len(self.program.comms)
        families = ", ".join(self.families[i] for i in range(n))
        lines = [f"enum {{ RANKS = {self.program.nprocs} }};", f"enum {{ {families}, COMMS }};"]
        if self.program.shape:
            lines[0] = grid_c.declarations(self.infix, self.program.shape)
        lines.append("static MPI_Comm comms[COMMS];")
        lines.append("static int own[COMMS], size[COMMS]; /* own rank, and how many ranks a peer can be */")
        ntypes = max(self.used_types, default=-1) + 1
        if ntypes:
            lines.append("enum { " + ", ".join(f"{self.types[i]} = {i}" for i in self.used_types) + " };")
        if ntypes or has_types:
            lines.append("static struct type {\n    MPI_Datatype handle;")
            lines.append(f"    {'MPI_Count' if self.large_types else 'int'} size;")
            lines.append(f"    MPI_Aint extent, true_lb, true_extent;\n}} types[{max(ntypes, 1)}];")
        if self.type_lists:
            lines.append("static struct list {\n    MPI_Datatype *handles;\n    struct type *each;")
            lines.append(f"}} lists[{ntypes}]; /* a datatype for each peer */")
        lines.append("struct array {\n    int n;\n    const int *at;")
        if self.large:
            lines.append("    const long *wide; /* in its place */")
        lines.append("};")
        if self.used_arrays:
            lines.append("enum { " + ", ".join(f"A{i} = {i}" for i in self.used_arrays) + " };")
            lines.append(f"static struct array arrays[{max(self.used_arrays) + 1}];")
        return "\n".join(lines)

    def static_tables(self) -> str:
        """What varies without a rule."""
        lines = [
            f"static const {_integer(values)} {name}[] = {{{self.entries(values)}}};"
            for values, name in self.tables.items()
        ]
        for contexts, name in self.contexts.items():
            rows = ", ".join(f"{{{mark}, {self.us(c.duration)}}}" for c in contexts for mark in c.marks)
            lines.append(f"static const struct after {name}[] = {{{rows}}};")
        for duration, name in self.bins.items():
            rows = ", ".join(f"{{{row}}}" for row in self.rows(duration))
            lines.append(f"static const struct bin {name}[] = {{{rows}}};")
        return "\n".join(lines)

    def arrays(self) -> str:
        """The arrays that calls are given."""
        if not self.used_arrays:
            return ""
        variable, before, lines = Var("i", None), [], []
        for i in self.used_arrays:
            array = self.program.arrays[i]
            if self.program.shape and i in self.program.shape.arrays:
                lines.append(grid_c.array(self.infix, i, self.program.shape.arrays[i]))
                continue
            integer, member = ("long", "wide") if i in self.large_arrays else ("int", "at")
            self.wide = i in self.large_arrays
            formula = self.array_formula(array, Var("i", array.length))
            if formula is None:
                values = ", ".join(map(self.constant, array.values)) or "0"
                before.append(f"static const {integer} a{i}[] = {{{values}}};")
            else:
                before.append(f"static {integer} a{i}[{array.length}];")
                lines.append(
                    f"    for (int {variable.name} = 0; i < {array.length}; i++) a{i}[i] = {formula};"
                )
            lines.append(f"    arrays[A{i}] = (struct array){{.n = {array.length}, .{member} = a{i}}};")
            self.wide = False
        return "\n".join([*before, "\nstatic void make_arrays(void)\n{", *lines, "}"])

    def datatypes(self) -> str:
        """The function that makes all datatypes."""
        if not self.used_types:
            return ""
        lines, form = ["static void make_types(void)\n{"], LARGE if self.large_types else ""
        for i in self.single_types:
            self.wanted[f"made{form}"] = None
            done = f"made{form}({self.types[i]}, {{}}, {self.sizes(i)}, {{}});"
            lines += self.of_type(i, lambda tree, done=done: _made(tree, done))  # type: ignore[misc]
        for i in self.type_lists:
            self.wanted[f"listed{form}"] = None
            lines += self.of_type(i, lambda tree, i=i: list(self.listed(i, tree, form)))  # type: ignore[misc]
        return "\n".join([*lines, "}"])

    def listed(self, index: int, tree: TypeTree, form: str) -> Iterator[str]:
        """The statements that make a list of datatypes, one for each peer."""
        name, n = self.types[index], len(tree.inner) + 1
        yield f"    lists[{name}].handles = memory({n} * sizeof(MPI_Datatype));"
        yield f"    lists[{name}].each = memory({n} * sizeof(struct type));"
        for at, inner in enumerate(tree.inner):
            yield from _made(inner, f"listed{form}({name}, {at}, {{}}, {{}});")

    def optional_types(self) -> str:
        """The lines that say of a datatype of the program that this MPI lacks it."""
        names = sorted(set().union(*(self.of_type(i, required) for i in self.used_types)))
        return "".join(
            f'#ifndef {name}\n#error "this MPI has no datatype {name}"\n#endif\n' for name in names
        )

    def text_argument(self, name: str, e: Value) -> str:
        """An operation, a constant of MPI, or a string."""
        if isinstance(e, Const):
            return self.spelled(name, e.value)
        if isinstance(e, Choose):
            then, otherwise = self.text_argument(name, e.then), self.text_argument(name, e.otherwise)
            return f"({self.infix.cond(e.cond)} ? {then} : {otherwise})"
        kind = "MPI_Op" if name == "op" else "int" if name in NAMED_CONSTANTS else "const char *"
        every = ", ".join(self.spelled(name, i) for i in range(len(self.program.strings)))
        return f"({kind}[]){{{every}}}[{self.infix.expr(e)}]"

    def spelled(self, name: str, index: int) -> str:
        """A string of the trace in the sense of a parameter."""
        text = self.program.strings[index]
        if name == "op":
            if text.raw in OPERATIONS:
                return text.raw
            self.wanted["any_op"] = None
            return "any_op()"
        if name in NAMED_CONSTANTS:
            return named_constants(text, "MPI_")
        return c_string(self.file(index) if name == "filename" else text)


def _is_wide(array: IntArray) -> bool:
    """Whether an array has numbers that an int does not hold; listed only if its ends do not tell."""
    values = array.vec.bounded(array.length)
    ends = values.smallest(), values.largest()
    if None not in ends:
        largest = max(abs(end) for end in ends if end is not None)
        if largest * (array.length if array.summed else 1) <= INT_MAX:
            return False
    return _integer(array.values) == "long"


def _integer(values: Sequence[int | Special]) -> str:
    """Type of a table or array. Entries of arrays may stand for constants of MPI."""
    numbers = [v for v in values if isinstance(v, int)]
    return "long" if any(abs(v) > INT_MAX and special_name(v) is None for v in numbers) else "int"


def _made(tree: TypeTree, done: str) -> list[str]:
    """The statements that make a datatype and keep it, the last one with handle and whether to commit it."""
    result, handle = construct(tree)
    last = done.format(handle, int(tree.derived))
    return (
        ["    {", *(f"        {line}" for line in result), f"        {last}", "    }"]
        if result
        else [f"    {last}"]
    )
