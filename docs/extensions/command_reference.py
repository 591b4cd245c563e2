"""The directive `commands`: all commands in their groups, with usage, description and options."""

from __future__ import annotations

import argparse
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.registry import GROUPS, Command, CommandGroup

COLUMNS = 100
"""Width of usage lines."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}


class Commands(SphinxDirective):
    """A section for each group of the registry, with one for each command and mode."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [self._group(group) for group in GROUPS]

    def _group(self, group: CommandGroup) -> nodes.section:
        section = self._section(group.title.capitalize())
        for command in group.commands:
            section += [self._command(entry) for entry in (command, *command.modes)]
        return section

    def _command(self, command: Command) -> nodes.section:
        module, parser = parser_of(command)
        section = self._section(command.name)
        section += nodes.paragraph("", f"{command.summary[0].upper()}{command.summary[1:]}.")
        section += _literal(_usage(parser))
        if parser.description and (text := " ".join(parser.description.split())) != command.summary:
            section += _paragraph(text)
        section += _options(parser)
        for name, nested in _subcommands(parser).items():
            inner = self._section(f"{command.name} {name}")
            inner += _literal(_usage(nested))
            inner += _options(nested)
            section += inner
        section += nodes.paragraph("", "Examples:")
        section += _literal("\n".join(line.strip() for line in module.EXAMPLE.splitlines()))
        return section

    def _section(self, title: str) -> nodes.section:
        section = nodes.section("", nodes.title("", title))
        section["names"].append(nodes.fully_normalize_name(title))
        self.state.document.note_implicit_target(section, section)
        return section


def _usage(parser: argparse.ArgumentParser) -> str:
    formatter = argparse.HelpFormatter(parser.prog, width=COLUMNS)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return formatter.format_help().rstrip()


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    nested = [a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(nested[0]) if nested else {}


def _options(parser: argparse.ArgumentParser) -> list[nodes.Node]:
    """Return the arguments with their help texts, one list per group of the parser."""
    formatter = parser._get_formatter()
    result: list[nodes.Node] = []
    for group in parser._action_groups:
        shown = [
            a
            for a in group._group_actions
            if a.help is not argparse.SUPPRESS and a.dest not in ("help", "help_all")
        ]
        items = nodes.definition_list()
        for action in shown:
            term = nodes.term("", "", nodes.literal("", formatter._format_action_invocation(action)))
            text = formatter._expand_help(action) if action.help else ""
            items += nodes.definition_list_item("", term, nodes.definition("", _paragraph(text)))
        if shown and group.title not in ("positional arguments", "options"):
            result.append(nodes.paragraph("", f"{group.title}:"))
        if shown:
            result.append(items)
    return result


def _paragraph(text: str) -> nodes.paragraph:
    """Return a paragraph; text between backticks is code."""
    parts = text.split("`")
    kinds = [nodes.literal if i % 2 and i < len(parts) - 1 else nodes.Text for i in range(len(parts))]
    return nodes.paragraph(
        "", "", *(k(p) if k is nodes.Text else k("", p) for k, p in zip(kinds, parts, strict=True))
    )


def _literal(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="console")
