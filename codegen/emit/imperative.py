"""What the emitters of C and Python share: the walk over the tree, a method per kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import count
from typing import Self, TypeVar

from scalatrace.codegen.emit.arguments import (
    LISTS,
    NAMED_CONSTANTS,
    ArgumentNames,
    list_used,
    named_constants,
    possible,
)
from scalatrace.codegen.emit.array_runs import ArrayRun, array_runs
from scalatrace.codegen.emit.call_names import CallNames, call_after, function_of_calls, mean_us
from scalatrace.codegen.emit.formula_printer import Infix, Notation
from scalatrace.codegen.emit.grids import law_text, options_of, rename_parameters, words_of
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.emit.pieces import RuntimeLibrary, TextPiece
from scalatrace.codegen.emit.text import Lines
from scalatrace.codegen.emit.threads import KINDS, thread_functions
from scalatrace.codegen.emit.wrapping import wrap_lines
from scalatrace.codegen.errors import GenerateError, cannot_write
from scalatrace.codegen.foreign import NO_TEXT, Foreign
from scalatrace.codegen.passes.common import with_common_parts
from scalatrace.codegen.passes.marks import used_marks, without_dead_marks
from scalatrace.codegen.passes.repeats import with_repeats
from scalatrace.codegen.passes.shorten import with_short_expressions
from scalatrace.codegen.passes.split import with_functions
from scalatrace.codegen.program.threads import ProgramThreads
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    Duration,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    ProgramContext,
    ProgramPart,
    Stmt,
    calls,
    statements,
)
from scalatrace.codegen.program.values import of_vec, prefix_of_vec
from scalatrace.errors import FormatError, FormulaError
from scalatrace.files import path_below
from scalatrace.formula import FUNCTIONS, Choose, Const, Expr, Special, Value, Var
from scalatrace.predefined import NO_DATATYPE, OPERATIONS, THREAD_LEVELS
from scalatrace.trace.anonymize.words import words
from scalatrace.trace.exchange.type_addresses import draw_together
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.model.typetree import TypeTree, parse
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec, special_name

__all__ = ["ImperativeEmitter", "ProgramText"]

T = TypeVar("T")

LITERAL = 16
"""Arrays up to this length are written out."""


TIMES = "us"
"""The parameter of a function that has its times, in microseconds."""


class ImperativeEmitter(ABC):
    """C and Python: the tree as it is, around it a library of functions named as MPI's."""

    name: str
    suffix: str
    exact_times = True
    matched = False
    threads = True
    prefix: str
    end: str
    files: tuple[str, ...]
    """Of the run-time library."""
    reserved: frozenset[str] = frozenset()
    thread_reserved: frozenset[str] = frozenset()
    """Further names that programs of several threads take."""
    syntax: AbstractSet[str] = frozenset()
    from_zero = False
    """Whether displacements that are addresses begin at 0: no pointer lies before a buffer."""

    def __init__(self, threads: ProgramThreads | None = None) -> None:
        """Make an emitter of programs with one thread, or with these threads."""
        self.threads_of_ranks = threads
        if threads is not None:
            self.reserved = self.reserved | self.thread_reserved

    def with_threads(self, threads: ProgramThreads | None) -> Self:
        """Return the emitter of programs with these threads."""
        return self if threads is None else type(self)(threads)

    @abstractmethod
    def texts(self, names: tuple[str, ...]) -> RuntimeLibrary:
        """The functions in some files of the run-time library."""

    @abstractmethod
    def threaded(self, shares_requests: bool, shares_messages: bool) -> RuntimeLibrary:
        """The functions of programs with several threads, which may name those of other threads."""

    @property
    def library(self) -> RuntimeLibrary:
        """The functions that programs carry."""
        threads = self.threads_of_ranks
        if threads is None:
            return self.texts(self.files)
        return self.threaded(threads.shares_requests, threads.shares_messages)

    @property
    @abstractmethod
    def notation(self) -> Notation:
        """How expressions are written."""

    def supports(self, op: str) -> bool:
        """Whether the library has the operation."""
        return op in self.library and op[:1].isupper()

    def emit(self, program: BenchmarkProgram, options: EmitOptions) -> str:
        """The text of a program."""
        program = with_functions(with_repeats(without_dead_marks(program), options.drawn))
        program = with_short_expressions(with_common_parts(program))
        return wrap_lines(self.writing(program, options).text(), self.name)

    def vocabulary(self) -> set[str]:
        """The words of the library, and of a program that does nothing."""
        empty = BenchmarkProgram(1, (), imbalance=Vec((0,)))
        frame = "".join(self.emit(replace(empty, thread_level=name), EmitOptions()) for name in THREAD_LEVELS)
        return (
            words(frame)
            | {word for p in self.library.pieces.values() for word in words(p.text)}
            | {word for p in self.texts(("threads",)).pieces.values() for word in words(p.text)}
            | self.syntax
        )

    @abstractmethod
    def writing(self, program: BenchmarkProgram, options: EmitOptions) -> ProgramText:
        """The text in the making."""


class ProgramText(ABC):
    """One program's text in the making."""

    between: str
    """What stands between two functions."""

    def __init__(self, emitter: ImperativeEmitter, program: BenchmarkProgram, options: EmitOptions) -> None:
        self.emitter, self.program, self.options = emitter, program, options
        self.names = ArgumentNames(emitter.reserved)
        self.families = self.names.families(program)
        self.used_types = list_used(program, Kind.TYPE)
        self.single_types = list_used(program, Kind.TYPE, but=LISTS)
        self.type_lists = list_used(program, Kind.TYPE, LISTS)
        self.types = self.names.types(program, self.used_types)
        self.used_arrays = list_used(program, Kind.ARRAY)
        self.named_arrays: set[int] = set()
        self.tables: dict[tuple[int | Special, ...], str] = {}
        self.contexts: dict[tuple[ProgramContext, ...], str] = {}
        self.bins: dict[Duration, str] = {}
        self.wanted: dict[str, None] = {}
        self.infix = Infix(emitter.notation, self.table, self.constant, self.named, self.family)
        if program.shape:
            self.infix.renamed = rename_parameters(program.shape, emitter.library, emitter.reserved)
        self.marks = used_marks(program.body)
        self.calls = CallNames(program, self.names, self.marks)
        self.following: MpiCall | None = None
        self.lines = Lines()
        self.functions: dict[str, str] = {}
        self.part_names: dict[str, str] = {}
        self.computes = any(isinstance(stmt, ComputeStatement) for stmt in statements(program.body))
        self.threads = program.threads

    @abstractmethod
    def text(self) -> str:
        """The whole program."""

    def table(self, values: tuple[int | Special, ...]) -> str:
        """The name of a static table."""
        return self.tables.setdefault(values, f"table{len(self.tables) + 1}")

    def constant(self, value: int) -> str:
        """An integer, or an entry of an array that is a constant of MPI."""
        name = special_name(value) if value < SPECIAL_MAX else None
        return self.named(name) if name else str(value)

    def named(self, name: str) -> str:
        """A constant of MPI by its name without `MPI_`."""
        return f"{self.emitter.prefix}{name}"

    def entries(self, table: Sequence[int | Special]) -> str:
        """The entries of a table, separated by commas."""
        return ", ".join(self.named(e.name) if isinstance(e, Special) else self.constant(e) for e in table)

    def family(self, e: Expr) -> str:
        """The number of a communicator, by name if it is always the same."""
        return self.families.get(e.value, str(e.value)) if isinstance(e, Const) else self.infix.expr(e)

    def body(self, body: Sequence[Stmt]) -> None:
        """Statements one after the other; those of a thread in a function of their own."""
        body = thread_functions(body) if self.threads else body
        for index, stmt in enumerate(body):
            match stmt:
                case MpiCall():
                    self.call(stmt)
                case ComputeStatement():
                    self.following = call_after(body, index)
                    self.compute(stmt)
                case LoopStatement():
                    self.loop(stmt)
                case Branch():
                    self.branch(stmt)
                case LetStatement():
                    self.let(stmt)
                case ProgramPart():
                    self.part(stmt)

    def orders(self) -> str:
        """Return the functions that tell in which order threads use what they share.

        Chooses the pieces of the library for them.
        """
        threads, expr = self.threads, self.infix.expr
        if threads is None:
            return ""
        self.wanted["run_threads"] = None
        parts = []
        if "shared_comms" in self.wanted:
            turns = [
                (family, self.infix.notation.choice(f"i < {expr(order.length)}", expr(order.value), "thread"))
                for family, order in threads.turns.items()
            ]
            calls = [(family, expr(n)) for family, n in threads.ncalls.items()]
            parts += [self.choice("turn", turns), self.choice("ncalls", calls)]
        if "object" in self.wanted or threads.shares_requests:
            orders = threads.uses.values()
            parts += [
                self.use_numbers([(KINDS[kind], of) for kind, of in threads.uses]),
                self.choice("nuses", enumerate(expr(order.length) for order in orders)),
                self.choice("use", enumerate(expr(order.value) for order in orders)),
            ]
        return self.between.join(parts)

    def choice(self, name: str, cases: Iterable[tuple[object, str]]) -> str:
        """Return a function of the orders, which gives the result of a case; equal results stand together."""
        by_result = dict[str, list[str]]()
        for case, result in cases:
            by_result.setdefault(result, []).append(str(case))
        return self.choice_text(name, by_result)

    @abstractmethod
    def choice_text(self, name: str, cases: Mapping[str, Sequence[str]]) -> str:
        """Return a function of the orders.

        Args:
            name: turn, ncalls, nuses or use.
            cases: result -> the numbers that have it.
        """

    @abstractmethod
    def use_numbers(self, objects: Sequence[tuple[str, int]]) -> str:
        """Return what gives the number of a shared object.

        Args:
            objects: kind, and number among those of the kind.
        """

    def part(self, part: ProgramPart) -> None:
        """Write a function, unless it was called before, and call it here."""
        if part.name not in self.functions:
            self.part_names[part.name] = self.part_name(part)
            outer, self.lines = self.lines, Lines()
            self.lines.deeper()
            self.body(part.body)
            text, self.lines = str(self.lines), outer
            self.functions[part.name] = self.function_text(part, self.part_names[part.name], text)
        arguments = [variable.name for variable in part.parameters]
        if part.times:
            first = part.times[0].argument
            if first is not None and all(t.argument == n for n, t in enumerate(part.times, first)):
                arguments.append(self.times_from(first))
            else:
                arguments.append(self.list_of_times(", ".join(map(self.time, part.times))))
        self.lines.add(f"{self.part_names[part.name]}({', '.join(arguments)}){self.emitter.end}")

    def part_name(self, part: ProgramPart) -> str:
        """Return a name with a number, which no header has: ExchangeHalo_1, or that of the part."""
        function = function_of_calls(part.body)
        if not function:
            return part.name
        taken = set(self.part_names.values())
        return next(name for n in count(1) if (name := f"{function}_{n}") not in taken)

    @abstractmethod
    def list_of_times(self, times: str) -> str:
        """Return times, separated by commas, as one argument."""

    @abstractmethod
    def times_from(self, first: int) -> str:
        """Return the own times from a number on as an argument."""

    @abstractmethod
    def function_text(self, part: ProgramPart, name: str, body: str) -> str:
        """The definition of a function."""

    @abstractmethod
    def let(self, let: LetStatement) -> None:
        """A local variable."""

    @abstractmethod
    def call(self, call: MpiCall) -> None:
        """One MPI call."""

    def compute(self, compute: ComputeStatement) -> None:
        """Add `compute(12.5)`: the time of the only context, or a choice between the contexts' times."""
        contexts, choice = compute.contexts, self.infix.notation.choice
        if len(contexts) == 1:
            time = self.time(contexts[0].duration)
        elif compute.first is not None:
            first, again = (self.time(context.duration) for context in contexts)
            time = choice(f"{compute.first.name} == 0", first, again)
        elif self.options.drawn or any(context.duration.law for context in contexts):
            times = [self.time(context.duration) for context in contexts]
            time = "0.0"
            for context, duration_text in zip(reversed(contexts), reversed(times), strict=True):
                time = choice(f"previous_call == {self.calls.marks[context.marks[0]]}", duration_text, time)
        else:
            if contexts not in self.contexts:
                self.contexts[contexts] = self.calls.table(self.following)
            self.lines.add(f"compute_after({self.contexts[contexts]}){self.emitter.end}")
            return
        self.lines.add(f"compute({time}){self.emitter.end}")

    def times_after(self, contexts: tuple[ProgramContext, ...]) -> list[tuple[str, str]]:
        """Return calls with the times of the computation after each, in microseconds."""
        return [(self.calls.marks[mark], self.us(c.duration)) for c in contexts for mark in c.marks]

    def mean(self, contexts: tuple[ProgramContext, ...]) -> str:
        """Return the comment on a computation that depends on the call before."""
        return f"mean {mean_us(contexts):.4g} us"

    def time(self, duration: Duration) -> str:
        """Return the mean of a duration, a draw from its histogram, or an argument of the function."""
        if duration.argument is not None:
            return f"{TIMES}[{duration.argument}]"
        if not self.options.drawn or duration.histogram is None:
            return self.us(duration)
        self.wanted["draw"] = None
        name = self.bins.setdefault(duration, f"bins{len(self.bins) + 1}")
        return f"draw({self.counted(name, len(duration.histogram.all_bins))})"

    @abstractmethod
    def counted(self, name: str, length: int) -> str:
        """Return a table as arguments of a function that reads all of it."""

    def subsets(self) -> list[str]:
        """Return the statements that create the communicators of the application's start."""
        if self.program.subsets:
            self.wanted["subset"] = None
        return [
            f"subset({self.families[s.family]}, {self.infix.expr(s.color)}, {self.infix.expr(s.key)})"
            f"{self.emitter.end}"
            for s in self.program.subsets
        ]

    def share_steps(self) -> str | None:
        """Return the rank's share of the mean computation in steps of `SHARE_STEPS`; None without one."""
        if self.program.imbalance is None or not self.computes:
            return None
        return self.infix.expr(of_vec(self.program.imbalance, Var("rank", self.program.nprocs)))

    def heading(self, clean: Callable[[Foreign | str], str], command: str) -> list[str]:
        """Return the first lines of the program's comment: its purpose, and the command that runs it.

        Args:
            clean: makes a text safe for a comment.
            command: how to start the program, with $n for the number of ranks.
        """
        shape, title = self.program.shape, clean(self.program.title)
        n = str(self.program.nprocs or "P")
        ranks, options = f"{n} ranks", ""
        if shape:
            ranks, options = words_of(shape), f" {clean(options_of(shape))}"
        purpose = f"Communication benchmark{f' of {title}' if title else ''}, for {ranks}."
        return [
            f"{purpose} Made from a trace by scalatrace generate.",
            "",
            f"    {command.replace('$n', n)}{options} [--profile] [--sleep]",
            "",
        ]

    @abstractmethod
    def loop(self, loop: LoopStatement) -> None:
        """A loop."""

    @abstractmethod
    def branch(self, branch: Branch) -> None:
        """A condition."""

    def called(self, call: MpiCall) -> str:
        """A call of a function of the library, with its arguments."""
        if not self.emitter.supports(call.op):
            raise cannot_write(call.op, call.site, self.emitter.name, "the language has no form of it")
        try:
            function = self.function(call)
            parameters = self.emitter.library.pieces[function].parameters
            if len(call.arguments) != len(parameters):
                raise GenerateError(f"it has {len(call.arguments)} parameters, expected {len(parameters)}")
            arguments = [self.argument(a, p) for a, p in zip(call.arguments, parameters, strict=True)]
        except (GenerateError, FormulaError) as error:
            raise cannot_write(call.op, call.site, self.emitter.name, error) from None
        self.wanted[function] = None
        return f"{function}({', '.join(arguments)})"

    def function(self, call: MpiCall) -> str:
        """The function of the library that makes a call."""
        return call.op

    def argument(self, argument: ProgramArgument, parameter: str) -> str:
        """One argument: names for what is always the same, else the number.

        Args:
            parameter: how the library declares it.
        """
        e = argument.value
        if argument.kind is Kind.STRING:
            return self.text_argument(argument.name, e)
        if isinstance(e, Const) and e.value >= 0:
            named = {Kind.COMM: self.families, Kind.TYPE: self.types}.get(argument.kind)
            if named is not None:
                return named[e.value]
            if argument.kind is Kind.ARRAY:
                self.named_arrays.add(e.value)
                return f"A{e.value}"
        if argument.kind is Kind.ARRAY:
            return self.array_at(self.infix.expr(e))
        return self.infix.expr(e)

    def array_at(self, index: str) -> str:
        """The array with a number that is worked out."""
        return index

    def text_argument(self, name: str, e: Value) -> str:
        """An operation, a constant of MPI, or a string."""
        if isinstance(e, Const):
            return self.spelled(name, e.value)
        if isinstance(e, Choose):
            then, otherwise = self.text_argument(name, e.then), self.text_argument(name, e.otherwise)
            return f"({self.infix.notation.choice(self.infix.cond(e.cond), then, otherwise)})"
        every = ", ".join(self.spelled(name, i) for i in range(len(self.program.strings)))
        return self.text_at(name, every, self.infix.expr(e))

    @abstractmethod
    def text_at(self, name: str, texts: str, index: str) -> str:
        """Return the text with a number that is worked out, of several separated by commas."""

    def spelled(self, name: str, index: int) -> str:
        """A string of the trace in the sense of a parameter."""
        text = self.program.strings[index]
        if name == "op":
            if text.raw in OPERATIONS:
                return self.named(OPERATIONS[text.raw])
            self.wanted["any_op"] = None
            return "any_op()"
        if name in NAMED_CONSTANTS:
            return named_constants(text, self.emitter.prefix)
        return self.quoted(self.file(index) if name == "filename" else text)

    @staticmethod
    @abstractmethod
    def quoted(text: Foreign | str) -> str:
        """Return the literal of a string."""

    def of_type(self, index: int, make: Callable[[TypeTree], T]) -> T:
        """Return what a function makes of a datatype's constructors. Raises GenerateError naming a call."""
        try:
            return make(self.tree(index)[0])
        except (FormatError, GenerateError) as error:
            size = len(self.program.types)
            type_arguments = (
                (c, a) for c in calls(self.program.body) for a in c.arguments if a.kind is Kind.TYPE
            )
            first = next(call for call, argument in type_arguments if index in possible(argument, size))
            raise cannot_write(first.op, first.site, self.emitter.name, error) from None

    def tree(self, index: int) -> tuple[TypeTree, int]:
        """Return a datatype with its memory drawn together, and by how many bytes its extent is smaller."""
        tree = parse(self.program.types[index].description)
        if index in self.type_lists:
            members = (draw_together(inner, self.emitter.from_zero)[0] for inner in tree.inner)
            return replace(tree, inner=tuple(members)), 0
        return draw_together(tree, self.emitter.from_zero)

    def sizes(self, index: int) -> str:
        """Size and extent of a datatype, in bytes, as arguments; of one that means nothing 0."""
        datatype = self.program.types[index]
        absent = datatype.description == NO_DATATYPE
        return "0, 0" if absent else f"{datatype.size}, {datatype.extent - self.tree(index)[1]}"

    def us(self, duration: Duration) -> str:
        """A mean in microseconds."""
        if duration.law:
            return law_text(duration.law, self.wanted)
        return f"{duration.ns / 1000:.6g}"

    def rows(self, duration: Duration) -> list[str]:
        """The bins of a histogram: share, least, mean and largest in microseconds."""
        assert duration.histogram is not None
        bins, scale = duration.histogram.drawn_bins, 1 / 1000
        count = max(1, sum(b.count for b in bins))
        return [
            f"{b.count / count:.4g}, {b.min * scale:.6g}, {b.mean * scale:.6g}, {b.max * scale:.6g}"
            for b in bins
        ]

    def site(self, call: MpiCall) -> Foreign:
        """Where the application made a call; empty where that was left out."""
        return call.site[0].short_frame() if call.site else NO_TEXT

    def pieces(self, texts: Sequence[str]) -> list[TextPiece]:
        """The parts of the library that the text needs."""
        foreign = sorted(name for name in self.infix.helpers if name in FUNCTIONS and FUNCTIONS[name].texts)
        wanted = [*sorted(self.infix.helpers.difference(foreign)), *self.wanted]
        foreign_pieces = [TextPiece(name, (), self._definition(name)) for name in foreign]
        return [*foreign_pieces, *self.emitter.library.collect(wanted, texts)]

    def _definition(self, name: str) -> str:
        """The definition of a plug-in's function in this language. Raises GenerateError if there is none."""
        texts = FUNCTIONS[name].texts
        if self.emitter.name not in texts:
            raise GenerateError(
                f"the function {name} of a plug-in has no text for {self.emitter.name}, only for "
                f"{', '.join(sorted(texts))}: add one to its Function"
            )
        return texts[self.emitter.name]

    def array_formula(self, array: IntArray, variable: Var) -> str | None:
        """The rule for a long and regular array's elements; None for one that is written out."""
        if array.length <= LITERAL or len(str(array.vec.terms)) > 4 * LITERAL:
            return None
        of = prefix_of_vec if array.summed else of_vec
        return self.infix.expr(of(array.vec, variable))

    def array_runs(self, is_listed: Callable[[int], bool]) -> list[ArrayRun]:
        """The runs of arrays without a rule; `is_listed`: whether the language has no other form of one."""
        shape_arrays = self.program.shape.arrays if self.program.shape else ()

        def is_plain(i: int) -> bool:
            array = self.program.arrays[i]
            has_rule = i in shape_arrays or self.array_formula(array, Var("i", array.length)) is not None
            return array.length > 0 and not has_rule and is_listed(i)

        return array_runs(self.program.arrays, self.used_arrays, is_plain)

    def file(self, index: int) -> Foreign:
        """Where the program has a file of the application: in a folder of its own."""
        return Foreign(path_below(self.options.io_folder, self.program.strings[index].raw))
