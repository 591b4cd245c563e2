"""Parsers of command lines: a mistake is one UsageError that suggests the option or choice meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from scalatrace.errors import UsageError
from scalatrace.spelling import did_you_mean

__all__ = ["Parser", "subparsers_of"]


class Parser(argparse.ArgumentParser):
    """The parser of a command or of one of its actions. Options have no abbreviations."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})
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
