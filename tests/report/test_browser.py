"""Pages in a headless browser: no error, no request, drawings that answer to pointer and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from scalatrace.report.page.comparison import comparison_of
from scalatrace.report.page.extrapolated import Fit
from scalatrace.report.page.gather import Options, TraceAggregates, gather
from scalatrace.report.page.page import page
from scalatrace.trace.model.trace import Trace
from support.browser import Opened, missing, opened, started
from support.reported import HOSTILE, hostile, million_stencil, recorded, ring

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(missing()), reason=missing())]


View = Callable[..., AbstractContextManager[Opened]]
"""Opens a page; options as of `support.browser.opened`."""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with started() as result:
        yield result


@pytest.fixture
def view_of(browser: object) -> View:
    return partial(opened, browser)


def made(tmp_path: Path, *traces: Trace, name: str = "trace.st", options: Options | None = None) -> Path:
    sides: list[TraceAggregates] = [gather(trace, name, options=options) for trace in traces]
    both = None
    if len(traces) == 2:
        both = comparison_of(traces[0], traces[1], (sides[0].summary, sides[1].summary))
    path = tmp_path / "report.html"
    path.write_text(page(sides, both))
    return path


def clean(view: Opened) -> None:
    """Nothing in the console, nothing asked for."""
    assert view.messages == []
    assert view.requests == []


SIZES: list[Callable[[], Trace]] = [lambda: ring(4), lambda: million_stencil(8), million_stencil]


@pytest.mark.parametrize("trace", SIZES, ids=["4", "64", "1048576"])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_open(view_of: View, tmp_path: Path, trace: Callable[[], Trace], dark: bool) -> None:
    with view_of(made(tmp_path, trace()), dark=dark) as view:
        clean(view)
        assert view.page.locator("section").count() == 8
        for section in ("flame", "patterns", "timeline", "matrix", "grid"):
            assert view.page.locator(f"#{section} svg, #{section} canvas").count(), section


@pytest.mark.parametrize("name", sorted(recorded()))
def test_pages_of_recorded_traces(view_of: View, tmp_path: Path, name: str) -> None:
    with view_of(made(tmp_path, recorded()[name])) as view:
        clean(view)


def test_tree(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        rows = view.page.locator("#program .row")
        view.page.get_by_role("button", name="Close all").click()
        before = rows.locator("visible=true").count()
        loop = view.page.locator("#program .row", has_text="loop of 3")
        loop.focus()
        view.page.keyboard.press("ArrowRight")
        assert loop.get_attribute("aria-expanded") == "true"
        assert rows.locator("visible=true").count() == before + 3
        view.page.keyboard.press("ArrowDown")
        view.page.keyboard.press("ArrowDown")
        view.page.keyboard.press("Enter")
        about = view.text("#program .more-about")
        assert "dest=self+1 mod size" in about
        assert "ring.py:4:turn" in about
        view.page.keyboard.press("ArrowUp")
        view.page.keyboard.press("ArrowUp")
        view.page.keyboard.press("ArrowLeft")
        assert loop.get_attribute("aria-expanded") == "false"
        clean(view)


@pytest.mark.parametrize(
    ("text", "count"),
    [("send", 1), ("ring.py:9", 1), ("ring.py", 4), ("rank:3", 4), ("rank:9", 0), ("nothing", 0)],
)
def test_search(view_of: View, tmp_path: Path, text: str, count: int) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        view.page.get_by_role("searchbox").fill(text)
        assert view.page.locator("#program .row.hit").count() == count
        assert view.text("#program .controls .dim") == f"{count} found"


def test_search_of_ranks_in_notation(view_of: View, tmp_path: Path) -> None:
    """Rank 512 has a neighbour to the right in 8 x 8 ranks or not: 7 has none."""
    with view_of(made(tmp_path, million_stencil(8))) as view:
        found = {}
        for rank in (0, 7, 9, 63):
            view.page.get_by_role("searchbox").fill(f"rank:{rank}")
            found[rank] = view.page.locator("#program .row.hit").count()
        assert found == {0: 3, 7: 3, 9: 5, 63: 3}  # sends, and the barrier


def test_advice_leads_to_the_tree(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        view.page.locator(".advice .goto").first.click()
        assert view.page.locator("#program .row:focus").count() == 1
        assert view.page.locator("#program .more-about").count() == 1
        clean(view)


def test_flame_graph_zooms(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        boxes = view.page.locator(".flame g")
        whole = boxes.count()
        assert whole == 6
        boxes.nth(1).focus()
        assert "of all" in view.text("#tooltip")
        view.page.keyboard.press("Enter")
        assert boxes.count() == 4
        view.page.get_by_role("button", name="Back").click()
        assert boxes.count() == whole
        clean(view)


def test_patterns(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, million_stencil())) as view:
        assert view.page.locator(".card[data-kind=halo] svg").count() == 1
        assert "2-D, 4 neighbours" in view.text(".card")
    with view_of(made(tmp_path, ring(4))) as view:
        assert view.page.locator(".card[data-kind=ring]").count() == 1


def test_cells_of_the_matrix_answer(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        canvas = view.page.locator("#matrix canvas")
        cell = 460 / 4
        canvas.hover(position={"x": 70 + 1.5 * cell, "y": 26 + 0.5 * cell})
        assert view.text("#tooltip").split("\n") == ["from rank 0 to rank 1", "10 messages, 8 kB"]
        canvas.hover(position={"x": 70 + 2.5 * cell, "y": 26 + 0.5 * cell})
        assert view.text("#tooltip").endswith("no messages")
        canvas.focus()
        view.page.keyboard.press("ArrowDown")
        view.page.keyboard.press("ArrowRight")
        assert view.text("#matrix .detail") == "from rank 1 to rank 2; 10 messages, 8 kB"
        clean(view)


def test_blocks_of_a_million_ranks_answer(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, million_stencil())) as view:
        assert "128 × 128 blocks of 8,192 ranks" in view.text("#matrix .controls")
        view.page.locator("#matrix canvas").hover(position={"x": 72, "y": 28})
        assert "from rank 0–8,191 to rank 0–8,191" in view.text("#tooltip")
        assert "+1,024" in view.text("#matrix table")
        assert "1,022–" not in view.text("#grid p")
        assert "9 groups" in view.text("#grid h3")
        clean(view)


def test_calls_of_the_time_line_answer(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        canvas = view.page.locator("#timeline canvas")
        canvas.focus()
        view.page.keyboard.press("ArrowRight")
        assert view.text("#timeline .detail").startswith("rank 0: Irecv; peer 3, 800 B; from 1 µs, 3 µs long")
        view.page.keyboard.press("ArrowRight")
        assert view.text("#timeline .detail").startswith("rank 0: Send; peer 1, 800 B")
        view.page.keyboard.press("ArrowDown")
        assert view.text("#timeline .detail").startswith("rank 1: Send; peer 2, 800 B")
        box = canvas.bounding_box()
        canvas.hover(position={"x": 90, "y": 30})
        assert view.text("#tooltip").startswith("rank 0: Irecv")
        before = view.text("#timeline .controls .dim")
        view.page.get_by_role("button", name="Zoom in").click()
        assert view.text("#timeline .controls .dim") != before
        view.page.get_by_role("button", name="Show all").click()
        assert box is not None
        clean(view)


def test_histograms(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, recorded()["p2p"])) as view:
        assert view.page.locator("#histograms svg").count() == 4
        choice = view.page.get_by_label("Call site", exact=True)
        assert choice.locator("option").count() > 3
        choice.select_option(index=1)
        view.page.get_by_label("Height of the bars").select_option("total_ns")
        view.page.locator("#histograms rect").first.focus()
        assert "messages" in view.text("#tooltip")
        clean(view)


def test_hostile_names_stay_text(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, hostile(), name=HOSTILE)) as view:
        clean(view)
        assert view.page.locator("img").count() == 0
        view.page.get_by_role("button", name="Open all").click()
        for row in view.page.locator("#program .row").all():
            row.click()
        view.page.locator(".flame g").nth(2).hover()
        canvas = view.page.locator("#timeline canvas")
        canvas.focus()
        view.page.keyboard.press("ArrowRight")
        assert "alert(1)" in view.text("#program")
        assert view.page.locator("img").count() == 0
        assert view.page.locator("script").count() == 2
        clean(view)


def test_two_traces_side_by_side(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4), ring(6))) as view:
        assert view.page.locator("#program .tree").count() == 2
        left, right = (view.page.locator("#matrix .pane").nth(i).bounding_box() for i in (0, 1))
        assert left is not None
        assert right is not None
        assert left["y"] == right["y"]
        assert "1.50" in view.text("#differences")
        clean(view)


def test_extrapolated_traces(view_of: View, tmp_path: Path) -> None:
    trace = ring(4)
    trace.meta["extrapolated"] = "from 2, 3 ranks to 4"
    curve = ((2, 18.0, 17.0, 19.0), (4, 24.0, 20.0, 29.0))
    fit = Fit("Send", "ring.py:4:turn", "comm_ns", "12 + 3 * p", 0.1, 0.95, ((2, 18.0), (3, 21.0)), curve)
    with view_of(made(tmp_path, trace, options=Options(fits=(fit,)))) as view:
        assert view.page.locator("#extrapolation circle").count() == 2
        view.page.locator("#extrapolation circle").first.focus()
        assert view.text("#tooltip") == "2 ranks: 18 ns"
        clean(view)


def test_labels_and_themes(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        unnamed = view.page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, canvas, svg[role]")]
            .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML)"""
        )
        assert unnamed == []
        colour = "getComputedStyle(document.body).backgroundColor"
        before = view.page.evaluate(colour)
        view.page.get_by_role("button", name="Dark or light").click()
        assert view.page.evaluate(colour) != before
        assert view.page.evaluate(CONTRAST) >= 4.5
        view.page.get_by_role("button", name="Dark or light").click()
        assert view.page.evaluate(CONTRAST) >= 4.5
        clean(view)


CONTRAST = """() => {
  const light = (name) => {
    const linear = (x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const channels = rgb(color(name)).map((x) => linear(x / 255));
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2];
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const names = ["text", "dim", "accent", "more", "less"];
  return Math.min(...names.flatMap((name) => [ratio(name, "bg"), ratio(name, "panel")]));
}"""
"""The least contrast of the colours of texts."""


def test_narrow_windows_do_not_scroll_sideways(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4)), width=800) as view:
        wide = view.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 800
        clean(view)
