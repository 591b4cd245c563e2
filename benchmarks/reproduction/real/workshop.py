"""Build, record, extrapolate, replay and time real programs, each step with a time limit and a display."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.generate.programs import NotMadeError, printed_seconds
from benchmarks.reproduction.real.programs import RealProgram
from benchmarks.reproduction.real.suites import BuildError, Suite
from benchmarks.running import ONE_THREAD, compile_c
from support.mpis import Mpi
from support.running import Argument, Finished, mpirun, record, scalatrace

COMPILED = "compiled"
"""Engine of replays, where a program needs no other."""

MAX_NOTE = 200
"""Characters of a reason in a row."""

SUFFIXES = {"c": ".c", "conceptual": ".ncptl"}


class StepError(Exception):
    """A step that failed, was refused or is over the limit: the text of the row."""


class Workshop:
    """Binaries, traces and models of real programs in a folder, made when they are first needed.

    Args:
        suites: by name; a program of a suite that is not there cannot be measured.
        limit_s: time limit of each step, in seconds.
        titles: of the programs that are measured; empty: all.
    """

    def __init__(
        self,
        mpi: Mpi,
        suites: Mapping[str, Suite],
        folder: Path,
        limit_s: float,
        titles: Collection[str] = (),
    ) -> None:
        self.mpi, self.suites, self.folder, self.limit_s = mpi, suites, folder, limit_s
        self.titles = titles
        self._results: dict[tuple[object, ...], Path | StepError] = {}
        self._progress: Progress | None = None

    def has(self, program: RealProgram) -> bool:
        """Return whether a program is measured: its sources are given, and it is chosen."""
        return program.suite in self.suites and (not self.titles or program.title in self.titles)

    @contextmanager
    def showing(self, what: str, total: int) -> Iterator[None]:
        """Show the step that runs and the rows that are complete, on a terminal."""
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}")
        with Progress(*columns, TimeElapsedColumn(), transient=True) as progress:
            progress.add_task(what, total=total)
            self._progress = progress
            try:
                yield
            finally:
                self._progress = None

    def finish_row(self) -> None:
        """Count a row as complete."""
        if self._progress:
            self._progress.advance(self._progress.task_ids[0])

    def recorded(self, program: RealProgram, nprocs: int, options: Sequence[str] | None = None) -> Path:
        """Return the trace of a run; `options` of the recorder replace the program's. Raises StepError."""
        words = (*(program.options if options is None else options), *program.noted)
        key = (program.name, program.scaling, program.arguments, program.input_file, nprocs, words)
        return self._once(key, lambda: self._record(program, nprocs, words))

    def model(self, program: RealProgram) -> Path:
        """Return the formulas of a program (.stx). Raises StepError."""
        return self._once((program, "model"), lambda: self._extrapolate(program, ["--symbolic"], ".stx"))

    def extrapolated(self, program: RealProgram) -> Path:
        """Return the extrapolated trace. Raises StepError."""
        options = [*program.loss_options(), "-P", str(program.target), *program.noted]
        return self._once((program, "trace"), lambda: self._extrapolate(program, options, ".st"))

    def replayed(self, nprocs: int, trace: Path, engine: str = COMPILED) -> dict[str, Any]:
        """Return what a replay reports. Raises StepError."""
        command: list[Argument] = [*self.mpi.scalatrace(), "replay", trace, "--json", "--engine", engine]
        with self._step(f"replay on {nprocs} ranks"):
            done = mpirun(self.mpi, nprocs, command, cwd=trace.parent, timeout=self.limit_s)
        facts: dict[str, Any] = json.loads(_checked("replay", done).stdout)
        return facts

    def record_replay(self, nprocs: int, trace: Path) -> Path:
        """Return the trace of a replay without waiting. Raises StepError."""
        again = trace.with_name(f"{trace.stem}.again.st")
        command: list[Argument] = [*self.mpi.scalatrace(), "replay", trace, "--compute", "none"]
        with self._step(f"record the replay on {nprocs} ranks"):
            done = record(self.mpi, nprocs, command, again, timeout=self.limit_s)
        _checked("record the replay", done)
        return again

    def benchmark(self, trace: Path, language: str, *options: Argument) -> Path:
        """Return the source of a generated benchmark. Raises StepError."""
        name = "".join(str(option).strip("-") for option in options)
        source = trace.with_name(f"{trace.stem}.{name}{SUFFIXES[language]}")
        self.command(f"generate {language}", "generate", trace, "--to", language, *options, "-o", source)
        return source

    def seconds(self, source: Path, nprocs: int, arguments: Sequence[str] = ()) -> float:
        """Return the time of a benchmark in C or coNCePTuaL, which is compiled. Raises StepError."""
        binary = source.with_suffix("")
        if source.suffix == SUFFIXES["conceptual"]:
            translated = source.with_suffix(".ncptl.c")
            self.command("ncptl compile", "ncptl", "compile", source, "-o", translated)
            source, binary = translated, source.with_suffix(".ncptl.x")
        with self._step("compile"):
            compile_c(self.mpi, source, binary)
        for log in binary.parent.glob("*.log"):
            log.unlink()
        with self._step(f"run {binary.name} on {nprocs} ranks"):
            done = mpirun(self.mpi, nprocs, [binary, *arguments], cwd=binary.parent, timeout=self.limit_s)
        shown = _checked("benchmark", done).stdout
        try:
            return printed_seconds(shown, binary.parent)
        except NotMadeError as error:
            raise StepError(str(error)) from None

    def command(self, what: str, *words: Argument) -> Finished:
        """Run a scalatrace command. Raises StepError, for a refusal with its reason."""
        with self._step(what):
            done = scalatrace(self.mpi, *words, timeout=self.limit_s)
        return _checked(what, done)

    def _record(self, program: RealProgram, nprocs: int, options: Sequence[str]) -> Path:
        binary = self._once((program.suite, program.name), lambda: self._build(program))
        words = [word.strip("-") for word in (*options, *program.arguments)]
        folder = self.folder / "-".join([program.name, program.scaling, str(nprocs), *words])
        folder.mkdir(exist_ok=True)
        if program.input_file:
            name, text = program.input_file(nprocs)
            (folder / name).write_text(text)
        trace = folder / f"{program.name}.{nprocs}.st"
        argv: list[Argument] = [binary, *program.arguments]
        what = f"record {program.name} on {nprocs} ranks"
        with self._step(what):
            done = record(
                self.mpi, nprocs, argv, trace, options=options, env=ONE_THREAD, timeout=self.limit_s
            )
        _checked(what, done)
        if not trace.exists():
            raise StepError(f"{what}: no trace was written")
        return trace

    def _build(self, program: RealProgram) -> Path:
        with self._step(f"build {program.name}"):
            return self.suites[program.suite].build(self.mpi, program.title, program.size_class, self.folder)

    def _extrapolate(self, program: RealProgram, options: Sequence[str], suffix: str) -> Path:
        traces = [self.recorded(program, nprocs) for nprocs in program.inputs]
        words = "-".join(map(str, program.inputs))
        result = self.folder / f"{program.name}.{program.scaling}.{words}{suffix}"
        what = f"extrapolate {program.name} from {words} ranks"
        self.command(what, "extrapolate", *traces, *options, "-o", result)
        return result

    def _once(self, key: tuple[object, ...], make: Callable[[], Path]) -> Path:
        """Return the file of a key; a failure is kept, too."""
        if key not in self._results:
            try:
                self._results[key] = make()
            except StepError as error:
                self._results[key] = error
        result = self._results[key]
        if isinstance(result, StepError):
            raise result
        return result

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        """Show a step. What goes wrong in it becomes a StepError."""
        if self._progress:
            self._progress.update(self._progress.task_ids[0], description=what)
        try:
            yield
        except TimeoutError:
            raise StepError(f"over the limit of {self.limit_s:g} s: {what}") from None
        except BuildError as error:
            raise StepError(shorten(str(error))) from None
        except AssertionError as error:
            raise StepError(f"{what}: {shorten(str(error))}") from None


def _checked(what: str, done: Finished) -> Finished:
    if done.returncode:
        raise StepError(shorten(f"{what}: {_reason(done)}"))
    return done


def _reason(done: Finished) -> str:
    """The message of scalatrace, or the first line of the errors that is not a notice."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    for i, line in enumerate(lines):
        if line.startswith("scalatrace: ") and not line.startswith(
            ("scalatrace: wrote", "scalatrace: compiling")
        ):
            more = [text for text in lines[i + 1 :] if text.startswith("next: ")][:1]
            return "; ".join([line.removeprefix("scalatrace: "), *more])
    return lines[0] if lines else f"status {done.returncode}"


def shorten(text: str) -> str:
    """Return one line of a message, without the folders of paths."""
    words = [word.rpartition("/")[2] if word.startswith("/") else word for word in text.split()]
    line = " ".join(words)
    return line if len(line) <= MAX_NOTE else line[: MAX_NOTE - 3] + "..."
