"""Print tables on the terminal and write them as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from os import cpu_count
from pathlib import Path
from platform import platform

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).resolve().parent / "results"


def printed(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The rows, each printed as soon as it is made."""
    for row in rows:
        print(*row, sep="  ", flush=True)
        yield row


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; the first column to the left, the others to the right."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)


def keep(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *notes: str,
    below: Sequence[str] = (),
) -> None:
    """Write a table to results/<name>.md, with the machine it was measured on; lines `below` follow it."""
    lines = [f"# {title}", "", f"{date.today()}, {platform()}, {cpu_count()} cores.", *notes, ""]
    lines += [_row(columns), _row(["---"] + ["--:"] * (len(columns) - 1)), *(_row(row) for row in rows)]
    lines += ["", *below] if below else []
    RESULTS.mkdir(exist_ok=True)
    aside = RESULTS / f"{name}.md.new"
    aside.write_text("\n".join(lines) + "\n")
    aside.replace(RESULTS / f"{name}.md")


def kept(name: str, columns: Sequence[str]) -> list[list[str]]:
    """Read the rows that `keep` wrote; none when there is no such file, or its columns are others."""
    file = RESULTS / f"{name}.md"
    lines = file.read_text().splitlines() if file.exists() else []
    if _row(columns) not in lines:
        return []
    table = lines[lines.index(_row(columns)) + 2 :]
    return [line[2:-2].split(" | ") for line in table if line.startswith("| ")]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def grouped(number: float) -> str:
    """An integer with thin groups of three digits."""
    return f"{round(number):,}"
