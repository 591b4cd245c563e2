"""C with MPI: one file that needs mpicc and nothing else."""

from __future__ import annotations

from codegen.emit import grid_c
from codegen.emit.arguments import NAMED_CONSTANTS, named_constants
from codegen.emit.base import EmitOptions, ImperativeEmitter, Writing
from codegen.emit.grids import options_of, words_of
from codegen.emit.infix import Notation
from codegen.emit.pieces import Library, Piece, library
from codegen.emit.text import c_comment, c_string
from codegen.emit.typing_c import construct
from codegen.errors import GenerateError
from codegen.expr import Choose, Const, Expr, Var, bounds
from codegen.obfuscate import words
from codegen.program import Argument, Branch, Call, Compute, Duration, Loop, Program, Stmt
from codegen.values import of_vec
from scalatrace.ops import operation
from scalatrace.trace.tables import Kind
from scalatrace.trace.trace import LOAD_STEPS
from scalatrace.trace.typetree import TypeTree
from scalatrace.trace.values import special_name

__all__ = ["CEmitter"]

FILES = (
    "base", "frame", "grid", "calls", "collectives", "communicators", "messages", "neighbours", "onesided",
    "files", "partitioned", "alltoallw",
)  # fmt: skip
INT_MAX = 2**31 - 1
WIDE = frozenset({"offset", "disp", "target_disp", "size"})
"""Parameters of 64 bits."""

PLAIN_INITS = frozenset({"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"})
"""Persistent forms without an info argument."""

HEAD = """\
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds" /* in branches where a rank never comes */
#endif
"""


class CEmitter(ImperativeEmitter):
    """C11 with MPI 3."""

    name, suffix, prefix = "c", ".c", "MPI_"
    syntax = words(
        "static const int struct after bin array enum for else own size rank left out made make_arrays steps"
        " share power long subset lists each handles memory sizeof bench io"
    )
    reserved = frozenset({"RANKS", "NULL", "EOF", "CALL", "BUFSIZ", "RAND_MAX"})

    @property
    def library(self) -> Library:
        """The functions that programs carry."""
        return library("c", FILES)

    @property
    def notation(self) -> Notation:
        """How expressions are written."""
        return Notation(
            "&&", "||", "/", lambda c, a, b: f"{c} ? {a} : {b}", lambda e, v, o: e, ("1", "0"), False
        )

    def writing(self, program: Program, options: EmitOptions) -> Writing:
        """The text in the making."""
        return _Writing(self, program, options)


class _Writing(Writing):
    def __init__(self, emitter: CEmitter, program: Program, options: EmitOptions) -> None:
        self.wide = False
        super().__init__(emitter, program, options)
        self.infix.notation = Notation(
            "&&", "||", "/", lambda c, a, b: f"{c} ? {a} : {b}", self.member, ("1", "0"), False
        )

    def member(self, e: str, values: tuple[int, ...], outside: bool) -> str:
        """Membership in a static set."""
        self.infix.helpers.add("among")
        return f"{'!' if outside else ''}among({e}, {self.table(values)}, {len(values)})"

    def text(self) -> str:
        """The whole program: what the body needs is known when it is written."""
        self.lines.deeper()
        self.body(self.program.body)
        body = str(self.lines)
        share = self.subsets() + self.share()
        arrays, types = self.arrays(), self.datatypes()
        if self.marks:
            self.wanted["after" if self.contexts else "came"] = None
        grid = grid_c.rules(self.infix, self.program.shape) if self.program.shape else ""
        check = "arrange" if self.program.shape else "fitting"
        for name in ("tally", "comms", *(("compute",) if self.computes else ()), check):
            self.wanted[name] = None
        pieces = "\n\n".join(map(_text, self.pieces(("types", "arrays", "lists"))))
        parts = [self.title(), HEAD, self.enumerations(), pieces, self.static_tables(), types, arrays, grid]
        parts += [f"static void benchmark(void)\n{{\n{body}}}", self.main(share)]
        return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"

    def constant(self, value: int) -> str:
        """An integer, of 64 bits where an expression needs them, or a constant of MPI."""
        text = super().constant(value)
        return f"{text}L" if self.wide and text.lstrip("-").isdigit() else text

    def argument(self, argument: Argument) -> str:
        """One argument; of numbers that may be large, in 64 bits."""
        limits = bounds(argument.value) if argument.kind is Kind.INT else (0, 0)
        self.wide = argument.name in WIDE and not (limits and -INT_MAX < limits[0] <= limits[1] < INT_MAX)
        if limits and limits[1] > INT_MAX and argument.name not in WIDE:
            raise GenerateError(f"{argument.name} goes up to {limits[1]}, more than an int holds")
        try:
            return super().argument(argument)
        finally:
            self.wide = False

    def title(self) -> str:
        """The comment at the top."""
        of = f" of {c_comment(self.program.title)}" if self.program.title else ""
        n = self.program.nprocs or "P"
        ranks, options = f"{n} ranks", ""
        if self.program.shape:
            ranks, options = words_of(self.program.shape), f" {options_of(self.program.shape)}"
        return f"""\
/* Communication benchmark{of}, for {ranks}. Made from a trace by scalatrace generate.
 *
 *     mpicc -O2 -o bench bench.c && mpiexec -n {n} ./bench{options} [--profile] [--sleep]
 *
 * Functions are called as MPI's and take what the application gave; requests are named by their age (how
 * many of those alive are younger), arrays by A and a number. compute() waits for so many microseconds. */"""

    def enumerations(self) -> str:
        """Communicators, datatypes and arrays by name, and where they are kept."""
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
        lines.append("static struct type {\n    MPI_Datatype handle;\n    int size;")
        lines.append(f"    MPI_Aint extent, true_lb, true_extent;\n}} types[{max(ntypes, 1)}];")
        if self.type_lists:
            lines.append("static struct list {\n    MPI_Datatype *handles;\n    struct type *each;")
            lines.append(f"}} lists[{ntypes}]; /* a datatype for each peer */")
        lines.append("struct array {\n    int n;\n    const int *at;\n};")
        if self.used_arrays:
            lines.append("enum { " + ", ".join(f"A{i} = {i}" for i in self.used_arrays) + " };")
            lines.append(f"static struct array arrays[{max(self.used_arrays) + 1}];")
        return "\n".join(lines)

    def static_tables(self) -> str:
        """What varies without a rule."""
        lines = [
            f"static const {_integer(values)} {name}[] = {{{', '.join(map(self.constant, values))}}};"
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
            if _integer(array.values) == "long":
                raise GenerateError(f"array {i} holds numbers that an int does not hold")
            formula = self.array_formula(array, Var("i", array.length))
            if formula is None:
                values = ", ".join(map(self.constant, array.values)) or "0"
                before.append(f"static const int a{i}[] = {{{values}}};")
            else:
                before.append(f"static int a{i}[{array.length}];")
                lines.append(
                    f"    for (int {variable.name} = 0; i < {array.length}; i++) a{i}[i] = {formula};"
                )
            lines.append(f"    arrays[A{i}] = (struct array){{{array.length}, a{i}}};")
        return "\n".join([*before, "\nstatic void make_arrays(void)\n{", *lines, "}"])

    def datatypes(self) -> str:
        """The function that makes all datatypes."""
        if not self.used_types:
            return ""
        lines = ["static void make_types(void)\n{"]
        for i in self.single_types:
            self.wanted["made"] = None
            lines += _made(self.tree(i), f"made({self.types[i]}, {{}}, {self.sizes(i)}, {{}});")
        for i in self.type_lists:
            inner, name = self.tree(i).inner, self.types[i]
            self.wanted["listed"] = None
            lines.append(f"    lists[{name}].handles = memory({len(inner) + 1} * sizeof(MPI_Datatype));")
            lines.append(f"    lists[{name}].each = memory({len(inner) + 1} * sizeof(struct type));")
            for at, tree in enumerate(inner):
                lines += _made(tree, f"listed({name}, {at}, {{}}, {{}});")
        return "\n".join([*lines, "}"])

    def subsets(self) -> str:
        """The communicators that are there from the start."""
        if self.program.subsets:
            self.wanted["subset"] = None
        return "".join(
            f"    subset({self.families[s.family]}, {self.infix.expr(s.color)}, {self.infix.expr(s.key)});\n"
            for s in self.program.subsets
        )

    def share(self) -> str:
        """This rank's part of the mean computation, in steps of `LOAD_STEPS`."""
        load = self.program.load
        if load is None or not self.computes:
            return ""
        steps = self.infix.expr(of_vec(load, Var("rank", self.program.nprocs)))
        down, up = (f"{2 ** (sign / LOAD_STEPS):.10f}" for sign in (-1, 1))
        return (
            f"    for (int steps = {steps}; steps; steps += steps < 0 ? 1 : -1)\n"
            f"        share *= steps < 0 ? {down} : {up}; /* 2 to the power of 1/{LOAD_STEPS} */\n"
        )

    def main(self, share: str) -> str:
        """Start, check, run, report."""
        makes = ("    make_types();\n" if self.used_types else "") + (
            "    make_arrays();\n" if self.used_arrays else ""
        )
        drawn = "    dice = 88172645463325252u + 1000003u * (uint64_t)rank;\n" if self.bins else ""
        fitting = "arrange(argc, argv, ranks)" if self.program.shape else "fitting(ranks)"
        text = self.emitter.library.pieces["main"].text.replace("$fitting", fitting)
        return text.replace("    $setup;\n", makes + share + drawn)

    def call(self, call: Call) -> None:
        """`Send(100, DOUBLE, rank + 1, 7, WORLD);`"""
        site = self.site(call)
        note = f" /* {c_comment(site)} */" if site else ""
        if call.dropped:
            self.lines.add(f"/* left out: MPI_{call.op}{' at ' + c_comment(site) if site else ''} */")
            return
        self.lines.add(f"{call.op}({self.arguments(call)});{note}")
        if call.mark in self.marks:
            self.lines.add(f"came = {call.mark};")

    def compute(self, compute: Compute) -> None:
        """`compute(12.5);`"""
        contexts = compute.contexts
        if len(contexts) == 1:
            time = self.time(contexts[0].duration)
        elif compute.first is not None:
            first, again = (self.time(c.duration) for c in contexts)
            time = f"{compute.first.name} == 0 ? {first} : {again}"
        elif self.options.drawn or any(context.duration.law for context in contexts):
            time = ""
            for context in contexts:
                time += f"came == {context.marks[0]} ? {self.time(context.duration)} : "
            time += "0.0"
        else:
            name = self.contexts.setdefault(contexts, f"context{len(self.contexts) + 1}")
            time = f"after({name}, {sum(len(c.marks) for c in contexts)})"
        self.lines.add(f"compute({time});")

    def time(self, duration: Duration) -> str:
        """Mean, or a draw from the histogram."""
        if not self.options.drawn or duration.histogram is None:
            return self.us(duration)
        self.wanted["draw"] = None
        name = self.bins.setdefault(duration, f"bins{len(self.bins) + 1}")
        return f"draw({name}, {len(duration.histogram.all_bins)})"

    def loop(self, loop: Loop) -> None:
        """`for (int i1 = 0; i1 < 20; i1++) {`"""
        name = loop.variable.name
        self.lines.add(f"for (int {name} = 0; {name} < {self.bound(loop.count)}; {name}++) {{")
        self.block(loop.body)

    def bound(self, e: Expr) -> str:
        """A trip count; a choice needs parentheses beside a comparison."""
        text = self.infix.expr(e)
        return f"({text})" if isinstance(e, Choose) else text

    def branch(self, branch: Branch) -> None:
        """`if (rank % 4 != 3) {`"""
        self.lines.add(f"if ({self.infix.cond(branch.cond)}) {{")
        self.block(branch.then, closed=not branch.otherwise)
        if branch.otherwise:
            self.lines.add("} else {")
            self.block(branch.otherwise)

    def block(self, body: tuple[Stmt, ...], closed: bool = True) -> None:
        """Statements one step deeper."""
        self.lines.deeper()
        self.body(body)
        self.lines.back()
        if closed:
            self.lines.add("}")

    def comment(self, text: str) -> None:
        """`/* ... */`"""
        self.lines.add(f"/* {c_comment(text)} */")

    def text_argument(self, name: str, e: Expr) -> str:
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
            if text.startswith("MPI_") and text[4:].isidentifier() and text.isascii():
                return text
            self.wanted["any_op"] = None
            return "any_op()"
        if name in NAMED_CONSTANTS:
            return named_constants(text, "MPI_")
        return c_string(self.file(index) if name == "filename" else text)


def _integer(values: tuple[int, ...]) -> str:
    return "long" if any(abs(v) > INT_MAX and special_name(v) is None for v in values) else "int"


def _made(tree: TypeTree, done: str) -> list[str]:
    """The statements that make a datatype and keep it, the last one with handle and whether it was made."""
    made, handle = construct(tree)
    last = done.format(handle, int(bool(made)))
    return (
        ["    {", *(f"        {line}" for line in made), f"        {last}", "    }"]
        if made
        else [f"    {last}"]
    )


def _text(piece: Piece) -> str:
    """A piece of the library for one operation."""
    op = piece.name
    after = ""
    if op.endswith("_init"):
        after = ", request(1)" if op in PLAIN_INITS else ", MPI_INFO_NULL, request(1)"
    elif op[:1].isupper() and operation(op).makes_request:
        after = ", request(0)"
    return piece.text.replace("$op", op).replace(" $after", after)
