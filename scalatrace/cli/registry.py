"""The list of commands, in the groups of the overview.

A command is a module `scalatrace.cli.<module>` with a docstring (its help), an `EXAMPLE`,
`arguments(parser)` and `run(args) -> exit status`. It is imported when it is called, not before,
so that `scalatrace --help` stays quick whatever the commands need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One entry of the list.

    Attributes:
        name: the words typed: the command, for a mode with its option.
        summary: the line in the overview.
        module: the module that does it.
        max_seconds: default of `--max-time`; None: no budgets, since it runs MPI programs.
        shows_progress: whether a line shows progress; False: the terminal belongs to the program it runs.
        modes: work that an option of the command chooses and that has arguments of its own.
    """

    name: str
    summary: str
    module: str
    max_seconds: int | None = None
    shows_progress: bool = True
    modes: tuple[Command, ...] = ()

    @property
    def option(self) -> str:
        """The option that chooses a mode; empty for a command."""
        return self.name.partition(" ")[2]


@dataclass(frozen=True)
class CommandGroup:
    """Commands that serve one purpose, which the overview names."""

    title: str
    commands: tuple[Command, ...]


READING, COMPUTING = 600, 3600
"""Default budgets of time in seconds: of commands that read a trace, and of those that compute one."""


FIXPOINT = Command(
    "replay --fixpoint", "replay, record that, and compare: is the replay what was recorded?", "fixpoint"
)
SWEEP = Command("replay --sweep", "replay with a grid of what-if factors, and draw the times", "sweep")
LOGS = Command("diff --logs", "compare a trace with the flat logs of the same run", "verify", COMPUTING)

GROUPS = (
    CommandGroup(
        "look",
        (
            Command("record", "record an MPI program, under any launcher", "record", None, False),
            Command("report", "an HTML page of a trace, of two, or of several runs", "report", READING),
            Command("info", "run time, share of MPI, and which ranks stand out", "info", READING),
            Command("show", "the trace as a tree, as exact text, or one rank's walk", "show", READING),
            Command("stats", "calls, bytes and time by operation, call site, rank", "stats", READING),
            Command("matrix", "point-to-point communication matrix", "matrix", READING),
            Command(
                "diff", "compare two traces, or a trace with its flat logs", "diff", READING, modes=(LOGS,)
            ),
        ),
    ),
    CommandGroup(
        "scale",
        (
            Command(
                "extrapolate",
                "the trace of any number of ranks, from small ones",
                "extrapolate",
                COMPUTING,
            ),
            Command("check", "do sends match receives? of a trace, or of formulas", "check", READING),
        ),
    ),
    CommandGroup(
        "predict",
        (
            Command("simulate", "predict the run time on another machine", "simulate", COMPUTING),
            Command("study", "predict the run time in many settings, and draw it", "study"),
            Command(
                "models",
                "formulas and times of messages, collectives, programs",
                "models",
                COMPUTING,
            ),
            Command(
                "variability",
                "how much later the slowest of more ranks is",
                "variability",
                COMPUTING,
            ),
            Command("calibrate", "measure this machine, and write its platform file", "calibrate"),
            Command("tune", "rules of the MPI library for a trace's collectives", "tune"),
        ),
    ),
    CommandGroup(
        "run again",
        (
            Command(
                "replay",
                "issue the recorded calls again; --fixpoint, --sweep",
                "replay",
                None,
                False,
                (FIXPOINT, SWEEP),
            ),
            Command("generate", "make a benchmark of a trace: C, Python, coNCePTuaL", "generate", COMPUTING),
            Command("ncptl", "check, run or compile a program in coNCePTuaL", "ncptl", None, False),
        ),
    ),
    CommandGroup(
        "watch",
        (
            Command(
                "regress",
                "is a new run slower than those before it? for CI",
                "regress",
                COMPUTING,
            ),
        ),
    ),
    CommandGroup(
        "files",
        (
            Command("export", "write a trace for simulators, viewers, Extra-P", "export", COMPUTING),
            Command(
                "import",
                "make a trace of text, logs, OTF2, DUMPI, GOAL, Chakra",
                "import_trace",
                COMPUTING,
            ),
            Command("merge", "make a trace from the parts of an aborted run", "merge", COMPUTING),
            Command(
                "anonymize",
                "replace the names in traces, to give them away",
                "anonymize",
                READING,
            ),
            Command("resolve", "name the native call sites of a trace by source lines", "resolve", READING),
        ),
    ),
    CommandGroup(
        "set-up",
        (
            Command("doctor", "check what recording needs on this machine", "doctor"),
            Command("completion", "print the completion of a shell: bash, zsh, tcsh", "completion"),
        ),
    ),
)

COMMANDS = tuple(command for group in GROUPS for command in group.commands)

MODES = tuple(mode for command in COMMANDS for mode in command.modes)

VERSION = Command("--version", "versions of scalatrace, its files, Python and MPI", "version")

ALIASES = {
    "fixpoint": FIXPOINT.name,
    "sweep": SWEEP.name,
    "verify": LOGS.name,
    "instantiate": "extrapolate",
    "pack": "import",
    "version": VERSION.name,
}
"""Names that commands had before: they work, but no list has them."""


def find(name: str) -> Command | None:
    """Return the command, or mode, called `name` today or before, or None."""
    name = ALIASES.get(name, name)
    return next((c for c in (*COMMANDS, *MODES, VERSION) if c.name == name), None)


def chosen_mode(command: Command, words: Sequence[str]) -> tuple[Command, list[str]]:
    """Return the mode that the words of a command choose, and the words without its option.

    Without such an option, that is the command itself and all words.
    """
    for mode in command.modes:
        if mode.option in words:
            return mode, [word for word in words if word != mode.option]
    return command, list(words)
