"""Python over mpi4py: the same as in C, line by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scalatrace.codegen.emit.arguments import predefined_name
from scalatrace.codegen.emit.formula_printer import Infix, Notation
from scalatrace.codegen.emit.grids import demands, local_demands, places, sides_of
from scalatrace.codegen.emit.imperative import TIMES, ImperativeEmitter, ProgramText
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.emit.pieces import RuntimeLibrary, TextPiece, library
from scalatrace.codegen.emit.python.threads import PythonThreads, threaded
from scalatrace.codegen.emit.text import hash_comment, python_string
from scalatrace.codegen.errors import GenerateError, make_rejection
from scalatrace.codegen.program.grid_shape import Array, GridShape
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramPart,
    Stmt,
)
from scalatrace.codegen.timing.imbalance import SHARE_STEPS
from scalatrace.formula import Var, negate
from scalatrace.operations import operation
from scalatrace.predefined import DATATYPES, FORTRAN_PAIRS, IN_EVERY_HEADER, OPEN_MPI_HANDLES
from scalatrace.trace.anonymize.words import words
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["PythonEmitter"]


def _declarations(shape: GridShape) -> str:
    """The options, and how sides follow from the number of ranks."""
    sides = ", ".join(f'"--{name}"' for name in shape.coords)
    inputs = ", ".join(f"{python_string('--' + name)}: {shape.default(name)}" for name in shape.inputs)
    lines = [f"SIDES = ({sides},)  # of the grid", f"given = {{{inputs}}}  # parameters"]
    return "\n".join(
        [*lines, f"RULE = {python_string(shape.rule)}  # how sides follow from the number of ranks"]
    )


def _rules(infix: Infix, shape: GridShape) -> str:
    """Sides and parameters by name, where a rank stands, and what is wrong with sides."""
    names = [infix.renamed.get(name, name) for name in shape.inputs]
    lines = ["def take(ranks):", '    """Name sides, parameters and ranks."""']
    lines.append(f"    global {', '.join([*shape.sizes, *names, 'P', 'RANKS'])}")
    lines.append("    P = RANKS = ranks")
    lines += [f'    {name} = given["--{name.lower()}"]' for name in shape.sizes]
    lines += [
        f"    {mine} = given[{python_string('--' + name)}]"
        for name, mine in zip(shape.inputs, names, strict=True)
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


def _array(infix: Infix, number: int, definition: Array) -> str:
    """The statement that makes an array."""
    name, length = definition.variable.name, infix.expr(definition.length)
    return f"A{number} = [{infix.expr(definition.element)} for {name} in range({length})]"


_NAMED = "named"
"""The function of the library that finds a datatype by MPI's name for it."""


def _construct(tree: TypeTree) -> str:
    """The expression that makes a datatype."""
    if tree.predefined:
        name = predefined_name(tree.name)
        attribute = DATATYPES[name] if name in IN_EVERY_HEADER else None
        return f"MPI.{attribute}" if attribute else f'{_NAMED}("{name}")'
    inner = [_construct(t) for t in tree.inner]
    return _RECIPES[tree.name](tree.arguments, inner)


def _of_one(method: str) -> Callable[[Sequence[Any], Sequence[str]], str]:
    return lambda a, t: f"{t[0]}.{method}({', '.join(_value(v) for v in a)})"


def _of_f90(kind: str) -> Callable[[Sequence[Any], Sequence[str]], str]:
    return lambda a, t: f"MPI.Datatype.Create_f90_{kind}({', '.join(map(_value, a[:-1]))})"


def _value(value: Any) -> str:
    if value == UNDEFINED:
        return "MPI.UNDEFINED"
    if isinstance(value, str):
        return "MPI.ORDER_FORTRAN" if value == "Fortran" else "MPI.ORDER_C"
    return str(list(value)) if isinstance(value, tuple) else str(value)


_RECIPES: dict[str, Callable[[Sequence[Any], Sequence[str]], str]] = {
    "contiguous": _of_one("Create_contiguous"),
    "vector": _of_one("Create_vector"),
    "hvector": _of_one("Create_hvector"),
    "indexed": _of_one("Create_indexed"),
    "hindexed": _of_one("Create_hindexed"),
    "indexed_block": _of_one("Create_indexed_block"),
    "hindexed_block": _of_one("Create_hindexed_block"),
    "struct": lambda a, t: f"MPI.Datatype.Create_struct({_value(a[0])}, {_value(a[1])}, [{', '.join(t)}])",
    "subarray": _of_one("Create_subarray"),
    "darray": _of_one("Create_darray"),
    "resized": _of_one("Create_resized"),
    "dup": _of_one("Dup"),
    **{f"f90_{kind}": _of_f90(kind) for kind in ("real", "complex", "integer")},
    "opaque": lambda a, t: f"MPI.BYTE.Create_contiguous({a[0]}).Create_resized(0, {a[1]})",
}


FILES = (
    "base", "grid", "calls", "collectives", "communicators", "messages", "neighbours", "onesided", "files",
    "partitioned", "alltoallw",
)  # fmt: skip

NOTES = (
    "Functions are called as MPI's and take what the application gave; requests are named by age",
    "(how many of those alive are younger), arrays by number. compute() waits for microseconds.",
)


MAX_UNENCLOSED = 60
"""Characters of an expression without parentheses, within which alone a line can be broken."""


class PythonEmitter(ImperativeEmitter):
    """Python 3.10 with mpi4py 4."""

    files = FILES
    name, suffix, prefix, end = "python", ".py", "MPI.", ""
    syntax = words(
        "for range else not and types arrays left out pass global previous_call random seed share subset"
        " lists bench io itertools accumulate initial update enumerate"
    )
    reserved = frozenset({"RANKS", "MPI", "ANY_OP"})
    from_zero = True

    thread_reserved = frozenset({
        "THREADS", "TURN", "USE", "FREE", "NAME", "REQUEST", "WINDOW", "FILES", "OTHERS", "USES",
    })  # fmt: skip

    def texts(self, names: tuple[str, ...]) -> RuntimeLibrary:
        """The functions in some files of the run-time library."""
        return library("py.in", names)

    def threaded(self, shares_requests: bool, shares_messages: bool) -> RuntimeLibrary:
        """The functions of programs with several threads."""
        return threaded(self.texts(FILES), self.texts(("threads",)), shares_requests, shares_messages)

    @property
    def notation(self) -> Notation:
        """How expressions are written."""
        return Notation(
            "and",
            "or",
            "//",
            lambda c, a, b: f"{a} if {c} else {b}",
            lambda e, v, outside: f"{e} {'not ' if outside else ''}in {v}",
            ("True", "False"),
            True,
        )

    def emit(self, program: BenchmarkProgram, options: EmitOptions) -> str:
        """The text of a program. Raises GenerateError also when it is no Python."""
        text = super().emit(program, options)
        try:
            compile(text, "bench.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            line = error.lineno if isinstance(error, SyntaxError) else None
            raise make_rejection(text, "Python", str(error), line) from None
        return text

    def writing(self, program: BenchmarkProgram, options: EmitOptions) -> ProgramText:
        """The text in the making."""
        return _PythonText(self.with_threads(program.threads), program, options)


class _PythonText(PythonThreads):
    quoted = staticmethod(python_string)
    sums_arrays = False
    """Whether displacements are sums of counts."""

    def text(self) -> str:
        """The whole program: what the body needs is known when it is written."""
        self.lines.deeper()
        if self.marks:
            self.lines.add("global previous_call")
        self.body(self.program.body)
        if self.program.truncates:
            raise GenerateError("in Python, messages cannot be too long for their receives: use --to c")
        body = str(self.lines) if self.program.body else "    pass\n"
        orders = self.orders()
        setup = self.datatypes() + self.arrays()
        own = self.share() if self.threads else []
        setup += "".join(
            f"{line}\n" for line in (*self.subsets(), *self.seed(), *([] if self.threads else self.share()))
        )
        if self.threads and "objects" in self.wanted:
            setup += "make_orders()\n"
        shape = self.program.shape
        grid = _rules(self.infix, shape) if shape else ""
        check = "arrange" if shape else "fitting"
        for name in ("tally", "comms", *(["compute_after"] if self.marks else []), check):
            self.wanted[name] = None
        if self.computes:
            self.wanted["compute"] = None
        if self.used_types:
            self.wanted["types"] = None
        pieces = [replace(piece, text=_text(piece)) for piece in self.pieces(())]
        benchmark = f"def benchmark():\n{body}"
        if self.threads:
            functions = [self.of_threads(pieces, [*self.functions.values(), benchmark], own)]
            pieces = self.common(pieces)
        else:
            functions = [*self.functions.values(), benchmark]
        fitting = f"{check}(MPI.COMM_WORLD.Get_size())"
        main = self.emitter.library.pieces["main"].text.replace("$setup\n", setup)
        main = main.replace("$fitting", fitting)
        if self.threads:
            main = main.replace("\nbenchmark()\n", "\nrun_threads()\n")
        parts = [
            self.title(),
            *(piece.text for piece in pieces),
            self.tables_text(),
            orders,
            grid,
            *functions,
            main,
        ]
        return "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"

    def title(self) -> str:
        """Comment, imports, and names of communicators and datatypes."""
        shape = self.program.shape
        heading = (*self.heading(hash_comment, "mpiexec -n $n python bench.py"), *NOTES)
        lines = [
            *(f"# {line}".rstrip() for line in heading),
            "",
            *(["import bisect"] if self.infix.helpers & {"search", "search_c"} else []),
            *(["import contextlib"] if self.threads else []),
            "import ctypes",
            *(["import itertools"] if self.sums_arrays else []),
            "import math",
            "import os",
            "import random",
            "import sys",
            *(["import threading"] if self.threads else []),
            "import time",
            "",
            *self.start(),
            "",
            _declarations(shape) if shape else f"RANKS = {self.program.nprocs or 'P'}",
            *([f"THREADS = {self.threads.count}"] if self.threads else []),
            "rank = MPI.COMM_WORLD.Get_rank()",
        ]
        if comms := [self.families[i] for i in range(len(self.program.comms))]:
            lines.append(f"{', '.join(comms)}{',' if len(comms) == 1 else ''} = range({len(comms)})")
        return "\n".join([*lines, *(f"{self.types[i]} = {i}" for i in self.used_types)])

    def start(self) -> list[str]:
        """The import that starts MPI, with the thread level of the program: with more, calls take longer."""
        level = "multiple" if self.threads else self.program.thread_level
        lines = ["import mpi4py", "", f'mpi4py.rc.thread_level = "{level}"'] if level else []
        return [*lines, "from mpi4py import MPI"]

    def tables_text(self) -> str:
        """What varies without a rule."""
        lines = [f"{name} = ({self.entries(values)},)" for values, name in self.tables.items()]
        lines += [f"{name} = {mark}" for mark, name in self.calls.marks.items()]
        for contexts, name in self.contexts.items():
            times = self.times_after(contexts)
            lines.append(
                f"{name} = {{{', '.join(f'{call}: {us}' for call, us in times)}}}  # {self.mean(contexts)}"
            )
        for duration, name in self.bins.items():
            lines.append(f"{name} = ({', '.join(f'({row})' for row in self.rows(duration))},)")
        return "\n".join(lines)

    def arrays(self) -> str:
        """The arrays that calls are given."""
        if not self.used_arrays:
            return ""
        lines, in_runs = [], set[int]()
        for run in self.array_runs(lambda i: True):
            numbers = range(run.first, run.first + run.count)
            in_runs.update(numbers)
            if run.counts is None:
                rows = (f"[{', '.join(map(self.constant, self.program.arrays[i].values))}]" for i in numbers)
                lines.append(f"arrays.update(enumerate([{', '.join(rows)}], {run.first}))")
                continue
            counts = f"arrays[i - {run.first - run.counts}][:-1]"
            if run.first < run.counts:
                counts = f"arrays[i + {run.counts - run.first}][:-1]"
            self.sums_arrays = True
            lines.append(f"for i in range({run.first}, {run.first + run.count}):")
            lines.append(f"    arrays[i] = list(itertools.accumulate({counts}, initial=0))")
        if lines:
            lines = ["arrays = {}", *lines]
            lines += [f"A{i} = arrays[{i}]" for i in sorted(self.named_arrays & in_runs)]
        for i in self.used_arrays:
            if i in in_runs:
                continue
            array = self.program.arrays[i]
            if self.program.shape and i in self.program.shape.arrays:
                lines.append(_array(self.infix, i, self.program.shape.arrays[i]))
                continue
            formula = self.array_formula(array, Var("i", array.length))
            if formula is None:
                lines.append(f"A{i} = [{', '.join(map(self.constant, array.values))}]")
            else:
                lines.append(f"A{i} = [{formula} for i in range({array.length})]")
        arrays_text = ", ".join(f"{i}: A{i}" for i in self.used_arrays if i not in in_runs)
        start = "arrays.update({{{}}})" if in_runs else "arrays = {{{}}}"
        return "\n".join([*lines, *([start.format(arrays_text)] if arrays_text else [])]) + "\n"

    def array_at(self, index: str) -> str:
        """The array with a number that is worked out."""
        return f"arrays[{index}]"

    def datatypes(self) -> str:
        """All datatypes, with the sizes they had in the application."""
        lines = []
        for i in self.single_types:
            constructed, derived = self.of_type(i, lambda tree: (_construct(tree), tree.derived))
            lines.append(f"types[{self.types[i]}] = Type({constructed}, {self.sizes(i)}, {derived})")
        for i in self.type_lists:
            inner = self.of_type(i, lambda tree: [(_construct(t), t.derived) for t in tree.inner])
            texts = (f"Type({constructed}, None, None, {derived})" for constructed, derived in inner)
            lines.append(f"lists[{self.types[i]}] = [{', '.join(texts)}]")
        if any(f"{_NAMED}(" in line for line in lines):
            self.wanted[_NAMED] = None
        return "\n".join(lines) + "\n" if lines else ""

    def counted(self, name: str, length: int) -> str:
        return name

    def seed(self) -> list[str]:
        """Return the statement that sets the random numbers."""
        return [f"random.seed({self.program.nprocs} * 1000003 + rank)"] if self.bins else []

    def share(self) -> list[str]:
        """Return the statement that sets the rank's share of the mean computation."""
        steps = self.share_steps()
        return [] if steps is None else [f"share = 2.0 ** (({steps}) / {SHARE_STEPS})"]

    def call(self, call: MpiCall) -> None:
        """`Send(100, DOUBLE, rank + 1, 7, WORLD)`"""
        site = self.site(call)
        if call.dropped:
            at = f" at {hash_comment(site)}" if site else ""
            self.lines.add(f"pass  # left out: MPI_{hash_comment(call.op)}{at}")
            return
        self.add_in_order(call, self.called(call), f"  # {hash_comment(site)}" if site else "")
        if call.mark in self.marks:
            self.lines.add(f"previous_call = {self.calls.marks[call.mark]}")

    def function_text(self, part: ProgramPart, name: str, body: str) -> str:
        """`def part1(i1):`"""
        parameters = [variable.name for variable in part.parameters]
        if part.times:
            parameters.append(TIMES)
        shared = "    global previous_call\n" if self.marks else ""
        return f"def {name}({', '.join(parameters)}):\n{shared}{body}"

    def list_of_times(self, times: str) -> str:
        return f"[{times}]"

    def times_from(self, first: int) -> str:
        return f"{TIMES}[{first}:]" if first else TIMES

    def let(self, let: LetStatement) -> None:
        """`k1 = (i1 + i2) // 2`; a variable without a value needs no declaration."""
        if let.value is not None:
            text = self.infix.expr(let.value)
            self.lines.add(f"{let.variable.name} = {self.enclosed(text)}")

    def enclosed(self, text: str) -> str:
        """An expression, in parentheses if it is too long for a line."""
        return f"({text})" if len(text) > MAX_UNENCLOSED else text

    def loop(self, loop: LoopStatement) -> None:
        """`for i1 in range(20):`"""
        self.lines.add(f"for {loop.variable.name} in range({self.infix.expr(loop.count)}):")
        self.block(loop.body)

    def branch(self, branch: Branch) -> None:
        """`if rank % 4 != 3:`"""
        start = "if"
        while True:
            self.lines.add(f"{start} {self.enclosed(self.infix.cond(branch.cond))}:")
            self.block(branch.then)
            if len(branch.otherwise) != 1 or not isinstance(branch.otherwise[0], Branch):
                break
            branch, start = branch.otherwise[0], "elif"
        if branch.otherwise:
            self.lines.add("else:")
            self.block(branch.otherwise)

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Statements one step deeper."""
        self.lines.deeper()
        before = len(self.lines)
        self.body(body)
        if len(self.lines) == before:
            self.lines.add("pass")
        self.lines.back()

    def text_at(self, name: str, texts: str, index: str) -> str:
        return f"({texts},)[{index}]"


def _text(piece: TextPiece) -> str:
    """A piece of the library for one operation."""
    op, keep = piece.name, ""
    method = op.removeprefix("File_").capitalize()
    if op[:1].isupper() and operation(op).makes_request:
        keep = "persistent" if operation(op).flow_later else "request"
    text = piece.text.replace("$op", op).replace("$method", method)
    text = text.replace("$handles", f"(*{FORTRAN_PAIRS}, *{OPEN_MPI_HANDLES})")
    return text.replace("$keep(comms", f"{keep}(comms" if keep else "(comms")
