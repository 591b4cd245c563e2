"""Print the completion of a shell: commands, options, choices and files.

bash:  eval "$(scalatrace completion bash)"                in ~/.bashrc
zsh:   scalatrace completion zsh > ~/.zfunc/_scalatrace     with that folder in fpath
tcsh:  scalatrace completion tcsh > ~/.scalatrace.tcsh      and `source ~/.scalatrace.tcsh` in ~/.tcshrc
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.parsing import Parser, subparsers_of
from scalatrace.cli.registry import COMMANDS

EXAMPLE = "scalatrace completion bash > ~/.local/share/bash-completion/completions/scalatrace"

SHELLS = ("bash", "zsh", "tcsh")

FOLDERS = {"FOLDER", "DIR"}
FILES = {"FILE", "TRACE", "CSV", "TOML", "STX", "PATH", "FILE.c"}
"""What arguments that are completed by paths have as metavar, or as name of a positional argument."""
FILE_ARGUMENTS = {"trace", "traces", "others", "left", "right", "formulas", "text", "source", "file", "files"}
FOLDER_ARGUMENTS = {"parts", "logs"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Write the script."""
    import shtab

    print(shtab.complete(whole_parser(), args.shell), end="")
    return 0


def whole_parser() -> Parser:
    """Return one parser with all commands, whose arguments for paths are marked for shtab."""
    import shtab

    parser_of_all = Parser(prog="scalatrace")
    parser_of_all.add_argument("--version", action="store_true", help="print versions")
    commands = parser_of_all.add_subparsers(dest="command")
    for command in COMMANDS:
        _, parser = parser_of(command, partial(commands.add_parser, command.name, help=command.summary))
        for mode in command.modes:
            _add_missing_options(parser, parser_of(mode)[1])
        for action in _all_actions(parser):
            if (kind := _path_kind(action)) is not None:
                action.complete = shtab.DIRECTORY if kind == "folder" else shtab.FILE  # type: ignore[attr-defined]
    return parser_of_all


def _add_missing_options(parser: Parser, mode: Parser) -> None:
    """Add the options of a command's mode that the command has not itself."""
    for action in mode._actions:
        if action.option_strings and not set(action.option_strings) & set(parser._option_string_actions):
            parser._add_action(action)


def _all_actions(parser: Parser) -> Iterator[argparse.Action]:
    yield from parser._actions
    for subparser in subparsers_of(parser).values():
        yield from subparser._actions


def _path_kind(action: argparse.Action) -> str | None:
    """Return "file" or "folder" for an argument that is a path, else None."""
    if action.choices:
        return None
    word = action.metavar if isinstance(action.metavar, str) else ""
    if word in FOLDERS or (not action.option_strings and action.dest in FOLDER_ARGUMENTS):
        return "folder"
    if word in FILES or (not action.option_strings and action.dest in FILE_ARGUMENTS):
        return "file"
    return None
