"""Colours, console and number formats of all reports."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from math import floor, inf, isfinite, log10
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.containers import Lines
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.launched import launched_rank
from scalatrace.operations import Category, operation
from scalatrace.report.tables import CellKind, CommandTable, Row, TableColumn
from scalatrace.stats.interval_width import is_vague
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.values.ranks_text import ranks as ranks

FILE_COLUMNS = 200
"""Characters in a line of a drawing written to a file or a pipe."""

MAX_UNBROKEN = 16
"""Characters of texts in a column of a table that are not broken over lines."""

UNBROKEN = 1 << 16
"""Characters in a line of text or of a table in a file or a pipe: scripts read line by line."""

CATEGORY_STYLES = {
    Category.SEND: "green",
    Category.RECV: "cyan",
    Category.SENDRECV: "bright_cyan",
    Category.PROBE: "blue",
    Category.PERSISTENT: "bright_green",
    Category.START: "bright_green",
    Category.COMPLETION: "yellow",
    Category.COLLECTIVE: "magenta",
    Category.NEIGHBOUR: "bright_magenta",
    Category.COMMUNICATOR: "bright_blue",
    Category.WINDOW: "red",
    Category.ONE_SIDED: "bright_red",
    Category.FILE: "bright_yellow",
    Category.IO: "bright_yellow",
}
SITE, DIM, LOOP, TITLE = "italic bright_black", "bright_black", "bold", "bold"

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_SITE_SHOWN = 48


def console(stream: Any = None) -> Console:
    """Return a console for the terminal, or for a plain file, in which no line is broken.

    Launchers such as mpiexec may give each rank a terminal of its own, which nobody looks at: its output ends
    in a file or among that of other ranks. With NO_COLOR there are no styles either.
    """
    out = sys.stdout if stream is None else stream
    terminal = out.isatty() and launched_rank() is None
    width = None if terminal else UNBROKEN
    forced = False if out.isatty() and not terminal else None
    colours: Literal["auto"] | None = None if forced is False or os.environ.get("NO_COLOR") else "auto"
    options: dict[str, Any] = {"highlight": False, "emoji": False, "markup": False}
    return Console(file=out, width=width, color_system=colours, force_terminal=forced, **options)


def columns(out: Console) -> int:
    """Return the width of drawings: that of the terminal; for files the user's COLUMNS if they are more."""
    if out.width < UNBROKEN:
        return out.width
    wanted = os.environ.get("COLUMNS", "")
    return max(FILE_COLUMNS, int(wanted) if wanted.isdecimal() else 0)


def text_table(table: CommandTable, rows: Iterable[Row], title: str | None = None) -> RichTable:
    """Return the rows with the columns of a table that have a heading.

    Numbers and short texts are never broken over lines, call sites before `:` and `/`, longer texts between
    words or after separators of paths and names. A value that is a text already stays as it is; None is "-".
    """
    columns = [column for column in table.columns if column.heading is not None]
    result = RichTable(
        box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style=TITLE, pad_edge=False
    )
    cells = [[cell(column, row[column.name]) for column in columns] for row in rows]
    for i, column in enumerate(columns):
        if column.kind not in TEXT_KINDS:
            result.add_column(column.heading or "", justify="right", no_wrap=True)
            continue
        longest = max((cell_len(str(line[i])) for line in cells), default=0)
        is_short = max(longest, len(column.heading or "")) <= MAX_UNBROKEN
        result.add_column(column.heading or "", justify="left", overflow="fold", no_wrap=is_short)
    for line in cells:
        pairs = zip(columns, line, strict=True)
        result.add_row(*(_wrapped(text) if column.kind in TEXT_KINDS else text for column, text in pairs))
    return result


def _wrapped(text: str | Text) -> Text | _WrappedCell:
    return text if isinstance(text, SiteText) else _WrappedCell(text)


class _WrappedCell:
    """A text in a table, which is broken as by `print_wrapped`."""

    def __init__(self, text: str | Text) -> None:
        self._text = text if isinstance(text, Text) else Text(text)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in _broken(self._text, options.max_width):
            line.overflow = "fold"
            yield line


def fit_columns(table: CommandTable, console: Console, reserve: int = 0) -> tuple[CommandTable, list[str]]:
    """Return a table with the columns that a console has room for, and the headings of the others.

    A file or a pipe has room for all.

    Args:
        reserve: characters that other columns of the table take.
    """
    width = console.width - reserve if console.is_terminal else UNBROKEN
    hidden = [column for column in table.columns if column.min_width > width]
    return table.without(*(column.name for column in hidden)), [column.heading or "" for column in hidden]


def cell(column: TableColumn, value: Any) -> str | Text:
    """Return a value of a column as text."""
    if isinstance(value, Text) or (isinstance(value, str) and column.kind not in TEXT_KINDS):
        return value
    if value is None:
        return "-"
    if column.shown is not None:
        return clean(column.shown(value))
    return (FORMATS if column.exact else FORMATS | ESTIMATES)[column.kind](value)


def op_text(name: str) -> Text:
    """Return an operation's name in its category's colour."""
    return Text(clean(name), style=op_style(name))


def op_style(name: str) -> str:
    """Return the style of an operation's name."""
    return f"bold {CATEGORY_STYLES.get(operation(name).category, 'white')}"


IN_CALL = ".call"
"""End of the names of statistics of the time in calls."""

HANGING = "    "
"""Before the words that have no room on the first line of an entry."""

MIN_WRAPPED = 40
"""Columns for words on a terminal that is too narrow for what comes before them."""

SEPARATORS = re.compile(r"[/,;:*)}\]](?=\w|[({\[])|(?<=\w)(?=[-+<](?=\w|\())")
"""Where a word that is longer than a line is broken: after parts of paths, lists, products; before signs."""

SITE_PIECES = re.compile(r"(?::+|/+)?[^:/\s]*\s*")
"""Parts of a call site between which a line of a table may end."""

MAX_EXPONENT = 1000
"""Bits of the largest integers that are written as floating-point numbers."""


def _huge(n: float) -> str | None:
    """Return the order of an integer that a floating-point number does not hold, else None."""
    if not isinstance(n, int) or n.bit_length() <= MAX_EXPONENT:
        return None
    return f"{'-' if n < 0 else ''}1e{int(n.bit_length() * log10(2))}"


def nbytes(n: float) -> str:
    """Return a number of bytes with a unit: 999 B, 1.23 MB (powers of 1000)."""
    if huge := _huge(n):
        return f"{huge} B"
    size, unit = float(n), 0
    while abs(size) >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} B" if unit == 0 else f"{size:.3g} {_BYTE_UNITS[unit]}"


def duration(ns: float) -> str:
    """Return a time with a unit, from nanoseconds: 1.5 µs, 36,000 s, 1.235e+06 s."""
    if abs(ns) >= 1e15:
        return f"{ns / 1e9:.4g} s"
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= factor * 0.9995:
            return f"{ns / factor:,.4g} {unit}" if abs(ns) < factor * 9999.5 else f"{ns / factor:,.0f} {unit}"
    return f"{ns:.3g} ns"


RESOLUTION = 0.05
"""Width of what is stored of a number that is no exact sum: totals of ranks (`LOAD_STEPS`), ends of bins."""


ROUNDING = 1e-9
"""Smaller absolute values are differences of equal numbers."""


def coarse(value: float) -> float:
    """Return a number of that resolution with its two or three digits: 157 for 156.6, 52 for 52.3.

    What rounding errors leave of equal numbers is 0.
    """
    if not isfinite(value):
        return value
    if abs(value) < ROUNDING:
        return 0.0
    return round(value, -floor(log10(abs(value) * RESOLUTION)))


def coarse_duration(ns: float) -> str:
    """Return a time from loads, bins, draws or a simulation with a unit; exact sums have `duration`."""
    return duration(coarse(ns))


def coarse_percent(part: float, total: float = 1) -> str:
    """Return a share as `percent`, from 10 % on with the digits of `coarse`."""
    return f"{coarse(100 * part / total):,g} %" if total and part >= 0.1 * total else percent(part, total)


def share_interval(low: float, high: float) -> str:
    """Return an interval of shares, such as `7.0 to 42 %`; one share where both ends are printed equal."""
    first, last = coarse_percent(low), coarse_percent(high)
    return last if first == last else f"{first.removesuffix(' %')} to {last}"


def duration_range(low_ns: float, high_ns: float) -> str:
    """Return an interval of times, such as `39 ms to 230 ms`; one time where both ends are printed equal."""
    return " to ".join(dict.fromkeys((coarse_duration(low_ns), coarse_duration(high_ns))))


def interval_ends(low_ns: float, high_ns: float) -> tuple[str, str]:
    """Return the ends of an interval of times as `coarse_duration`, with more digits if these are equal."""
    low, high = coarse_duration(low_ns), coarse_duration(high_ns)
    return (low, high) if low != high else (duration(low_ns), duration(high_ns))


def estimate(ns: float, low_ns: float, high_ns: float) -> str:
    """Return a time with its 95 % interval; the interval alone if it is too wide for a number."""
    if high_ns == inf:
        return f"{coarse_duration(low_ns)} or more"
    interval = " .. ".join(interval_ends(low_ns, high_ns))
    return f"{interval} (95 %)" if is_vague(low_ns, high_ns) else f"{coarse_duration(ns)} (95 %: {interval})"


def print_wrapped(console: Console, first: Text, following: Text, text: Text) -> None:
    """Print a text in as many lines as it needs on a terminal: it wraps between words.

    A word that is longer than a line wraps after a separator of paths, lists and formulas: `/`, `,`.

    Args:
        first: before the first line.
        following: before each other line.
    """
    if not console.is_terminal:
        console.print(first.copy().append_text(text), soft_wrap=True)
        return
    width = max(MIN_WRAPPED, console.width - max(first.cell_len, following.cell_len))
    for number_of_line, line in enumerate(_broken(text, width)):
        start = following if number_of_line else first
        console.print(start.copy().append_text(line), soft_wrap=True)


def _broken(text: Text, width: int) -> list[Text]:
    """Return the lines of a text of at most so many columns; a word without separators may be longer.

    Two spaces, which are between parameters, are a better place than one.
    """
    lines, plain, start = [], text.plain, 0
    while cell_len(plain[start:]) > width:
        reached = start + width + 1
        candidates = (plain.rfind("  ", start + width // 2, reached), plain.rfind(" ", start + 1, reached))
        end = next((place for place in candidates if place > start), -1)
        if end < 0:  # a long word
            within = [match.end() for match in SEPARATORS.finditer(plain, start + 1, reached - 1)]
            end = within[-1] if within else plain.find(" ", start + 1)
        if end < 0:
            break
        lines.append(text[start:end])
        start = end + len(plain[end:]) - len(plain[end:].lstrip(" "))
    return [*lines, text[start:]]


def print_more(console: Console, hidden: int) -> None:
    """Print how many rows are not shown, if any."""
    if hidden > 0:
        console.print(Text(f"… {hidden} more", style=DIM))


def more_columns(hidden: Iterable[str]) -> str:
    """Return the note that names the columns for which a terminal is too narrow."""
    return f"a wider terminal shows more columns: {', '.join(hidden)}"


def ratio_text(ratio: float) -> str:
    """Return a ratio with two digits after the point, a small one with two digits."""
    return f"{ratio:,.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def number(n: float) -> str:
    """Return a whole number with its thousands apart."""
    return _huge(n) or f"{n:,.0f}"


def amount(stat: str, value: float) -> str:
    """Return a value with the unit that the statistic's name ends in."""
    name = stat.removesuffix(IN_CALL)
    if name.endswith("_ns"):
        return duration(value)
    if name.endswith("_bytes"):
        return nbytes(value)
    return number(value) if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def percent(part: float, total: float = 1) -> str:
    """Return a share of a whole; nothing of nothing is "-"."""
    return f"{100 * part / total:.1f} %" if total else "-"


def short_site(frame: str) -> str:
    """Return a frame without directories, a long file name without its middle."""
    text = short_frame(frame)
    return text if len(text) <= _SITE_SHOWN else f"{text[: _SITE_SHOWN // 2]}…{text[-_SITE_SHOWN // 2 :]}"


class SiteText(Text):
    """A call site in a table: lines end before `:` and `/`; a name that is longer is cut in its middle."""

    def __init__(self, text: str) -> None:
        super().__init__(text, style=SITE)

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return the lines of a column of this width."""
        if cell_len(self.plain) <= width:
            return super().wrap(console, width, **options)
        lines = [""]
        for piece in SITE_PIECES.findall(self.plain):
            shown = _cut_middle(piece, width)
            if cell_len(lines[-1] + shown.rstrip()) <= width:
                lines[-1] += shown
            else:
                lines.append(shown)
        return Lines([Text(line.rstrip(), style=SITE, end="") for line in lines])


def _cut_middle(word: str, width: int) -> str:
    """Return a word of at most this width."""
    if cell_len(word.rstrip()) <= width:
        return word
    kept = max(width - 1, 0)
    return f"{word[: kept - kept // 2]}…{word[len(word) - kept // 2 :]}"


TEXT_KINDS: frozenset[CellKind] = frozenset({"text", "operation", "site", "place"})
"""Kinds of columns that are no numbers."""

FORMATS: dict[CellKind, Callable[[Any], str | Text]] = {
    "text": lambda value: clean(str(value)),
    "operation": op_text,
    "site": lambda frame: SiteText(short_site(frame)),
    "place": lambda place: SiteText(clean(place)),
    "count": number,
    "bytes": nbytes,
    "ns": duration,
    "s": lambda seconds: duration(seconds * 1e9),
    "ratio": ratio_text,
    "share": lambda share: percent(*share) if isinstance(share, tuple) else percent(share),
}
"""Kind of a column -> text of a value."""

ESTIMATES: dict[CellKind, Callable[[Any], str | Text]] = {
    "ns": coarse_duration,
    "share": lambda share: coarse_percent(*share) if isinstance(share, tuple) else coarse_percent(share),
}
"""Kinds of which estimates have another text."""
