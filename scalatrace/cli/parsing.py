"""Parsers of command lines: a mistake is one UsageError that suggests the option or choice meant.

`--help` explains a command in two screens: purpose, usual options, first examples. `--help-all` adds the
options of `further`, the complete usage and all examples.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from scalatrace.errors import UsageError
from scalatrace.spelling import did_you_mean

__all__ = ["Parser", "further", "subparsers_of"]

FURTHER = "further options"
"""Title of the options that `--help` leaves out."""

MAX_EXAMPLES = 3
"""Of `--help`; `--help-all` shows all."""


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


def wrap_paragraphs(text: str, width: int) -> str:
    """Return a text with its paragraphs in lines of `width` characters; those with indented lines stay."""
    paragraphs = text.strip("\n").split("\n\n")
    return "\n\n".join(
        part
        if re.search(r"^ ", part, re.MULTILINE)
        else textwrap.fill(" ".join(part.split()), width, break_on_hyphens=False)
        for part in paragraphs
    )


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
            "--help-all",
            action=HelpAllAction,
            nargs=0,
            help="show all options, examples, and columns of --csv",
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
        """Return what must be given, description, usual options and first examples."""
        usual = [group for group in self._action_groups if not isinstance(group, FurtherGroup)]
        lines = (self.epilog or "").splitlines()[: 1 + MAX_EXAMPLES]
        return self._format_parts(self._short_usage(), usual, "\n".join(lines))

    def format_full_help(self) -> str:
        """Return the help with the complete usage, the groups of `further` and all examples."""
        return self._format_parts(self.usage, self._action_groups, self.epilog)

    def _short_usage(self) -> str:
        """Return the usage with `[options]` in place of all options that may be left out."""
        needed = [action for action in self._actions if action.required or not action.option_strings]
        formatter = self._get_formatter()
        usage = formatter._format_usage(None, needed, (), "").split()
        text = " ".join(usage).replace(self.prog, f"{self.prog} [options]", 1)
        wrapped = textwrap.fill(text, formatter._width - len("usage: "), break_on_hyphens=False)
        return textwrap.indent(wrapped, " " * len("usage: ")).strip()

    def _format_parts(
        self, usage: str | None, groups: Sequence[argparse._ArgumentGroup], epilog: str | None
    ) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(wrap_paragraphs(self.description or "", formatter._width))
        for group in groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(epilog)
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
