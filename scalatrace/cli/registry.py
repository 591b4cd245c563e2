"""The list of commands.

A command is a module `scalatrace.cli.<module>` with a docstring (its help), an `EXAMPLE`,
`arguments(parser)` and `run(args) -> exit status`. It is imported when it is called, not before,
so that `scalatrace --help` stays quick whatever the commands need.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One entry of the list: the name typed, the line in the overview, the module that does it."""

    name: str
    summary: str
    module: str


COMMANDS = (
    Command("record", "record an MPI program into a trace (under any launcher)", "record"),
    Command("info", "content of a trace: ranks, events, nodes, bytes, communicators", "info"),
    Command("show", "the trace as a tree, as exact text, or one rank's walk", "show"),
    Command("pack", "make a trace from its text form", "pack"),
    Command("stats", "calls, bytes and time per operation, call site or rank", "stats"),
    Command("matrix", "point-to-point communication matrix", "matrix"),
    Command("diff", "compare two traces event by event", "diff"),
    Command("merge", "make a trace from the parts of an aborted run", "merge"),
    Command("verify", "compare a trace with the flat logs of the same run", "verify"),
    Command("replay", "issue the recorded calls again (under mpiexec)", "replay"),
    Command("fixpoint", "replay, record that, and compare: is the replay what was recorded?", "fixpoint"),
    Command("sweep", "replay with a grid of what-if factors, and draw the times", "sweep"),
    Command("extrapolate", "the trace of any number of ranks, from traces of a few", "extrapolate"),
    Command("instantiate", "the trace of any number of ranks, from formulas (.stx)", "instantiate"),
    Command("check", "do sends match receives? of a trace, or of formulas at many sizes", "check"),
    Command("ncptl", "check, run or compile a program in coNCePTuaL", "ncptl"),
    Command("generate", "make a benchmark of a trace: C, Python, coNCePTuaL", "generate"),
    Command("doctor", "check what recording needs on this machine", "doctor"),
)


def find(name: str) -> Command | None:
    """Return the command called `name`, or None."""
    return next((c for c in COMMANDS if c.name == name), None)
