"""C with MPI: one file that needs mpicc and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scalatrace.codegen.emit.arguments import possible
from scalatrace.codegen.emit.c import grid as grid_c
from scalatrace.codegen.emit.c.large import INT_MAX, LARGE, REQUIRED, beyond_int, both_forms
from scalatrace.codegen.emit.c.threads import ONLY_THREADS, CThreads, threaded
from scalatrace.codegen.emit.formula_printer import Notation
from scalatrace.codegen.emit.imperative import TIMES, ImperativeEmitter, ProgramText
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.emit.pieces import RuntimeLibrary, TextPiece
from scalatrace.codegen.emit.text import c_comment, c_string
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    ProgramPart,
    Stmt,
    statements,
)
from scalatrace.codegen.timing.imbalance import SHARE_STEPS
from scalatrace.formula import Choose, Cond, Const, Expr, Special, Value, Var, bounds, children, number_bounds
from scalatrace.operations import operation
from scalatrace.trace.anonymize.words import words
from scalatrace.trace.model.tables import Kind

__all__ = ["CEmitter"]

FILES = (
    "base", "frame", "grid", "calls", "collectives", "communicators", "messages", "neighbours", "onesided",
    "files", "partitioned", "alltoallw", "hosted",
)  # fmt: skip
PLAIN_INITS = frozenset({"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"})
"""Persistent forms without an info argument."""

TOLERATE = re.compile(r"^( *)\$tolerate\((.*)\);\n", re.MULTILINE)
"""Where a program in which messages may be too long looks at an error."""

NOTES = (
    "Functions are called as MPI's and take what the application gave; requests are named by their age (how",
    "many of those alive are younger), arrays by A and a number. compute() waits for so many microseconds.",
)

THREAD_NOTES = (
    "Threads wait for each other where those of the application had an order: on communicators, requests,",
    "windows and files.",
)

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

THREADED_HEAD = HEAD.replace("#include <sched.h>", "#include <pthread.h>\n#include <sched.h>")

UNOPTIMIZED = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O0") /* many calls, and nothing between them to optimize */
#endif
"""

OPTIMIZED = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""


class CEmitter(ImperativeEmitter):
    """C11 with MPI 3; with MPI 4 where counts need more than an int."""

    files = FILES
    name, suffix, prefix, end = "c", ".c", "MPI_", ";"
    syntax = words(
        "static const int struct time_after bin array enum for else own size rank left out made make_arrays"
        " steps share power long wide subset lists each handles memory sizeof bench io if error this"
        " benchmark has counts that pragma push pop options optimize many calls and nothing between them"
        " an does not hold it needs of version or later ifndef endif datatype"
    )
    reserved = frozenset({"RANKS", "NULL", "EOF", "CALL", "NOTE", "POLL", "AT", "BUFSIZ", "RAND_MAX"})

    thread_reserved = frozenset({
        "THREADS", "TURN", "USE", "FREE", "NAME", "REQUEST", "WINDOW", "FILES", "OTHERS", "REMAINDERS",
        "SHARED", "OBJECT",
    })  # fmt: skip

    def texts(self, names: tuple[str, ...]) -> RuntimeLibrary:
        """The functions in some files of the run-time library."""
        return both_forms("c", names)

    def threaded(self, shares_requests: bool, shares_messages: bool) -> RuntimeLibrary:
        """The functions of programs with several threads."""
        return threaded(self.texts(FILES), self.texts(("threads",)), shares_requests, shares_messages)

    @property
    def notation(self) -> Notation:
        """How expressions are written."""
        return Notation(
            "&&", "||", "/", lambda c, a, b: f"{c} ? {a} : {b}", lambda e, v, o: e, ("1", "0"), False
        )

    def writing(self, program: BenchmarkProgram, options: EmitOptions) -> ProgramText:
        """The text in the making."""
        return _CText(self.with_threads(program.threads), program, options)


class _CText(CThreads):
    def __init__(self, emitter: CEmitter, program: BenchmarkProgram, options: EmitOptions) -> None:
        super().__init__(emitter, program, options)
        self.long_variables: set[Var] = set()
        self.loop_variables = {
            s.variable.name for s in statements(program.body) if isinstance(s, LoopStatement)
        }
        self.infix.notation = Notation(
            "&&", "||", "/", lambda c, a, b: f"{c} ? {a} : {b}", self.member, ("1", "0"), False
        )
        self.places: dict[str, int] = {}

    def text(self) -> str:
        """The whole program: what the body needs is known when it is written."""
        self.lines.deeper()
        self.body(self.program.body)
        body = str(self.lines)
        is_split = any(isinstance(s, ProgramPart) for s in statements(self.program.body))
        orders = self.orders()
        setup = [*self.subsets(), *self.share()]
        arrays, types = self.arrays(), self.datatypes()
        if self.marks:
            self.wanted["compute_after" if self.contexts else "previous_call"] = None
        grid = grid_c.rules(self.infix, self.program.shape) if self.program.shape else ""
        check = "arrange" if self.program.shape else "fitting"
        hosted = self.options.hosted
        frame = ("hosted", "compute") if hosted else (("compute", check) if self.computes else (check,))
        for name in ("tally", "comms", *frame):
            self.wanted[name] = None
        if self.program.truncates:
            self.wanted = {"tolerated": None, **self.wanted}
            comms = () if hosted else ("WORLD", "SELF")
            setup += [f"MPI_Comm_set_errhandler(MPI_COMM_{comm}, MPI_ERRORS_RETURN);" for comm in comms]
        # What a host needs stands first: it has its own form of what all others need.
        self.wanted = dict.fromkeys(sorted(self.wanted, key=lambda name: name != "hosted"))
        predefined = ("types", "arrays", "lists", *(("stop", "now") if hosted else ()))
        pieces = list(self.pieces(predefined))
        head = (HEAD if self.threads is None else THREADED_HEAD) + (REQUIRED if self.large else "")
        head += self.optional_types()
        library = self.with_seed("\n\n".join(map(_text, pieces)))
        data = self.enumerations("types[" in library)
        parts = [self.title(), head, data, library, self.static_tables(), orders, types, arrays, grid]
        benchmark = [*self.functions.values(), f"static void benchmark(void)\n{{\n{body}}}"]
        parts += [UNOPTIMIZED, *benchmark, OPTIMIZED] if is_split else benchmark
        parts += [self.place_table(), self.main(setup, {piece.name for piece in pieces})]
        text = "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
        return TOLERATE.sub(r"\1if (tolerated(\2)) return;\n" if self.program.truncates else "", text)

    def title(self) -> str:
        """Return the comment at the top."""
        flag, notes = ("", NOTES) if self.threads is None else (" -pthread", (*NOTES, *THREAD_NOTES))
        heading = self.heading(c_comment, f"mpicc -O2{flag} -o bench bench.c && mpiexec -n $n ./bench")
        lines = (f" * {line}".rstrip() for line in (*heading, *notes))
        return "/" + "\n".join(lines).removeprefix(" ") + " */"

    def counted(self, name: str, length: int) -> str:
        return f"{name}, {length}"

    def share(self) -> list[str]:
        """Return the statements that set the rank's share of the mean computation."""
        steps = self.share_steps()
        if steps is None:
            return []
        down, up = (f"{2 ** (sign / SHARE_STEPS):.10f}" for sign in (-1, 1))
        return [
            f"for (int steps = {steps}; steps; steps += steps < 0 ? 1 : -1)",
            f"    share *= steps < 0 ? {down} : {up}; /* 2 to the power of 1/{SHARE_STEPS} */",
        ]

    def main(self, setup: list[str], used: set[str]) -> str:
        """Start, check, run, report; or the functions for a host, which has started MPI.

        Args:
            used: names of the pieces in the text.
        """
        if self.threads is not None and "objects" in used:
            setup.insert(0, f"make_orders({len(self.threads.uses)});")
        if self.used_arrays:
            setup.insert(0, "make_arrays();")
        if self.used_types:
            setup.insert(0, "make_types();")
        hosted = self.options.hosted
        seed = " + 11400714819323198485u * host->seed" if hosted else ""
        if self.bins:
            setup.append(f"dice = 88172645463325252u + 1000003u * (uint64_t)rank{seed};")
        if hosted and "out_bytes" in used:
            setup.append(f"payload += 1000003u * (uint64_t)rank{seed};")
        if hosted and "buffered" in used:
            setup.append("buffer_size = host->buffer_size;")
        pieces = self.emitter.library.pieces
        lines = "".join(f"    {line}\n" for line in setup)
        prepare = pieces["prepare"].text.replace("    $setup;\n", lines)
        if hosted:
            main = pieces["hosted_main"].text.replace("$left", "alive" if "requests" in used else "0")
        else:
            fitting = "arrange(argc, argv, ranks)" if self.program.shape else "fitting(ranks)"
            main = pieces["main"].text.replace("$fitting", fitting).replace("$init;", self.init())
            if self.threads is not None:
                main = main.replace("    benchmark();\n", "    run_threads();\n")
        return f"{prepare}\n\n{main}"

    def init(self) -> str:
        """Return the start of MPI, with the thread level of the program: with more, calls take longer."""
        if self.threads is not None:
            return self.threaded_init()
        level = self.program.thread_level
        if level in ("", "single"):
            return "MPI_Init(&argc, &argv);"
        return f"MPI_Init_thread(&argc, &argv, MPI_THREAD_{level.upper()}, &(int){{0}});"

    def place_table(self) -> str:
        """Return the calls of the text for a host, by the numbers that AT is given."""
        if not self.options.hosted:
            return ""
        names = ", ".join(c_string(place) for place in self.places) or "NULL"
        return f"static const char *const places[] = {{{names}}};"

    def call(self, call: MpiCall) -> None:
        """`Send(100, DOUBLE, rank + 1, 7, WORLD);`"""
        site = self.site(call)
        if call.dropped:
            at = f" at {c_comment(site)}" if site else ""
            self.lines.add(f"/* left out: MPI_{c_comment(call.op)}{at} */")
            return
        note = f" /* {c_comment(site)} */" if site else ""
        mark = ""
        if self.options.hosted:
            place = f"{call.op.removesuffix(SUFFIX)} {c_comment(site)}"
            mark = f"AT({self.places.setdefault(place, len(self.places))}); "
        self.lines.add(f"{mark}{self.in_order(call, self.called(call))};{note}")
        if call.mark in self.marks:
            self.lines.add(f"previous_call = {self.calls.marks[call.mark]};")

    def function(self, call: MpiCall) -> str:
        """`Send`, or `Send_c` where a count may be more than an int holds."""
        pieces = self.emitter.library.pieces
        large, arrays = pieces.get(call.op + LARGE), self.large_arrays & set(self.arrays_of(call))
        if large is None:
            if arrays:
                raise GenerateError("an array holds numbers that an int does not")
            return call.op
        pairs = zip(call.arguments, pieces[call.op].parameters, large.parameters, strict=False)
        sized = self.program.shape is None
        needed = (small != wide and beyond_int(argument.value, sized) for argument, small, wide in pairs)
        return large.name if arrays or any(needed) else call.op

    def arrays_of(self, call: MpiCall) -> Iterator[int]:
        """The arrays that a call may be given."""
        n = len(self.program.arrays)
        for argument in call.arguments:
            if argument.kind is Kind.ARRAY and not (self.threads and argument.name == "requests"):
                yield from (i for i in possible(argument, n) if 0 <= i < n)

    def argument(self, argument: ProgramArgument, parameter: str) -> str:
        """One argument; of numbers that may be large, in 64 bits."""
        is_number = argument.kind is Kind.INT and not isinstance(argument.value, Special)
        limits = number_bounds(argument.value) if is_number else (0, 0)
        if self.program.shape and not isinstance(argument.value, Const):
            limits = None  # those of its sides are none
        is_long = parameter.startswith("long ")
        self.wide = is_long and not (limits and -INT_MAX < limits[0] <= limits[1] < INT_MAX)
        if limits and limits[1] > INT_MAX and not is_long:
            raise GenerateError(f"{argument.name} goes up to {limits[1]}, more than an int holds")
        try:
            return super().argument(argument, parameter)
        finally:
            self.wide = False

    def function_text(self, part: ProgramPart, name: str, body: str) -> str:
        """`static void part1(int i1) {`"""
        parameters = [f"{self.type_of(variable)} {variable.name}" for variable in part.parameters]
        if part.times:
            parameters.append(f"const double {TIMES}[]")
        return f"static void {name}({', '.join(parameters) or 'void'})\n{{\n{body}}}"

    def list_of_times(self, times: str) -> str:
        return f"(const double[]){{{times}}}"

    def times_from(self, first: int) -> str:
        return f"{TIMES} + {first}" if first else TIMES

    def type_of(self, variable: Var) -> str:
        """The type of a local variable: `long` where an int may not hold it."""
        return "long" if variable in self.long_variables else "int"

    def fits(self, e: Value | Cond) -> bool:
        """Whether an int is known to hold an expression and each of its parts."""
        if isinstance(e, Var) and e.name in self.loop_variables:
            return e not in self.long_variables
        if isinstance(e, Expr):
            limits = bounds(e)
            if limits is None or limits[0] < -INT_MAX or limits[1] > INT_MAX:
                return False
        return all(map(self.fits, children(e)))

    def let(self, let: LetStatement) -> None:
        """`int k1 = (i1 + i2) / 2;`"""
        if (
            let.declares
            and not let.fits
            and not (self.fits(let.variable) and (let.value is None or self.fits(let.value)))
        ):
            self.long_variables.add(let.variable)
        self.wide = let.variable in self.long_variables
        start = f"{self.type_of(let.variable)} " if let.declares else ""
        value = "" if let.value is None else f" = {self.infix.expr(let.value)}"
        self.lines.add(f"{start}{let.variable.name}{value};")
        self.wide = False

    def loop(self, loop: LoopStatement) -> None:
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
        start = "if"
        while True:
            self.lines.add(f"{start} ({self.infix.cond(branch.cond)}) {{")
            self.block(branch.then, closed=not branch.otherwise)
            if len(branch.otherwise) != 1 or not isinstance(branch.otherwise[0], Branch):
                break
            branch, start = branch.otherwise[0], "} else if"
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


def _text(piece: TextPiece) -> str:
    """A piece of the library for one operation."""
    op = piece.name
    after = ""
    kind = op.removesuffix(LARGE)
    if operation(kind).flow_later:
        after = ", request(1)" if kind in PLAIN_INITS else ", MPI_INFO_NULL, request(1)"
    elif op[:1].isupper() and operation(kind).makes_request:
        after = ", request(0)"
    return ONLY_THREADS.sub("", piece.text).replace("$op", op).replace(" $after", after)
