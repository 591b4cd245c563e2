"""The HTML page: aggregates embedded as JSON, with the template, style and scripts of `assets/`.

The page asks nothing of any server. Texts of a trace are hostile: jinja2 escapes those in the HTML, and
scripts only ever set them as text. A content security policy allows the page's own style and scripts only.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from json import dumps
from math import isfinite
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from scalatrace.escapes import clean
from scalatrace.report.columns import DIFFERENCES_OF_SITES, STATS_OF_SITES, TIME_DIFFERENCES
from scalatrace.report.page.comparison import Comparison
from scalatrace.report.page.filters import PAGE_FILTERS
from scalatrace.report.page.gather import TraceAggregates
from scalatrace.report.page.overview.summary import stats_rows
from scalatrace.report.page.predictions.simulated import predicted_rows
from scalatrace.report.page.timeline.rows import UNNUMBERED, Bar
from scalatrace.report.predictions.columns import HOT_LINKS, PREDICTED_SITES
from scalatrace.report.scaling.comparison import EFFICIENCIES
from scalatrace.report.style import (
    TEXT_KINDS,
)
from scalatrace.stats.interval_width import is_vague

__all__ = ["page", "rendered"]

SCRIPTS = (
    "dom", "format", "tooltip", "theme", "tree", "flame", "glyphs", "repeats", "timeline", "matrix", "grid",
    "charts", "causes", "fits", "lines", "prediction", "main",
)  # fmt: skip
STYLES = ("base", "sections")
ASSETS = "scalatrace.report.page"
FOLDER = "assets"

IN_HTML = ("summary", "basis", "advice", "small", "waits", "computing", "notes", "provenance")
"""Parts that the template writes, so that the page has them without scripts; some the scripts need, too."""


MAX_BITS, LARGEST = 1000, 10**301
"""Bits of the largest integers that scripts read as numbers, and what stands for larger ones."""

MIN_ROUNDED = 1e4
"""Floating-point numbers that need no fraction."""


def page(traces: Sequence[TraceAggregates], comparison: Comparison | None = None) -> str:
    """Return the page of one or two traces."""
    data = {"traces": [_embed_data(asdict(aggregates)) for aggregates in traces]}
    values = {
        "traces": [asdict(aggregates) for aggregates in traces],
        "comparison": None if comparison is None else asdict(comparison),
        "drawn_s": min(map(_drawn_s, traces)),
        "tables": {
            "stats": STATS_OF_SITES,
            "predicted": PREDICTED_SITES,
            "links": HOT_LINKS,
            "differences": DIFFERENCES_OF_SITES,
            "times": TIME_DIFFERENCES.headed(left_ns="A", right_ns="B"),
        },
        "stats_rows": stats_rows,
        "predicted_rows": predicted_rows,
    }
    return rendered("page.html", SCRIPTS, data, values)


def _drawn_s(aggregates: TraceAggregates) -> float:
    """Return the length of the time line in seconds, or that of the run where a part of it is drawn."""
    rows = aggregates.timeline.lines
    is_whole = rows and not any(row.cut for row in rows)
    return (max(row.end_ns for row in rows) if is_whole else aggregates.summary.run_time_ns or 1e9) / 1e9


def rendered(
    template: str, scripts: Sequence[str], data: Mapping[str, Any], values: Mapping[str, Any]
) -> str:
    """Return a page with everything in it.

    Args:
        template: file of `assets/`.
        scripts: names of its scripts, in order.
        data: embedded for the scripts, as JSON.
        values: for the template.
    """
    environment = Environment(
        loader=PackageLoader(ASSETS, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= PAGE_FILTERS
    environment.tests["numeric"] = lambda column: column.kind not in TEXT_KINDS
    environment.tests["vague"] = lambda interval: is_vague(interval["low_ns"], interval["high_ns"])
    script, style = _inline_files(scripts, "js"), _inline_files(STYLES, "css")
    return environment.get_template(template).render(
        **_clean_texts(values),
        efficiency_lines=EFFICIENCIES,
        script=Markup(script),  # our own files
        style=Markup(style),
        policy=f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        data=htmlsafe_json_dumps(_clean_texts(data), dumps=dumps, separators=(",", ":"), allow_nan=False),
    )


def _embed_data(aggregates: dict[str, Any]) -> dict[str, Any]:
    """What the scripts draw; tables of the template are left out."""
    facts = {name: part for name, part in aggregates.items() if name not in IN_HTML}
    simulated = aggregates["basis"]["simulated"]
    facts["ranks"] = aggregates["prediction" if simulated else "summary"]["ranks"]
    facts["simulated"] = simulated
    rows = aggregates["timeline"]["lines"]
    facts["timeline"] = {
        **aggregates["timeline"],
        "lines": [{**row, "items": _embed_items(row["items"])} for row in rows],
    }
    facts["tree"] = _embed_tree(aggregates["tree"])
    facts["runTime"] = aggregates["summary"]["run_time_ns"]
    facts["operations"] = aggregates["summary"]["operations"]
    if aggregates["causes"]:
        facts["causes"] = {name: aggregates["causes"][name] for name in ("by_rank", "pairs")}
    facts["fits"] = aggregates["provenance"]["fits"] if aggregates["provenance"] else []
    if aggregates["prediction"]:
        facts["prediction"] = {
            name: aggregates["prediction"][name] for name in ("time_ns", "path", "curves", "operations")
        }
    return facts


def _embed_tree(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree with each frame once: call sites have their numbers, since most frames are in many of them."""
    numbers: dict[str, int] = {}
    sites = [
        {**site, "frames": [numbers.setdefault(frame, len(numbers)) for frame in site["frames"]]}
        for site in tree["sites"]
    ]
    return {**tree, "sites": sites, "frames": list(numbers)}


def _embed_items(items: Iterable[Any]) -> list[Any]:
    """Rows of the time line; calls without messages, which are most of some pages, lack the ends of these."""
    return [
        {**item, "items": _embed_items(item["items"])} if isinstance(item, dict) else _embed_bar(item)
        for item in items
    ]


def _embed_bar(bar: Bar) -> tuple[Any, ...]:
    return bar[:-2] if bar.sent == bar.received == UNNUMBERED else bar


def _clean_texts(value: Any) -> Any:
    """Escape control characters, also those that change the direction of a text, in all texts."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _clean_texts(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_texts(part) for part in value]
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return LARGEST
    if isinstance(value, float) and not isfinite(value):
        return None
    return round(value) if isinstance(value, float) and abs(value) >= MIN_ROUNDED else value


def _inline_files(names: Sequence[str], suffix: str) -> str:
    folder = files(ASSETS) / FOLDER
    return "\n".join((folder / f"{name}.{suffix}").read_text("utf-8") for name in names)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
