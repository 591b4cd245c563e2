"""The list of commands.

A command is a module `scalatrace.cli.<module>` with a docstring (its help), an `EXAMPLE`,
`arguments(parser)` and `run(args) -> exit status`. It is imported when it is called, not before,
so that `scalatrace --help` stays quick whatever the commands need.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One entry of the list.

    Attributes:
        name: the name typed.
        summary: the line in the overview.
        module: the module that does it.
        max_seconds: default of `--max-time`; None: no budgets, since it runs MPI programs.
        shows_progress: whether a line shows progress; False: the terminal belongs to the program it runs.
    """

    name: str
    summary: str
    module: str
    max_seconds: int | None = None
    shows_progress: bool = True


READING, COMPUTING = 600, 3600
"""Default budgets of time in seconds: of commands that read a trace, and of those that compute one."""


COMMANDS = (
    Command("record", "record an MPI program into a trace (under any launcher)", "record", None, False),
    Command("info", "content of a trace: ranks, events, nodes, bytes, communicators", "info", READING),
    Command("show", "the trace as a tree, as exact text, or one rank's walk", "show", READING),
    Command("pack", "make a trace from its text form", "pack", READING),
    Command("stats", "calls, bytes and time per operation, call site or rank", "stats", READING),
    Command("matrix", "point-to-point communication matrix", "matrix", READING),
    Command("report", "an HTML page of a trace, or of two side by side", "report", READING),
    Command("diff", "compare two traces event by event", "diff", READING),
    Command("resolve", "name the native call sites of a trace by source lines", "resolve", READING),
    Command("anonymize", "replace the names in traces, so that they can be given away", "anonymize", READING),
    Command("merge", "make a trace from the parts of an aborted run", "merge", COMPUTING),
    Command("verify", "compare a trace with the flat logs of the same run", "verify", COMPUTING),
    Command("replay", "issue the recorded calls again (under mpiexec)", "replay", None, False),
    Command("fixpoint", "replay, record that, and compare: is the replay what was recorded?", "fixpoint"),
    Command("sweep", "replay with a grid of what-if factors, and draw the times", "sweep"),
    Command(
        "extrapolate", "the trace of any number of ranks, from traces of a few", "extrapolate", COMPUTING
    ),
    Command(
        "instantiate", "the trace of any number of ranks, from formulas (.stx)", "instantiate", COMPUTING
    ),
    Command("check", "do sends match receives? of a trace, or of formulas at many sizes", "check", READING),
    Command(
        "models",
        "formulas and times of messages, collectives and programs on a platform",
        "models",
        COMPUTING,
    ),
    Command(
        "variability",
        "how much later the slowest rank is on more ranks, with intervals",
        "variability",
        COMPUTING,
    ),
    Command(
        "regress", "is a new run slower than the runs before it? exit status for CI", "regress", COMPUTING
    ),
    Command("ncptl", "check, run or compile a program in coNCePTuaL", "ncptl", None, False),
    Command("generate", "make a benchmark of a trace: C, Python, coNCePTuaL", "generate", COMPUTING),
    Command("simulate", "predict the run time on a machine described by a platform", "simulate", COMPUTING),
    Command("study", "predict the run time in many settings, and draw it", "study"),
    Command("export", "write a trace for simulators, viewers, tables and Extra-P", "export", COMPUTING),
    Command("import", "make a trace of an OTF2 archive or of flat logs", "import_trace", COMPUTING),
    Command("calibrate", "measure this machine and write its platform file (under mpiexec)", "calibrate"),
    Command("tune", "write the MPI library's rules for the collectives of a trace (under mpiexec)", "tune"),
    Command("completion", "print the completion of a shell: bash, zsh, tcsh", "completion"),
    Command("doctor", "check what recording needs on this machine", "doctor"),
)


VERSION = Command("--version", "versions of scalatrace, its files, Python and MPI", "version")


def find(name: str) -> Command | None:
    """Return the command called `name`, or None."""
    return next((c for c in COMMANDS if c.name == name), None)
