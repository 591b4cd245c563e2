"""Run a command by name: parse its arguments, convert its errors to one line and an exit status.

Exit status: 0 success, 1 failure (or differing traces), 2 wrong command line.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType

from scalatrace.cli.budget import TimeExceeded, add_budgets, enforced, over_memory, over_time
from scalatrace.cli.parsing import Parser
from scalatrace.cli.progress import progress_of
from scalatrace.cli.registry import (
    ALIASES,
    COMMANDS,
    GROUPS,
    MODES,
    VERSION,
    Command,
    CommandGroup,
    chosen_mode,
    find,
)
from scalatrace.errors import ScalatraceError
from scalatrace.escapes import LINES, clean
from scalatrace.files import is_stdout
from scalatrace.launched import REPORT_S, is_first_to_report, launched_rank
from scalatrace.spelling import did_you_mean

FAILURE, USAGE = 1, 2

OPTIONS = ("--help", "--help-all", "--version")
"""Of `scalatrace` without a command."""

COLLECTED_OBJECTS = 100_000
"""New objects between two searches for cycles: traces are trees, and this took a third of loading."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `scalatrace` with `argv` (default: the process's) and return the exit status."""
    if argv is None:  # a process of its own
        gc.set_threshold(COLLECTED_OBJECTS, 20, 50)
        for stream in (sys.stdout, sys.stderr):  # a terminal without the letter µ gets a question mark
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if words else USAGE
    if words[0] == "--help-all":
        print(f"{overview()}\n\n{further_names()}")
        return 0
    command = VERSION if words[0] == "-V" else find(words[0])
    if command is None:
        return _complain(_unknown(words[0]), USAGE)
    return _run_guarded(*chosen_mode(command, words[1:]))


def overview() -> str:
    """Return the text of `scalatrace --help`: the commands by their groups, on one screen."""
    lines = [line for group in GROUPS for line in _overview_lines(group)]
    return "\n".join(
        [
            "usage: scalatrace <command> [options]",
            "",
            "Record MPI programs into one small, exact trace, look at it, and replay it.",
            "",
            *lines,
            "",
            "scalatrace <command> --help explains a command, --help-all all its options.",
            "scalatrace --version prints versions. Status: 0 ok, 1 failure, 2 wrong usage.",
            "",
            "example:",
            "  mpiexec -n 16 scalatrace record -o app.st -- python app.py",
            "  scalatrace report app.st --open",
        ]
    )


def further_names() -> str:
    """Return the end of `scalatrace --help-all`: modes with arguments of their own, and former names."""
    width = max(len(mode.name) for mode in MODES)
    return "\n".join(
        [
            "modes, each with its own --help:",
            *(f"  {mode.name:<{width}}  {mode.summary}" for mode in MODES),
            "",
            "former names, which still work:",
            *(f"  {former:<{width}}  {name}" for former, name in ALIASES.items()),
        ]
    )


def _overview_lines(group: CommandGroup) -> list[str]:
    """Return a line for each command of a group; the first one starts with the group's title."""
    title_width = max(len(g.title) for g in GROUPS)
    name_width = max(len(c.name) for c in COMMANDS)
    titles = [group.title, *[""] * (len(group.commands) - 1)]
    return [
        f"  {title:<{title_width}}  {command.name:<{name_width}}  {command.summary}"
        for title, command in zip(titles, group.commands, strict=True)
    ]


def parser_of(command: Command, new: Callable[..., Parser] = Parser) -> tuple[ModuleType, Parser]:
    """Import the command's module and return it with the parser of its arguments, which `new` makes."""
    module = importlib.import_module(f"scalatrace.cli.{command.module}")
    parser = new(
        prog=f"scalatrace {command.name}",
        description=module.__doc__,
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for mode in command.modes:
        parser.add_argument(
            mode.option, action="store_true", help=f"{mode.summary}: see `{mode.name} --help`"
        )
    module.arguments(parser)
    if command.max_seconds is not None:
        add_budgets(parser, command.max_seconds)
    return module, parser


def _run_guarded(command: Command, words: list[str]) -> int:
    try:
        module, parser = parser_of(command)
        args = parser.parse_args(words)
        shown = progress_of(command.name) if command.shows_progress else nullcontext()
        with enforced(args), _stdout_of_its_own(getattr(args, "output", None)), shown:
            status = int(module.run(args))
            sys.stdout.flush()
        return status
    except ScalatraceError as error:
        return _complain(str(error), getattr(error, "exit_status", FAILURE))
    except BrokenPipeError:
        # The reader of our output (`| head`) is gone: print nothing more, also not at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except OSError as error:
        return _complain(_os_message(error), FAILURE)
    except RecursionError:
        return _complain(f"{command.name}: the input is nested too deeply; simplify it", FAILURE)
    except MemoryError as error:
        return _complain(f"{command.name}: {over_memory(error)}", FAILURE)
    except TimeExceeded as error:
        return _complain(f"{command.name}: {over_time(str(error))}", FAILURE)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)


def _stdout_of_its_own(output: str | Path | None) -> AbstractContextManager[object]:
    """Print to standard error while the command writes its result to standard output (`-o /dev/stdout`)."""
    return redirect_stdout(sys.stderr) if output and is_stdout(output) else nullcontext()


def _os_message(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _unknown(word: str) -> str:
    kind, names = ("option", OPTIONS) if word.startswith("-") else ("command", [c.name for c in COMMANDS])
    return f"no {kind} {word!r}{did_you_mean(word, names) or '; see scalatrace --help'}"


def _complain(message: str, status: int) -> int:
    if is_first_to_report(message):
        print(f"scalatrace: {clean(message, keep=LINES)}", file=sys.stderr, flush=True)
        if launched_rank() is not None:
            time.sleep(REPORT_S)  # other ranks may be about to report the same
    return status
