"""Parsers of command lines: a mistake is one UsageError that suggests the option or choice meant.

`--help` shows the usual options of a command in two screens, `--help-all` the options of `further`, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from scalatrace.errors import UsageError
from scalatrace.spelling import did_you_mean

__all__ = ["Parser", "further", "subparsers_of"]

FURTHER = "further options"
"""Title of the options that `--help` leaves out."""


class FurtherGroup(argparse._ArgumentGroup):
    """Options, or a text, that `--help-all` shows and `--help` does not."""


def further(
    parser: argparse.ArgumentParser, title: str = FURTHER, text: str | None = None
) -> argparse._ArgumentGroup:
    """Return the group of a parser for options that few users need; `text` explains a group of its own."""
    for group in parser._action_groups:
        if isinstance(group, FurtherGroup) and group.title == title:
            return group
    group = FurtherGroup(parser, title, text)
    parser._action_groups.append(group)
    return group


class HelpAllAction(argparse.Action):
    """The option `--help-all`: print the help with all options, and end."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it."""
        if isinstance(parser, Parser):
            parser._print_message(parser.format_full_help(), sys.stdout)
        parser.exit()


class Parser(argparse.ArgumentParser):
    """The parser of a command or of one of its actions. Options have no abbreviations."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, "add_help": False, **options})
        self.add_argument("-h", "--help", action="help", help="show the usual options")
        self.add_argument(
            "--help-all", action=HelpAllAction, nargs=0, help="show all options, and the columns of --csv"
        )
        self._words: tuple[str, ...] = ()

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the values of a command line. Raises UsageError."""
        result, remaining = self.parse_known_args(args, namespace)
        if remaining:
            option = next((word for word in remaining if word.startswith("-")), None)
            self._refuse(
                f"unexpected argument {remaining[0]!r}" if option is None else self._no_option(option)
            )
        return result

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Keep the words for the text of an error."""
        self._words = tuple(args)
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """Return usage, description, usual options and examples."""
        return self._format_groups(
            [group for group in self._action_groups if not isinstance(group, FurtherGroup)]
        )

    def format_full_help(self) -> str:
        """Return the help with the groups of `further`, too."""
        return self._format_groups(self._action_groups)

    def _format_groups(self, groups: Sequence[argparse._ArgumentGroup]) -> str:
        formatter = self._get_formatter()
        shown = {id(action) for group in groups for action in group._group_actions}
        actions = [action for action in self._actions if id(action) in shown]
        formatter.add_usage(self.usage, actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """Raise UsageError; an unknown option comes first, since it often is the reason for the others."""
        unknown = next(self._unknown(), None)
        self._refuse(message if unknown is None else self._no_option(unknown))

    def _refuse(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else f"; see {self.prog} --help"
        raise UsageError(f"{self.prog.partition(' ')[2]}: {message}{end}")

    def _no_option(self, word: str) -> str:
        name = word.partition("=")[0]
        return f"no option {name}{did_you_mean(name, self._options())}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Add to the error of a value that is none of the choices the one that is meant."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None

    def _unknown(self) -> Iterator[str]:
        """Yield the words that look like options and are none; options after a program are the program's."""
        programs = any(
            action.nargs == argparse.REMAINDER for parser in self._family() for action in parser._actions
        )
        all_options = set(self._options())
        for word in self._words:
            if word == "--" or (programs and not word.startswith("--")):
                return
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in name and name not in all_options:
                yield name

    def _options(self) -> list[str]:
        """Return the options of this parser and of its actions."""
        return [option for parser in self._family() for option in parser._option_string_actions]

    def _family(self) -> list[Parser]:
        return [self, *subparsers_of(self).values()]


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    """Return the parsers of a command's actions by name."""
    return {
        name: subparser
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, subparser in action.choices.items()
    }
