"""Consumers that make the calls again: both replays and generated programs, each recorded and compared."""

from __future__ import annotations

import re
from collections.abc import Sequence

from consumers.outcomes import EQUAL, Consumer, Outcome, different, refused
from consumers.recording import TIMEOUT_S, Recording
from scalatrace import Trace
from scalatrace.cli.fixpoint import ignored_aspects
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.errors import ScalatraceError
from scalatrace.trace.query.diff import diff
from support.running import Argument, Finished, run
from support.substituted import differing

SANITIZED = ("-O0", "-g1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")

REFUSALS = ("--engine compiled: ", "cannot write ")
"""Beginnings of messages that say that a consumer does not do this."""


def replay_python(recording: Recording) -> Outcome:
    """Replay by the Python engine."""
    return _again(recording, _replay(recording, "python"), "replay-python")


def replay_compiled(recording: Recording) -> Outcome:
    """Replay by a compiled program."""
    return _again(recording, _replay(recording, "compiled"), "replay-compiled")


def generated_c(recording: Recording) -> Outcome:
    """Run generated C under sanitizers."""
    text = _generated(recording, "c")
    if isinstance(text, Outcome):
        return text
    program, binary = recording.folder / "bench.c", recording.folder / "bench"
    program.write_text(text)
    command = [recording.mpi.mpicc, *SANITIZED, "-o", binary, program, "-lm"]
    compiled = run(command, env=recording.mpi.environment(), timeout=TIMEOUT_S)
    return _again(recording, [binary], "bench-c") if compiled.returncode == 0 else different(compiled.stderr)


def generated_python(recording: Recording) -> Outcome:
    """Run generated Python."""
    text = _generated(recording, "python")
    if isinstance(text, Outcome):
        return text
    program = recording.folder / "bench.py"
    program.write_text(text)
    return _again(recording, [str(recording.mpi.python), program], "bench-python")


def conceptual(recording: Recording) -> Outcome:
    """Run generated coNCePTuaL: the messages and collectives that it promises."""
    text = _generated(recording, "conceptual")
    if isinstance(text, Outcome):
        return text
    program = recording.folder / "bench.ncptl"
    program.write_text(text)
    run_it: list[Argument] = [*recording.mpi.scalatrace(), "ncptl", "run", program]
    finished, again = recording.run_recorded(run_it, "bench-ncptl")
    if again is None:
        return _failed(finished)
    ranks = differing(recording.trace, again)
    return different(f"ranks {ranks} communicate something else") if ranks else EQUAL


EXECUTORS: dict[str, Consumer] = {
    "replay (Python)": replay_python,
    "replay (compiled)": replay_compiled,
    "generated C": generated_c,
    "generated Python": generated_python,
    "coNCePTuaL": conceptual,
}


def _replay(recording: Recording, engine: str) -> list[Argument]:
    options = ["--engine", engine, "--compute", "none", "--verify", "--io-folder", recording.folder / "io"]
    return [*recording.mpi.scalatrace(), "replay", recording.path, *options]


def _generated(recording: Recording, language: str) -> str | Outcome:
    try:
        return generate(recording.trace, language, GenerateOptions(compute_scale=0)).text
    except ScalatraceError as error:
        text = str(error)
        return refused(text) if text.startswith(REFUSALS) else different(f"{type(error).__name__}: {text}")


def _again(recording: Recording, argv: Sequence[Argument], name: str) -> Outcome:
    """Run and record a program; compare its trace with the application's."""
    finished, again = recording.run_recorded(argv, name)
    return _compared(recording.trace, again) if again is not None else _failed(finished)


def _compared(app: Trace, again: Trace) -> Outcome:
    differences = diff(app, again, ignored_aspects(app))
    return different(str(differences[0])) if differences else EQUAL


def _failed(finished: Finished) -> Outcome:
    """Return the outcome of a run that failed."""
    lines = [line for line in finished.warnings.splitlines() if line.startswith("scalatrace: ")]
    if len(lines) == 1 and any(text in lines[0] for text in REFUSALS):
        return refused(lines[0])
    report = re.sub(r"\n-{10,}\n.*", "", finished.stderr, flags=re.DOTALL)
    return different(f"status {finished.returncode}: {finished.stdout[-2000:]}{report[-4000:]}")
