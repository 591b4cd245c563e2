"""Print the completion of a shell: commands, options, choices and files.

bash:  eval "$(scalatrace completion bash)"                in ~/.bashrc
zsh:   scalatrace completion zsh > ~/.zfunc/_scalatrace     with that folder in fpath
tcsh:  scalatrace completion tcsh > ~/.scalatrace.tcsh      and `source ~/.scalatrace.tcsh` in ~/.tcshrc

--json prints commands, arguments and choices for other shells and editors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.output import add_json, print_json
from scalatrace.cli.parsing import Parser, subparsers_of
from scalatrace.cli.registry import COMMANDS
from scalatrace.errors import UsageError

EXAMPLE = "scalatrace completion bash > ~/.local/share/bash-completion/completions/scalatrace"

SHELLS = ("bash", "zsh", "tcsh")

FOLDERS = {"FOLDER", "DIR"}
FILES = {"FILE", "TRACE", "CSV", "TOML", "STX", "PATH", "FILE.c"}
"""What arguments that are completed by paths have as metavar, or as name of a positional argument."""
FILE_ARGUMENTS = {"trace", "traces", "others", "left", "right", "formulas", "text", "source", "file", "files"}
FOLDER_ARGUMENTS = {"parts", "logs"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", nargs="?", choices=SHELLS)
    add_json(parser, "print all commands and arguments as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the script."""
    if args.json == (args.shell is not None):
        raise UsageError(f"completion: give a shell ({', '.join(SHELLS)}), or --json")
    if args.json:
        print_json({"commands": [_facts(parser) for parser in subparsers_of(whole_parser()).values()]})
        return 0
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


def _facts(parser: Parser) -> dict[str, Any]:
    """Return a command or action with its arguments as plain data."""
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    actions = subparsers_of(parser)
    return {
        "name": parser.prog.removeprefix("scalatrace "),
        "summary": " ".join((parser.description or "").split("\n\n")[0].split()),
        "arguments": [
            {
                "names": action.option_strings or [action.metavar or action.dest],
                "takes_value": action.nargs != 0,
                "choices": [str(choice) for choice in action.choices or ()],
                "path": _path_kind(action),
                "help": (action.help or "") % {**vars(action), "prog": parser.prog},
            }
            for action in shown
            if not isinstance(action, argparse._SubParsersAction)
        ],
        "actions": [_facts(action) for action in actions.values()],
    }


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
