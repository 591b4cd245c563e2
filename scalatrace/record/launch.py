"""Launch a program for `scalatrace record`: prepare its environment, check outputs, replace this process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from scalatrace.compilers.elf import preload_obstacle
from scalatrace.compilers.launchers import foreign_launcher, foreign_launcher_in
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output, remove_leftovers
from scalatrace.launched import array_task, launched_rank, on_one_node, restarts
from scalatrace.record.placeholders import fill, has_placeholders
from scalatrace.record.policy import RecordingPolicy
from scalatrace.record.shim import front_environment

__all__ = ["STACKS", "RecordOptions", "environment", "launch", "parse_meta"]

STACKS = ("auto", "python", "native", "both", "none")
MAX_STACK_DEPTH = 128
"""Frames of a call stack."""
_SEPARATOR = "\x1f"
_ASAN_OPTION = "verify_asan_link_order=0"
"""Without this option, programs built with -fsanitize=address do not start behind a preloaded library."""


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What to record, and where.

    Attributes:
        output: path of the trace; it and the two other paths may have placeholders (placeholders.py).
        stacks: which call stacks: one of STACKS; auto is Python's under Python, else native; both: native
            frames that Python called, then Python's.
        stack_depth: innermost frames kept.
        flat_log: directory for the events of each rank as text; None: not written.
        checkpoint: save each rank's part every so many seconds; 0: only when it must.
        record_queries: events for local queries too (Comm_rank, ...), which else are only counted.
        quiet: print no warnings, and nothing about the trace.
        json: print the line about the trace as JSON, also with `quiet`.
        compress: deflate the trace.
        resolve: store the source lines of native call sites in the trace.
        report: path of an HTML page of the trace, made after the run; None: none.
        policy: parameters and call sites that are not recorded in full.
        meta: further entries for the trace's header; `param.n` is what extrapolation knows as n.
    """

    output: str | Path = "out.st"
    stacks: str = "auto"
    stack_depth: int = 32
    flat_log: str | Path | None = None
    checkpoint: int = 0
    record_queries: bool = False
    quiet: bool = False
    json: bool = False
    compress: bool = True
    resolve: bool = False
    report: str | Path | None = None
    policy: RecordingPolicy = field(default_factory=RecordingPolicy)
    meta: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.stacks not in STACKS:
            raise UsageError(f"--stacks {self.stacks}: give one of {', '.join(STACKS)}")
        if not 1 <= self.stack_depth <= MAX_STACK_DEPTH:
            raise UsageError(
                f"--stack-depth {self.stack_depth}: give a number of frames from 1 to {MAX_STACK_DEPTH}"
            )
        if self.checkpoint < 0:
            raise UsageError(
                f"--checkpoint {self.checkpoint}: give seconds between checkpoints, or 0 for none"
            )
        self.policy.selection.check(self.stacks != "none", self.record_queries)


def parse_meta(option: str, pairs: Sequence[str], prefix: str = "") -> dict[str, str]:
    """Return `{"n": "4096"}` for `["n=4096"]`, keys with the prefix. Raises UsageError naming the option."""
    meta = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {pair}: not a name and a value; give NAME=VALUE")
        meta[prefix + key] = value
    return meta


def environment(options: RecordOptions, argv: Sequence[str], front: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables to add for the program.

    Args:
        front: those of the library to preload (`front_environment`).
    """
    flags = {
        "SCALATRACE_OUTPUT": os.path.abspath(options.output),
        "SCALATRACE_STACKS": options.stacks,
        "SCALATRACE_STACK_DEPTH": str(options.stack_depth),
        "SCALATRACE_FLAT_LOG": os.path.abspath(options.flat_log) if options.flat_log else "",
        "SCALATRACE_CHECKPOINT": str(options.checkpoint),
        "SCALATRACE_RECORD_QUERIES": str(int(options.record_queries)),
        "SCALATRACE_QUIET": str(int(options.quiet)),
        "SCALATRACE_JSON": str(int(options.json)),
        "SCALATRACE_COMPRESS": str(int(options.compress)),
        "SCALATRACE_RESOLVE": str(int(options.resolve)),
        "SCALATRACE_REPORT": os.path.abspath(options.report) if options.report else "",
        "SCALATRACE_META": _SEPARATOR.join(f"{k}={_plain(v)}" for k, v in _meta(options, argv).items()),
        "SCALATRACE_PID": str(os.getpid()),
        **options.policy.environment(),
        **options.policy.selection.environment(options.record_queries),
        **front,
    }
    preload = [front["SCALATRACE_FRONT"], *os.environ.get("LD_PRELOAD", "").replace(":", " ").split()]
    return {
        **flags,
        "LD_PRELOAD": ":".join(dict.fromkeys(preload)),
        "ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), _ASAN_OPTION))),
    }


def _plain(text: str) -> str:
    return text.replace(_SEPARATOR, " ").replace("\0", " ")


def _meta(options: RecordOptions, argv: Sequence[str]) -> dict[str, str]:
    return {
        "program": " ".join(argv),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": f"stacks={options.stacks} stack-depth={options.stack_depth} "
        f"fold-recursion={'yes' if options.policy.fold_recursion else 'no'}",
        **options.policy.meta(),
        **options.meta,
    }


def launch(options: RecordOptions, argv: Sequence[str]) -> NoReturn:
    """Replace this process by the program `argv` with the tracer preloaded.

    Raises:
        UsageError: the outputs cannot be written, or there is no such program.
        ScalatraceError: the program cannot be started.

    A program that is a Python file (`app.py`) is run by this interpreter.
    """
    if not argv:
        raise UsageError(
            "no program to record; give it after the options: scalatrace "
            "record [options] -- program [arguments]"
        )
    words = list(argv)
    if words[0].endswith(".py") and not os.access(words[0], os.X_OK):
        words.insert(0, sys.executable)
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"{words[0]}: no such program; check its path, or PATH")
    options, placeholders = _fill_paths(options), str(options.output)
    _check_outputs(options)
    if not options.quiet and not launched_rank():
        _warn(program, words)
    added = environment(options, argv, front_environment())
    added |= _set_earlier_traces_aside(options, words, placeholders)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which this interpreter ignores, the program would not
        signal.signal(number, signal.SIG_DFL)
    if signal.getitimer(signal.ITIMER_PROF)[0]:
        # A profiler in LD_PRELOAD has started it in this process. It survives exec, its handler does not.
        signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.flush()
    try:
        os.execvpe(program, words, {**os.environ, **added})
    except OSError as error:
        raise ScalatraceError(f"{program}: {error.strerror}") from None


def _check_outputs(options: RecordOptions) -> None:
    """Check that trace and flat logs can be written.

    Rank 0 writes the trace. Folders of other nodes may differ from its own.
    """
    for option in [name for name in ("resolve", "report") if getattr(options, name)]:
        if os.path.exists(options.output) and not os.path.isfile(options.output):
            raise UsageError(
                f"--{option} needs a file as output; {options.output} is none: leave --{option} out"
            )
    if options.flat_log:
        _make_folder(options.flat_log)
    if not launched_rank() or on_one_node():
        check_output(options.output, "-o")
        if options.report:
            check_output(options.report, "--report")


def _fill_paths(options: RecordOptions) -> RecordOptions:
    """Return the options with the values of placeholders in paths (placeholders.py)."""
    return replace(
        options,
        output=fill(str(options.output)),
        flat_log=options.flat_log and fill(str(options.flat_log)),
        report=options.report and fill(str(options.report)),
    )


def _set_earlier_traces_aside(
    options: RecordOptions, words: Sequence[str], placeholders: str
) -> dict[str, str]:
    """Delete the trace of an earlier run, or keep it where it is of the same job; return variables to add.

    Should this run write none, nobody takes an old trace for its own. A trace that the command line of the
    program names is an input. A job that was requeued keeps what it had written before, as do the tasks of an
    array job, unless the path tells them apart.
    """
    added = {"SCALATRACE_PLACEHOLDERS": str(int(has_placeholders(placeholders)))}
    path = os.path.realpath(options.output)
    if launched_rank():
        return added
    remove_leftovers(path)
    if array_task() and "%a" not in placeholders and "%p" not in placeholders:
        _say(options, f"all tasks of this job array write {options.output}: put %a (array task) into -o")
        return {**added, "SCALATRACE_KEEP": "1"}
    if restarts() and "%r" not in placeholders and "%p" not in placeholders:
        _keep_for_restart(options, path, restarts() - 1)
    if not os.path.isfile(path) or os.path.islink(options.output):
        return added
    if not any(os.path.realpath(word) == path for word in words):
        with contextlib.suppress(OSError):
            os.unlink(path)
    return added


def _keep_for_restart(options: RecordOptions, path: str, restart: int) -> None:
    """Rename trace and parts of this job before it was requeued."""
    kept = f"{path}.restart-{restart}"
    for ending in ("", ".parts"):
        with contextlib.suppress(OSError):
            if os.path.lexists(path + ending) and not os.path.lexists(kept + ending):
                os.rename(path + ending, kept + ending)
                text = f"this job was requeued: {path}{ending} is now {kept}{ending}"
                _say(options, f"{text}; put %r (times restarted) into -o")


def _say(options: RecordOptions, text: str) -> None:
    if not options.quiet:
        print(f"scalatrace: {text}", file=sys.stderr)


def _make_folder(path: str | Path) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--flat-log {path}: cannot create this folder: {error.strerror}; give another one"
        ) from None
    if not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
        raise UsageError(f"--flat-log {path}: this folder is not writable; give another one")


def _warn(program: str, words: Sequence[str]) -> None:
    """Print a line about a program that cannot be recorded, or that has the launcher of another MPI."""
    if reason := preload_obstacle(program):
        print(f"scalatrace: {program} {reason}: the tracer cannot be loaded into it", file=sys.stderr)
    if _removes_preload(words):
        text = "env removes LD_PRELOAD, which loads the tracer: nothing is recorded"
        print(f"scalatrace: {text}; put scalatrace record behind env", file=sys.stderr)
    wrong = foreign_launcher_in(words) if launched_rank() is None else foreign_launcher(words)
    if wrong:
        print(f"scalatrace: {wrong}", file=sys.stderr)


def _removes_preload(words: Sequence[str]) -> bool:
    """Return whether a command is `env` that starts a program without LD_PRELOAD, or with another one."""
    if os.path.basename(words[0]) != "env":
        return False
    removed, remaining = False, iter(words[1:])
    for word in remaining:
        name, equals, _ = word.partition("=")
        if word in ("-i", "-", "--ignore-environment"):
            removed = True
        elif word in ("-u", "--unset"):
            removed |= next(remaining, "") == "LD_PRELOAD"
        elif name == "--unset":
            removed |= word == "--unset=LD_PRELOAD"
        elif word in ("-C", "--chdir", "-S", "--split-string"):
            next(remaining, "")
        elif equals and not word.startswith("-"):
            removed |= name == "LD_PRELOAD"
        elif not word.startswith("-"):
            break
    return removed
