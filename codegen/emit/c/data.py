"""What a C program has beside its functions: communicators, datatypes, arrays and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scalatrace.codegen.emit.arguments import NAMED_CONSTANTS, predefined_name
from scalatrace.codegen.emit.c import grid as grid_c
from scalatrace.codegen.emit.c.large import INT_MAX, LARGE
from scalatrace.codegen.emit.imperative import ProgramText
from scalatrace.codegen.emit.text import c_string
from scalatrace.formula import Special, Var
from scalatrace.predefined import IN_EVERY_HEADER, NO_DATATYPE
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import UNDEFINED, special_name

__all__ = ["CData", "construct"]


def construct(tree: TypeTree) -> tuple[list[str], str]:
    """The statements that make a datatype, and the variable (or name) that then is it."""
    lines: list[str] = []
    handle = _make(tree, lines)
    return lines, handle


def _needs_large(tree: TypeTree) -> bool:
    """Whether a constructor takes numbers that an int does not hold."""
    return any("_c(" in line for line in construct(tree)[0])


def _list_required(tree: TypeTree) -> set[str]:
    """The predefined datatypes of a description that an `mpi.h` may lack."""
    result = set().union(*map(_list_required, tree.inner))
    return result | {tree.name} - IN_EVERY_HEADER - {NO_DATATYPE} if tree.predefined else result


@dataclass
class _TypeForm:
    """How numbers are written for one form of a constructor, `MPI_Type_vector` or `MPI_Type_vector_c`.

    Attributes:
        count: the type of an array of numbers of elements.
        place: the type of an array of displacements in bytes.
        exceeded: whether a number was more than an int holds.
    """

    count: str = "int"
    place: str = "MPI_Aint"
    exceeded: bool = False

    def number(self, n: Any) -> str:
        """A number of elements."""
        self.exceeded |= abs(n) > INT_MAX
        return str(n)

    def numbers(self, values: Any) -> str:
        """An array of them."""
        return _array(self.count, map(self.number, values))

    def places(self, values: Any) -> str:
        """An array of displacements in bytes."""
        return _array(self.place, map(str, values))


def _array(of: str, values: Iterable[str]) -> str:
    return f"({of}[]){{{', '.join(values) or '0'}}}"


def _make(tree: TypeTree, lines: list[str]) -> str:
    if tree.predefined:
        return predefined_name(tree.name)
    inner = [_make(t, lines) for t in tree.inner]
    result = f"t{sum(line.startswith('MPI_Datatype') for line in lines) + 1}"
    if tree.name == "opaque":
        size, extent = tree.arguments
        lines.append(f"MPI_Datatype {result}, {result}b;")
        lines.append(f"{_format_constructor('contiguous', (size,), ['MPI_BYTE'])}, &{result}b);")
        lines.append(f"MPI_Type_create_resized({result}b, 0, {extent}, &{result});")
        return result
    lines.append(f"MPI_Datatype {result};")
    lines.append(f"{_format_constructor(tree.name, tree.arguments, inner)}, &{result});")
    return result


def _format_constructor(name: str, arguments: Sequence[Any], inner: Sequence[str]) -> str:
    """The call of a constructor up to its result; of the form for large counts only where one is needed."""
    recipe, form = _RECIPES[name], _TypeForm()
    op, constructor_arguments = recipe(arguments, inner, form)
    if form.exceeded:
        op, constructor_arguments = recipe(arguments, inner, _TypeForm("MPI_Count", "MPI_Count"))
        op += "_c"
    return f"MPI_Type_{op}({', '.join(constructor_arguments)}"


def _order(word: Any) -> str:
    return "MPI_ORDER_FORTRAN" if word == "Fortran" else "MPI_ORDER_C"


def _types(inner: Sequence[str]) -> str:
    return _array("MPI_Datatype", inner)


def _ints(values: Any) -> str:
    return _array("int", map(str, values))


def _of_f90(kind: str) -> _Recipe:
    return lambda a, t, f: (f"create_f90_{kind}", [_or_undefined(n) for n in a[:-1]])


def _or_undefined(n: Any) -> str:
    return "MPI_UNDEFINED" if n == UNDEFINED else str(n)


_Recipe = Callable[[Sequence[Any], Sequence[str], _TypeForm], tuple[str, list[str]]]

_RECIPES: dict[str, _Recipe] = {
    "contiguous": lambda a, t, f: ("contiguous", [f.number(a[0]), t[0]]),
    "vector": lambda a, t, f: ("vector", [*map(f.number, a), t[0]]),
    "hvector": lambda a, t, f: ("create_hvector", [*map(f.number, a[:2]), str(a[2]), t[0]]),
    "indexed": lambda a, t, f: ("indexed", [str(len(a[0])), *map(f.numbers, a), t[0]]),
    "hindexed": lambda a, t, f: (
        "create_hindexed",
        [str(len(a[0])), f.numbers(a[0]), f.places(a[1]), t[0]],
    ),
    "indexed_block": lambda a, t, f: (
        "create_indexed_block",
        [str(len(a[1])), f.number(a[0]), f.numbers(a[1]), t[0]],
    ),
    "hindexed_block": lambda a, t, f: (
        "create_hindexed_block",
        [str(len(a[1])), f.number(a[0]), f.places(a[1]), t[0]],
    ),
    "struct": lambda a, t, f: (
        "create_struct",
        [str(len(a[0])), f.numbers(a[0]), f.places(a[1]), _types(t)],
    ),
    "subarray": lambda a, t, f: (
        "create_subarray",
        [str(len(a[0])), *map(f.numbers, a[:3]), _order(a[3]), t[0]],
    ),
    "darray": lambda a, t, f: (
        "create_darray",
        [str(a[0]), str(a[1]), str(len(a[2])), f.numbers(a[2]), *map(_ints, a[3:6]), _order(a[6]), t[0]],
    ),
    "resized": lambda a, t, f: ("create_resized", [t[0], str(a[0]), str(a[1])]),
    "dup": lambda a, t, f: ("dup", [t[0]]),
    **{f"f90_{kind}": _of_f90(kind) for kind in ("real", "complex", "integer")},
}


class CData(ProgramText):
    """The parts of a C program's text that hold data."""

    quoted = staticmethod(c_string)

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
            self.program.types[i].size > INT_MAX or self.of_type(i, _needs_large) for i in self.used_types
        )

    @cached_property
    def large_arrays(self) -> frozenset[int]:
        """The arrays with numbers that an int does not hold."""
        shape_arrays = self.program.shape.arrays if self.program.shape else ()
        kept = (i for i in self.used_arrays if i not in shape_arrays)
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
        if self.threads:
            lines.append(f"enum {{ THREADS = {self.threads.count} }};")
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
        if self.large or (self.threads and self.threads.shares_requests):
            lines.append("    const long *wide; /* in its place */")
        lines.append("};")
        if self.used_arrays:
            if self.named_arrays:
                lines.append("enum { " + ", ".join(f"A{i} = {i}" for i in sorted(self.named_arrays)) + " };")
            lines.append(f"static struct array arrays[{max(self.used_arrays) + 1}];")
        return "\n".join(lines)

    def static_tables(self) -> str:
        """What varies without a rule."""
        lines = [
            f"static const {_integer(values)} {name}[] = {{{self.entries(values)}}};"
            for values, name in self.tables.items()
        ]
        if self.calls.marks:
            names = ", ".join(f"{name} = {mark}" for mark, name in self.calls.marks.items())
            lines.append(f"enum {{ {names} }};")
        for contexts, name in self.contexts.items():
            rows = ", ".join(f"{{{call}, {us}}}" for call, us in self.times_after(contexts))
            table = f"static const struct time_after {name}[] = {{{rows}, {{-1, 0}}}};"
            lines.append(f"{table} /* {self.mean(contexts)} */")
        for duration, name in self.bins.items():
            rows = ", ".join(f"{{{row}}}" for row in self.rows(duration))
            lines.append(f"static const struct bin {name}[] = {{{rows}}};")
        return "\n".join(lines)

    def arrays(self) -> str:
        """The arrays that calls are given."""
        if not self.used_arrays:
            return ""
        variable, before, lines = Var("i", None), [], []
        runs = self.array_runs(lambda i: i not in self.large_arrays)
        in_runs = {i for run in runs for i in range(run.first, run.first + run.count)}
        for run in runs:
            if run.counts is not None:
                self.wanted["displacements"] = None
                lines.append(f"    displacements({run.first}, {run.counts}, {run.count});")
                continue
            name = f"rows{run.first}"
            rows = ", ".join(
                f"{{{', '.join(map(self.constant, self.program.arrays[run.first + i].values))}}}"
                for i in range(run.count)
            )
            before.append(f"static const int {name}[{run.count}][{run.length}] = {{{rows}}};")
            lines.append(
                f"    for (int i = 0; i < {run.count}; i++) "
                f"arrays[{run.first} + i] = (struct array){{.n = {run.length}, .at = {name}[i]}};"
            )
        for i in self.used_arrays:
            if i in in_runs:
                continue
            self.named_arrays.add(i)
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
            lines += self.of_type(i, lambda tree, done=done: _make_datatype(tree, done))  # type: ignore[misc]
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
            yield from _make_datatype(inner, f"listed{form}({name}, {at}, {{}}, {{}});")

    def optional_types(self) -> str:
        """The lines that say of a datatype of the program that this MPI lacks it."""
        names = sorted(set().union(*(self.of_type(i, _list_required) for i in self.used_types)))
        return "".join(
            f'#ifndef {name}\n#error "this MPI has no datatype {name}"\n#endif\n' for name in names
        )

    def text_at(self, name: str, texts: str, index: str) -> str:
        kind = "MPI_Op" if name == "op" else "int" if name in NAMED_CONSTANTS else "const char *"
        return f"({kind}[]){{{texts}}}[{index}]"


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


def _make_datatype(tree: TypeTree, done: str) -> list[str]:
    """The statements that make a datatype and keep it, the last one with handle and whether to commit it."""
    result, handle = construct(tree)
    last = done.format(handle, int(tree.derived))
    return (
        ["    {", *(f"        {line}" for line in result), f"        {last}", "    }"]
        if result
        else [f"    {last}"]
    )
