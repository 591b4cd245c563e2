"""The page as a file: hostile names, what is embedded, size, and the parts that need no script."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from scalatrace.report.columns import STATS_OF_SITES
from scalatrace.report.page import scaling
from scalatrace.report.page.comparison import comparison_of
from scalatrace.report.page.extrapolated import Fit, ModelFacts
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.page import SCRIPTS, STYLES, page
from scalatrace.report.page.predictions import history
from scalatrace.report.scaling.runs import grade
from support.builder import Builder
from support.late_ranks import late
from support.reported import HOSTILE, embedded, hostile, million_stencil, recorded, ring, timed

MAX_BYTES = 3_000_000


class Reader(HTMLParser):
    """Collects tags, texts and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_hostile_names_stay_text() -> None:
    """Tags and attributes are those of a harmless trace."""
    quiet = ring(4)
    quiet.meta["extrapolated"] = "from 1"
    text = page([gather(hostile(), HOSTILE)])
    reader = Reader(text)
    names = {tag for tag, _ in reader.tags}
    assert names <= {tag for tag, _ in Reader(page([gather(quiet, "quiet")])).tags} | {"br", "code"}
    assert sum(tag == "script" for tag, _ in reader.tags) == 2
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    assert "<img" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    tree = embedded(text)["traces"][0]["tree"]
    assert tree["frames"][tree["sites"][0]["frames"][0]].startswith("</script><script>alert(1)</script>")
    assert any("alert(1)" in one for one in reader.texts)


def test_events_are_not_embedded() -> None:
    """A thousand times as many iterations make the page hardly larger."""
    small, large = (len(page([gather(ring(16, steps=n), "ring")])) for n in (1000, 1_000_000))
    assert abs(small - large) < 2_000


def test_nothing_is_loaded() -> None:
    text = page([gather(recorded()["p2p"], "p2p")])
    addresses = {
        value
        for _, attributes in Reader(text).tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data")
    }
    assert all(value is not None and (value.startswith("#") or value == "data:,") for value in addresses)
    policy = next(a["content"] for tag, a in Reader(text).tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_all_assets_are_in_the_page() -> None:
    from importlib.resources import files

    folder = files("scalatrace.report.page") / "assets"
    kept = {path.name for path in folder.iterdir()}
    assert {f"{name}.js" for name in {*SCRIPTS, *history.SCRIPTS, *scaling.SCRIPTS}} == {
        name for name in kept if name.endswith(".js")
    }
    assert {f"{name}.css" for name in STYLES} == {name for name in kept if name.endswith(".css")}


@pytest.mark.parametrize("name", sorted(recorded()))
def test_pages_of_recorded_traces(name: str) -> None:
    found = gather(recorded()[name], name)
    text = page([found])
    assert len(text) < MAX_BYTES
    data = embedded(text)["traces"][0]
    assert data["tree"]["root"]["calls"] == found.tree.root.calls
    assert len(data["timeline"]["lines"]) == len(found.timeline.lines)
    texts = "".join(Reader(text).texts)
    assert f"{found.summary.events:,}" in texts
    headings = {column.page_heading or column.heading for column in STATS_OF_SITES.columns}
    assert headings <= set(Reader(text).texts)


def test_a_million_ranks() -> None:
    assert len(page([gather(million_stencil(), "big")])) < MAX_BYTES / 10


def test_a_trace_without_calls_says_so() -> None:
    aggregates = gather(Builder(4).of(), "empty")
    assert [entry.title for entry in aggregates.advice] == ["No calls were recorded"]
    text = page([aggregates])
    assert "No calls were recorded." in text
    assert "Nothing stands out" not in text


def test_two_traces_and_their_differences() -> None:
    left, right = ring(4), ring(6)
    sides = [gather(left, "left.st"), gather(right, "right.st")]
    text = page(sides, comparison_of(left, right, (sides[0].summary, sides[1].summary)))
    assert len(embedded(text)["traces"]) == 2
    texts = "".join(Reader(text).texts)
    assert "Differences" in texts
    assert texts.count("right.st") > 3


def test_links_lead_to_the_part_of_their_own_trace() -> None:
    traces = late([0, 0, 0, 32], 1000), timed(ring(4))
    attributes = [attributes for _, attributes in Reader(page([gather(one, "x") for one in traces])).tags]
    ids = [each["id"] for each in attributes if "id" in each]
    assert len(ids) == len(set(ids))
    links = [link[1:] for each in attributes if (link := each.get("href") or "").startswith("#")]
    assert set(links) <= set(ids)
    assert {"advice-0", "costs-0", "summary-0", "costs-1", "patterns-1"} <= set(links)


def test_the_summary_names_the_pattern_with_most_time() -> None:
    texts = "".join(Reader(page([gather(timed(ring(4)), "ring")])).texts)
    assert (
        "Pattern with most time: ring, distance 1, one way; half of the bytes in messages of 800 B or more"
        in texts
    )


def test_efficiencies_have_the_grades_of_pop() -> None:
    """Where ranks shared cores they have none: these are lower than with a core for each rank."""
    trace = late([0, 0, 16, 0], 30_000)
    text = page([gather(trace, "a.st")])
    (value, shown) = re.search(r"parallel efficiency</dt><dd class=\"(\w+)\">([\d.]+) %", text).groups()  # type: ignore[union-attr]
    assert value == grade(float(shown) / 100)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    assert re.search(r"parallel efficiency</dt><dd>", page([gather(trace, "a.st")]))


def test_runs_to_record_are_only_those_of_extrapolate() -> None:
    """The page tries no run, so it cannot know which one helps; `extrapolate --suggest` does."""
    folder = files("scalatrace.report.page")
    sources = [path for path in Path(str(folder)).rglob("*") if path.suffix in (".py", ".html", ".js")]
    assert sources
    own = re.compile(r"\b(record|add) (an?|one|another|some|more|larger) (\w+ )?(run|trace|size)s?\b", re.I)
    proposed = {path.name: own.findall(path.read_text()) for path in sources}
    assert {name: texts for name, texts in proposed.items() if texts} == {}


def test_extrapolated_traces_show_formulas_and_fits() -> None:
    trace = ring(8)
    trace.meta["extrapolated"] = "from 2, 3, 4 ranks to 8"
    fit = Fit(
        "Send", "ring.py:4:turn", "comm_ns", "12 + 3 * p", 0.1, 0.95, ((2, 18.0),), ((2, 18.0, 17.0, 19.0),)
    )
    options = PageOptions(model=ModelFacts(("Send dest = rank + 1",), (fit,)))
    text = page([gather(trace, "big", options=options)])
    texts = "".join(Reader(text).texts)
    assert "Extrapolated from 2, 3, 4 ranks to 8." in texts
    assert "Send dest = rank + 1" in texts
    assert embedded(text)["traces"][0]["fits"][0]["formula"] == "12 + 3 * p"


def test_aggregates_are_plain_data() -> None:
    json.dumps(asdict(gather(ring(4), "ring")), allow_nan=False)
