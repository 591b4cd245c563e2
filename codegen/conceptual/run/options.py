"""The command line of a program: its own parameters, and what every program takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.parser.lexer import scan
from scalatrace.codegen.conceptual.values.evaluate import Env, integer
from scalatrace.errors import UsageError

__all__ = ["RunOptions", "parse_options", "usage"]

COMMON = (
    ("-C", "--comment", "text", "text for the log's prologue (may be given again)"),
    ("-L", "--logfile", "name", "log files' name; %p stands for the processor"),
    ("-N", "--no-trap", "signals", "signals that are left alone (all are)"),
)


@dataclass
class RunOptions:
    """What a command line says."""

    parameters: dict[str, int] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    logfile: str = ""
    help: bool = False


def parse_options(program: t.ProgramTree, words: Sequence[str]) -> RunOptions:
    """Return what the words say. Raises UsageError."""
    headers = [header for header in program.headers if isinstance(header, t.ProgramParameter)]
    names = {option: header.name for header in headers for option in (header.long, header.short)}
    options = RunOptions()
    remaining = list(words)
    while remaining:
        option, value = _split_option(remaining.pop(0))
        if option in ("-?", "--help") and option not in names:
            options.help = True
            return options
        name = names.get(option) or next((c[0] for c in COMMON if option in c[:2]), None)
        if name is None:
            raise UsageError(f"there is no option {option!r}; -? shows all")
        if value is None:
            if not remaining:
                raise UsageError(f"{option} wants a value")
            value = remaining.pop(0)
        _set(options, name, option, value)
    return options


def _split_option(word: str) -> tuple[str, str | None]:
    if word.startswith("--"):
        option, equals, value = word.partition("=")
        return option, value if equals else None
    return word[:2], word[2:] or None


def _set(options: RunOptions, name: str, option: str, value: str) -> None:
    if name == "-C":
        options.comments.append(value)
    elif name == "-L":
        options.logfile = value
    elif name != "-N":
        options.parameters[name] = _number(option, value)


def _number(option: str, text: str) -> int:
    digits = text.removeprefix("-")
    try:
        if not re.fullmatch(r"\w+", digits):
            raise ValueError
        tokens = scan(digits, [])
        if len(tokens) != 1 or tokens[0].type != "INTEGER":
            raise ValueError
    except (ValueError, ProgramError):
        raise UsageError(f"{option} wants a whole number such as 5 or 64K, not {text!r}") from None
    return -int(tokens[0]) if text.startswith("-") else int(tokens[0])


def usage(program: t.ProgramTree, name: str) -> str:
    """Return the program's help."""
    rows = [
        (h.short, f"{h.long}=<number>", f"{h.help} [default: {integer(h.default, Env())}]")
        for h in program.headers
        if isinstance(h, t.ProgramParameter)
    ]
    rows += [(short, f"{long}=<{placeholder}>", text) for short, long, placeholder, text in COMMON]
    rows.append(("-?", "--help", "show this"))
    width = max(len(long) for _, long, _ in rows)
    lines = [f"  {short}, {long:<{width}}  {text}" for short, long, text in rows]
    return "\n".join([f"usage: {name} [options]", *lines])
