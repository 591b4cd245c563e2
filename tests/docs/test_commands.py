"""The table of the commands in the documentation is that of the program."""

from __future__ import annotations

from pathlib import Path

from scalatrace.cli.registry import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_page_lists_the_commands_in_their_groups() -> None:
    expected = []
    for group in GROUPS:
        entries = [entry for command in group.commands for entry in (command, *command.modes)]
        titles = [group.title, *[""] * (len(entries) - 1)]
        expected += [
            f"| {title} | `scalatrace {entry.name}` | {entry.summary} |"
            for title, entry in zip(titles, entries, strict=True)
        ]
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert rows[1:] == expected
