"""From a trace to a benchmark's text: build, check, emit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.builders.symbolic import DurationOf, build_scalable
from scalatrace.codegen.emit import emitter
from scalatrace.codegen.emit.interface import EmitOptions, Emitter
from scalatrace.codegen.errors import GenerateError, where
from scalatrace.codegen.matching import align_collectives, resolve_wildcards, with_late_collectives
from scalatrace.codegen.passes.absolute import absolute_ranks
from scalatrace.codegen.passes.obfuscate import check, obfuscate
from scalatrace.codegen.passes.unsupported import dynamic_windows, find_unsupported, left_out, reaches
from scalatrace.codegen.passes.whatif import collectives_as_messages, scale_bytes, scale_compute
from scalatrace.codegen.program.check_arithmetic import check_arithmetic
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall, calls
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.formula import Function
from scalatrace.trace.consistency.failed import repeatable
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.factors import FactorRule, Factors
from scalatrace.trace.threads import check_no_streams

__all__ = ["Benchmark", "GenerateOptions", "generate", "generate_scalable"]


@dataclass(frozen=True)
class GenerateOptions:
    """What the benchmark is to be like.

    Attributes:
        emit: how its text is.
        compute_scale: factor on computations.
        bytes_scale: factor on the elements of messages.
        rules: factors for some of the calls.
        by_messages: collectives become messages between each pair of ranks.
        skip_unsupported: replace operations that the language does not have by a comment.
        obfuscate: no names, paths, call sites or tags of the application.
        absolute_ranks: no communicators of the application: messages between ranks of MPI_COMM_WORLD.
    """

    emit: EmitOptions = field(default_factory=EmitOptions)
    compute_scale: float = 1.0
    bytes_scale: float = 1.0
    by_messages: bool = False
    skip_unsupported: bool = False
    obfuscate: bool = False
    absolute_ranks: bool = False
    rules: tuple[FactorRule, ...] = ()

    @property
    def factors(self) -> Factors:
        """The factors of all calls and of some."""
        return Factors((FactorRule(nbytes=self.bytes_scale), *self.rules))


@dataclass(frozen=True)
class Benchmark:
    """A text, and what there is to say about it.

    Attributes:
        skipped: operation -> calls in the text that were left out.
    """

    text: str
    language: str
    calls: int
    skipped: dict[str, int]

    @property
    def lines(self) -> int:
        """Lines of the text."""
        return self.text.count("\n")


def generate(trace: Trace, language: str, options: GenerateOptions | None = None) -> Benchmark:
    """The benchmark of a trace in a language.

    Raises:
        UsageError: no such language.
        ScalatraceError: several threads of a rank made calls, and the language or an option takes one.
        GenerateError: the trace holds what the language cannot express.
        NameLeakError: an obfuscated text would hold a name.
        MatchingError: the language wants a sender for every receive, and the calls do not go together.
    """
    options = options or GenerateOptions()
    target = emitter(language)
    _check_threads(trace, target, options)
    trace = repeatable(trace)
    if target.matched:
        trace = resolve_wildcards(align_collectives(trace))
        trace = with_late_collectives(trace)
    factors = options.factors
    factors.check(trace)
    program = build(trace, target.exact_times, sites=factors.by_site or not options.obfuscate)
    return _write_program(program, target, options, trace)


def _check_threads(trace: Trace, target: Emitter, options: GenerateOptions) -> None:
    """Raise ScalatraceError where a rank has several threads, and the language or an option takes one."""
    if not trace.has_streams:
        return
    if not getattr(target, "threads", False):  # emitters of plug-ins may not know it
        raise ScalatraceError(
            f"cannot generate a benchmark in {target.name}: {len(trace.threads)} threads of a rank call MPI, "
            f"and {target.name} has no threads; use `--to c` or `--to python`, or record a run in which one "
            "calls MPI"
        )
    for is_given, use in (
        (options.emit.hosted, "compile the replay"),
        (options.absolute_ranks, "use --absolute-ranks"),
        (options.by_messages, "use --collectives p2p"),
    ):
        if is_given:
            check_no_streams(trace, use)


def generate_scalable(
    model: SymbolicTrace,
    language: str,
    times: DurationOf,
    functions: Mapping[str, Function],
    options: GenerateOptions | None = None,
) -> Benchmark:
    """The benchmark of a symbolic trace, for any number of ranks that its formulas allow.

    Args:
        times: how long computations take; see `scalatrace.codegen.builders.symbolic`.
        functions: what formulas may call.

    Raises:
        UsageError: no such language, or an option that needs a trace of one size.
        GenerateError: the language cannot express the formulas.
        NameLeakError: an obfuscated text would hold a name.
    """
    options = options or GenerateOptions()
    target = emitter(language)
    if options.emit.drawn:
        raise UsageError("--times drawn needs the sizes of formulas: give -P N or --dims XxY")
    if options.rules:
        raise UsageError("--at needs the sizes of formulas: give -P N or --dims XxY, or scale all calls")
    if options.absolute_ranks:
        raise UsageError("--absolute-ranks needs the sizes of formulas: give -P N or --dims XxY")
    program = build_scalable(model, times, functions, target.exact_times, sites=not options.obfuscate)
    return _write_program(program, target, options, _names(model))


def _names(model: SymbolicTrace) -> Trace:
    """A trace with all names of a symbolic one."""
    return Trace(1, meta=dict(model.meta), frames=model.frames, strings=list(model.inputs))


def _write_program(
    program: BenchmarkProgram, target: Emitter, options: GenerateOptions, trace: Trace
) -> Benchmark:
    """The text of a program; `trace` has the names that an obfuscated one must not hold."""
    language = target.name
    unsupported = find_unsupported(program, target.supports)
    if unsupported and not options.skip_unsupported:
        raise GenerateError(_complaint(program, unsupported, language))
    program, unsupported = left_out(program, target.supports)
    program = scale_compute(scale_bytes(program, options.factors), options.compute_scale, options.factors)
    if options.by_messages:
        program = collectives_as_messages(program)
    if options.absolute_ranks and not target.matched:
        program = absolute_ranks(program)
    if options.obfuscate:
        program = obfuscate(program)
    check_arithmetic(program)
    text = target.emit(program, options.emit)
    if options.obfuscate:
        check(text, trace, target.vocabulary())
    skipped = Counter(call.op for call in unsupported)
    return Benchmark(text, language, sum(1 for _ in calls(program.body)), dict(skipped))


def _complaint(program: BenchmarkProgram, unsupported: list[MpiCall], language: str) -> str:
    first: dict[str, MpiCall] = {}
    dynamic = dynamic_windows(program)
    for call in unsupported:
        target = " to an address in a dynamic window" if reaches(dynamic, call) else ""
        first.setdefault(f"MPI_{call.op}{target}", call)
    named = "; ".join(f"{target}{where(call.site)}" for target, call in first.items())
    return f"cannot write {named} to {language}: it has no such operation; --skip-unsupported leaves them out"
