"""Pages in a headless browser: no error, no request, drawings that answer to pointer and keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

import pytest

from scalatrace.cli.ideal import with_ideal_run
from scalatrace.cli.simulation import Simulated
from scalatrace.executor.ideal_run import IdealRun, RootCause
from scalatrace.predict.platform import read_platform
from scalatrace.report.costs.efficiency import RankBin
from scalatrace.report.page.comparison import comparison_of
from scalatrace.report.page.extrapolated import Fit, ModelFacts
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.report.page.page import page
from scalatrace.report.page.predictions.history import history_page
from scalatrace.report.page.predictions.simulated import PagePrediction
from scalatrace.report.page.scaling import scaling_page
from scalatrace.report.page.timeline.rows import TimelineWindow
from scalatrace.report.scaling.comparison import scaling_of
from scalatrace.report.style import coarse_duration, coarse_percent, duration, nbytes
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import PredStats, Sequence, node_numbers
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.browser import Opened, missing, opened, started
from support.builder import DOUBLE, Builder, Comm, To
from support.late_ranks import STRONG, late, times
from support.lowered import on
from support.reported import HOSTILE, hostile, million_stencil, recorded, ring, star, timed
from support.small_messages import exchange, measured

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


def made(tmp_path: Path, *traces: Trace, name: str = "trace.st", options: PageOptions | None = None) -> Path:
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
        assert view.page.locator("section").count() == 10
        for section in ("flame", "patterns", "timeline", "matrix", "grid"):
            assert view.page.locator(f"#{section} svg, #{section} canvas").count(), section


@pytest.mark.parametrize("name", sorted(recorded()))
def test_pages_of_recorded_traces(view_of: View, tmp_path: Path, name: str) -> None:
    with view_of(made(tmp_path, recorded()[name])) as view:
        clean(view)


def test_many_small_messages_are_the_first_sentence(view_of: View, tmp_path: Path) -> None:
    """Shared cores are a note with the bar, and no advice."""
    trace = measured(exchange(500))
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    with view_of(made(tmp_path, trace)) as view:
        sentence = (
            "67 % of the time goes to 500 small messages of 8 B per rank in each of 10 iterations at a.py:7."
        )
        assert view.text("#summary .headline") == sentence
        assert view.text("#advice .advice li").startswith("Many small messages possible saving 67 %")
        assert view.page.get_by_text("4 ranks shared 2 cores of a host").count() == 1
        assert view.page.locator("#summary .shared-cores").count() == 1
        view.page.locator("#advice .advice li").first.get_by_role("button").click()
        assert "Send" in view.text("#program .row:focus")
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


SEARCHES = {
    "send": 1, "ring.py:9": 1, "ring.py": 4, "rank:3": 4, "rank:9": 0, "nothing": 0, "send rank:3": 1,
    "rank:3 ring.py": 4, "send rank:9": 0, "Rank:9": 0, "rank:1 rank:9": 0, "RANK:1 rank:3": 4,
    "send wait": 0,
}  # fmt: skip
"""What is searched, and the number of calls that have it."""


def test_search(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        search = view.page.get_by_role("searchbox", name="Search the program")
        rows = view.page.locator("#program .row")
        for text, count in SEARCHES.items():
            search.fill(text)
            assert view.page.locator("#program .row.hit").count() == count, text
            shown = view.text("#program .controls .dim")
            assert shown.split(":")[0] == f"{count} found", text
            assert ("rank" in shown) == (count > 0), text
            shown_rows = rows.locator("visible=true").count()
            assert (count <= shown_rows <= count + 2) if count else shown_rows == 0, text
            search.fill("")
            assert rows.locator("visible=true").count() == rows.count(), text


def test_buttons_during_a_search(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        search, rows = (
            view.page.get_by_role("searchbox", name="Search the program"),
            view.page.locator("#program .row"),
        )
        search.fill("send")
        view.page.get_by_role("button", name="Close all").first.click()
        view.page.get_by_role("button", name="Open all").first.click()
        assert rows.locator("visible=true").count() == 3  # the call, and what is around it
        view.page.locator(".goto").first.click()
        assert search.input_value() == ""
        assert view.page.locator("#program .row:focus").locator("visible=true").count() == 1
        assert view.page.locator("#program .more-about").locator("visible=true").count() == 1


def test_search_of_ranks_in_notation(view_of: View, tmp_path: Path) -> None:
    """Rank 512 has a neighbour to the right in 8 x 8 ranks or not: 7 has none."""
    with view_of(made(tmp_path, million_stencil(8))) as view:
        found = {}
        for rank in (0, 7, 9, 63):
            view.page.get_by_role("searchbox", name="Search the program").fill(f"rank:{rank}")
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
        call = next(box for box in boxes.all() if "Send" in (box.get_attribute("aria-label") or ""))
        times = re.search(
            r"([\d.]+) µs in MPI, ([\d.]+) µs computation", call.get_attribute("aria-label") or ""
        )
        assert times
        before, inside = (part.bounding_box() for part in call.locator("rect").all())
        assert before is not None
        assert inside is not None
        in_mpi, computation = map(float, times.groups())
        assert inside["width"] / before["width"] == pytest.approx(in_mpi / computation, rel=0.05)
        assert inside["height"] == before["height"]
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
        rows = view.page.locator(".card[data-kind=ring] tbody tr").all_inner_texts()
        assert [row.split("\t") for row in rows] == [
            [
                "Irecv",
                "ring.py:3:turn",
                "0-3",
                "from own rank -1 modulo 4",
                "40",
                "buffer of 800 B per message",
            ],
            ["Send", "ring.py:4:turn", "0-3", "to own rank +1 modulo 4", "40", "800 B per message"],
        ]
        view.page.locator(".card[data-kind=ring] button.link").last.click()
        assert "ring.py:4:turn" in view.text("#program .more-about")
        clean(view)


def test_differences_by_rank(view_of: View, tmp_path: Path) -> None:
    left, right = late([0, 0, 0, 0], 30_000), late([0, 0, 16, 0], 30_000)
    with view_of(made(tmp_path, left, right)) as view:
        bars = view.page.locator("#differences .rank-view g")
        texts = [bar.get_attribute("aria-label") for bar in bars.all()]
        assert [text.split("\n")[0].split(",")[0] for text in texts] == [f"rank {rank}" for rank in range(4)]
        heights = [bar.locator("rect").first.bounding_box()["height"] for bar in bars.all()]
        assert heights[2] == max(heights) > 4 * heights[0]
        clean(view)
    with view_of(made(tmp_path, ring(4), ring(8))) as view:
        assert view.page.locator("#differences .rank-view g").count() == 0


def test_equal_loops_share_a_card(view_of: View, tmp_path: Path) -> None:
    b = Builder(4)
    right, left = (To(Encoding.MODULO, Vec(step)) for step in (1, 3))

    def shift(times: int) -> Sequence:
        calls = [
            b.event("Send", at=("/a/x.c:9:shift",), count=1, datatype=DOUBLE, dest=right, tag=1, comm=Comm()),
            b.event(
                "Recv", at=("/a/x.c:10:shift",), count=1, datatype=DOUBLE, source=left, tag=1, comm=Comm()
            ),
        ]
        return b.loop(times, *calls)

    trace = timed(b.of(shift(20), b.event("Barrier", at=("/a/x.c:2:main",), comm=Comm()), shift(10)))
    with view_of(made(tmp_path, trace)) as view:
        card = view.page.locator(".card", has_text="equal loop")
        assert card.count() == 1
        assert (
            "20 × loop of 2 calls and an equal loop elsewhere, 30 iterations in all of them"
            in card.inner_text()
        )
        assert "120 messages" in card.inner_text()
        clean(view)


def test_drawings_of_patterns_have_the_real_directions(view_of: View, tmp_path: Path) -> None:
    """A chain towards lower ranks, and one towards higher ones; 2 x 2 ranks, each with two neighbours."""
    ends = []
    for step in (-1, 1):
        b = Builder(4)
        ranks = RankList([0, 1, 2] if step > 0 else [1, 2, 3])
        send = b.event("Send", Groups([(ranks, Vec(1))]), count=1, datatype=DOUBLE, tag=1,
                       dest=To(Encoding.RELATIVE, Vec(step)), comm=Comm())  # fmt: skip
        with view_of(made(tmp_path, b.of(b.loop(3, send)))) as view:
            lines = view.page.locator(".card .glyph .link").all()
            assert len(lines) == 2
            ends.append({float(line.get_attribute("x2")) > float(line.get_attribute("x1")) for line in lines})
            clean(view)
    assert ends == [{False}, {True}]
    with view_of(made(tmp_path, million_stencil(2))) as view:
        assert view.page.locator(".card .glyph .node").count() == 4
        assert view.page.locator(".card .glyph .link").count() == 8


def test_cells_of_the_matrix_answer(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        canvas = view.page.locator("#matrix canvas")
        cell = 460 / 4
        canvas.hover(position={"x": 70 + 1.5 * cell, "y": 26 + 0.5 * cell})
        assert view.text("#tooltip").split("\n") == [
            "from rank 0 to rank 1",
            "point to point: 10 messages, 8 kB",
        ]
        canvas.hover(position={"x": 70 + 2.5 * cell, "y": 26 + 0.5 * cell})
        assert view.text("#tooltip").endswith("no messages")
        canvas.focus()
        view.page.keyboard.press("ArrowDown")
        view.page.keyboard.press("ArrowRight")
        assert view.text("#matrix .detail") == "from rank 1 to rank 2; point to point: 10 messages, 8 kB"
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
        assert view.text("#timeline .detail").startswith("rank 0: Irecv; peer 3, 800 B; from 0 ns, 3 µs long")
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
        view.page.get_by_role("button", name="Show all", exact=True).click()
        assert box is not None
        clean(view)


def test_the_time_line_is_searched_and_zoomed(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        box = view.page.locator("#timeline input[type=search]")
        box.fill("send rank:2")
        assert view.page.locator("#timeline .controls .dim").nth(2).inner_text() == "10 calls"
        box.press("Enter")
        assert view.text("#timeline .detail").startswith("rank 2: Send")
        box.fill("ring.py:9")
        assert view.page.locator("#timeline .controls .dim").nth(2).inner_text() == "4 calls"
        box.fill("")
        view.page.get_by_role("button", name="Show all", exact=True).click()
        before = view.text("#timeline .controls .dim")
        canvas = view.page.locator("#timeline canvas").bounding_box()
        assert canvas is not None
        view.page.mouse.move(canvas["x"] + 200, canvas["y"] + 8)
        view.page.mouse.down()
        view.page.mouse.move(canvas["x"] + 400, canvas["y"] + 8)
        view.page.mouse.up()
        assert view.text("#timeline .controls .dim") != before
        clean(view)


def test_loops_of_a_long_run_open_where_one_zooms(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4, steps=100_000))) as view:
        canvas, detail = view.page.locator("#timeline canvas"), "#timeline .detail"
        box = view.page.locator("#timeline input[type=search]")
        box.fill("send rank:2")
        assert view.page.locator("#timeline .controls .dim").nth(2).inner_text() == "100,000 calls"
        box.press("Enter")
        box.press("Enter")
        assert view.text(detail).startswith(
            "rank 2: Send; peer 3, 800 B; from 16 µs, 3 µs long; iteration 2 of 100,000; "
        )
        box.fill("")
        view.page.get_by_role("button", name="Show all", exact=True).click()
        canvas.hover(position={"x": 600, "y": 30})
        assert view.text("#tooltip").startswith(
            "rank 0: iterations 2 to 100,000 of 100,000, 3 calls each\neach 12 µs: "
        )
        assert "completion 25.0 %" in view.text("#tooltip")
        canvas.focus()
        for _ in range(15):
            view.page.keyboard.press("+")
        view.page.keyboard.press("ArrowRight")
        text = view.text(detail)
        assert "of 100,000; ring.py:" in text
        repetition = int(text.split("iteration ")[1].split(" of")[0].replace(",", ""))
        assert 49_000 < repetition < 51_000
        starts = []
        for key in ("ArrowLeft", "ArrowRight", "ArrowRight"):
            view.page.keyboard.press(key)
            starts.append(view.text(detail))
        assert starts[1] == text
        assert len(set(starts)) == 3
        clean(view)


def test_calls_that_are_not_in_the_page_are_outlined(view_of: View, tmp_path: Path) -> None:
    """Bars show how time is divided, and a note names the command that shows the calls."""
    options = PageOptions(window=TimelineWindow(0.0001, 0.0002))
    with view_of(made(tmp_path, ring(4, steps=100), options=options)) as view:
        canvas, note = view.page.locator("#timeline canvas"), "#timeline .note"
        assert view.text(note).endswith("The page has the calls of this window. " + BEYOND)
        view.page.get_by_role("button", name="Show all", exact=True).click()
        assert "Zoom in for the command that shows them." in view.text(note)
        canvas.hover(position={"x": 600, "y": 30})
        assert view.text("#tooltip").startswith("rank 0: from ")
        shares = view.text("#tooltip").split("\n")[1]
        assert 99 < sum(float(part.split()[-2]) for part in shares.split(", ")) < 101
        assert view.text("#tooltip").endswith("the calls are not in this page")
        view.page.evaluate("() => { const v = timeLines[0]; v.from = 500000; v.to = 540000; v.draw(); }")
        assert view.text(note).endswith("scalatrace report trace.st --window 0.0005000-0.0005400")
        canvas.focus()
        view.page.keyboard.press("ArrowDown")
        assert view.text("#timeline .detail").startswith("rank 1: from ")
        clean(view)


BEYOND = "Further on, bars show how time is divided: move there for the command that shows the calls."


def test_the_time_line_begins_on_the_first_screen(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        view.page.set_viewport_size({"width": 1280, "height": 900})
        box = view.page.locator("#timeline canvas").bounding_box()
        chart = view.page.locator("#summary .rank-view").bounding_box()
        assert box is not None
        assert chart is not None
        assert box["y"] < 850
        assert chart["x"] > 640  # beside the sentences
        clean(view)


def test_two_time_lines_have_one_scale(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4), ring(4, steps=40))) as view:
        lengths = "() => timeLines.map((view) => Math.round(view.to - view.from))"
        for action in ("Show all", "Zoom in", "Zoom in", "Later", "Zoom out"):
            view.page.get_by_role("button", name=action, exact=True).first.click()
            first, second = view.page.evaluate(lengths)
            assert first == second
        clean(view)


DRAWN = """() => {
  const view = timeLines[0];
  const { drawn, from, to, first, last, data } = view;
  return {...drawn, from, to, first, last, iteration: data.iteration_ns};
}"""
"""The messages that a time line draws, and its window, in ns."""


def test_a_whole_iteration_is_shown_first(view_of: View, tmp_path: Path) -> None:
    """40 sends and a barrier in an iteration, of which there are 2, 50 and 5,000."""
    for steps in (2, 50, 5000):
        b = Builder(2)
        sends = [
            b.event("Send", at=(f"a.py:{line}:f",), count=1, datatype=DOUBLE, tag=1,
                    dest=To(Encoding.MODULO, Vec(1)), comm=Comm()) for line in range(40)
        ]  # fmt: skip
        trace = timed(b.of(b.loop(steps, *sends, b.event("Barrier", at=("a.py:99:f",), comm=Comm()))))
        with view_of(made(tmp_path, trace)) as view:
            shown = view.page.evaluate(DRAWN)
            clean(view)
        assert shown["iteration"] > 0
        whole = shown["last"] - shown["first"]
        if steps == 2:
            assert (shown["from"], shown["to"]) == (shown["first"], shown["last"])
        else:
            assert shown["iteration"] <= shown["to"] - shown["from"] < min(whole, 4 * shown["iteration"])


@pytest.mark.parametrize("steps", [40, 4000])
def test_messages_to_calls_outside_of_the_window_are_drawn(view_of: View, tmp_path: Path, steps: int) -> None:
    """Rank 1 receives all messages after rank 0 has sent them: no window has both ends."""
    b = Builder(2)
    given: dict[str, Any] = {"count": 1, "datatype": DOUBLE, "tag": 1, "comm": Comm()}
    sends = b.loop(on({0: steps}), b.event("Send", at=("a.py:1:f",), dest=1, **given))
    waits = b.loop(on({1: steps}), b.event("Iprobe", at=("a.py:2:f",), source=0, tag=1, comm=Comm()))
    receives = b.loop(on({1: steps}), b.event("Recv", at=("a.py:3:f",), source=0, **given))
    with view_of(made(tmp_path, timed(b.of(sends, waits, receives)))) as view:
        view.page.evaluate("() => { const v = timeLines[0]; v.from = 0; v.to = 40000; v.draw(); }")
        drawn = view.page.evaluate(DRAWN)
        assert drawn["arrows"] >= 8
        assert drawn["ends"] == 0
        clean(view)


def test_messages_to_ranks_without_a_row_have_short_arrows(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(6), options=PageOptions(ranks=(2, 3)))) as view:
        drawn = view.page.evaluate(DRAWN)
        assert drawn["arrows"] == 10
        assert drawn["ends"] == 20  # rank 2 receives from rank 1, rank 3 sends to rank 4
        clean(view)


def test_no_text_of_a_table_is_cut(view_of: View, tmp_path: Path) -> None:
    """Cells with text are as large as their text, also of two traces side by side."""
    for traces in ((ring(6),), (ring(4), ring(6))):
        with view_of(made(tmp_path, *traces)) as view:
            cut = view.page.evaluate(
                "() => [...document.querySelectorAll('.row > span, td, tbody th')].filter((one) =>"
                " one.offsetParent && one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"
            )
            assert cut == []
            wide = view.page.evaluate(
                "() => [...document.querySelectorAll('#costs .scroll, #program .scroll, #advice .scroll')]"
                ".filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"
            )
            assert wide == []


def test_axes_have_round_numbers(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, late([0, 0, 16, 3], 30_000))) as view:
        labels = view.page.locator(
            "svg[aria-label='Times by rank'] text[text-anchor=end]"
        ).all_text_contents()
        numbers = [label.split()[0] for label in labels if label != "0"]
        assert len(numbers) >= 2
        assert all(
            number.strip("0.")[:1] in "12345678" and len(number.strip("0.")) <= 2 for number in numbers
        )


def test_tables_that_scroll_have_a_shadow(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(6)), width=420) as view:
        styles = view.page.evaluate(
            "() => [...document.querySelectorAll('.scroll')]"
            ".filter((one) => one.scrollWidth > one.clientWidth)"
            ".map((one) => getComputedStyle(one).backgroundAttachment)"
        )
        assert styles
        assert set(styles) == {"local, local, scroll, scroll"}


def test_ranks_of_a_large_run_stand_for_others(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, million_stencil(side=64))) as view:
        assert "one rank of each other class of ranks with equal calls" in view.text("#timeline")
        assert "The number below a rank is that of ranks with equal numbers of calls" in view.text(
            "#timeline"
        )
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
    fit = replace(fit, after=HOSTILE, ranks="x==0")
    with view_of(made(tmp_path, trace, options=PageOptions(model=ModelFacts(fits=(fit,))))) as view:
        assert view.page.locator("#extrapolation circle").count() == 2
        title = view.text("#extrapolation figcaption")
        assert f"after {HOSTILE[:9]}" in title
        assert "where x==0" in title
        view.page.locator("#extrapolation circle").first.focus()
        assert view.text("#tooltip") == "2 ranks: 18 ns"
        clean(view)


def predicted(parameter: str = "latency") -> PagePrediction:
    facts = {
        "platform": HOSTILE, "calls": 124, "time_ns": 40000.0, "last_rank": 3, "notes": {HOSTILE: HOSTILE},
        "path": {"compute_ns": 20000.0, "latency_ns": 10000.0, "bytes_ns": 6000.0, "overhead_ns": 4000.0,
                 "messages": 12},
        "drawn": {"median_ns": 41000.0, "low_ns": 38000.0, "high_ns": 45000.0, "runs": 20},
        "tolerance": [{"parameter": one, "slower": 0.01, "factor": None} for one in ("latency", "per_byte")],
    }  # fmt: skip
    row = {"operation": "Send", "site": HOSTILE, "calls": 40, "path_ns": 20000.0}
    row |= dict.fromkeys(("transfer_ns", "waiting_ns", "compute_ns", "path_compute_ns"), 1000.0)
    curve = [{parameter: factor, "time_ns": 30000.0 + 10000.0 * factor} for factor in (0.5, 1.0, 2.0)]
    return PagePrediction.of(facts, {"operation": [row], "site": [row]}, {parameter: curve})


def test_simulated_traces(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4), options=PageOptions(prediction=predicted()))) as view:
        clean(view)
        assert "40 µs" in view.text("#prediction .figures")
        assert "38 µs to 45 µs" in view.text("#prediction .figures")
        parts = view.page.locator("#prediction .path-view rect")
        assert parts.count() == 4
        parts.first.focus()
        assert view.text("#tooltip") == "computation 50 %\n20 µs"
        points = view.page.locator("#prediction .sensitivity-view circle")
        assert points.count() == 3
        points.last.focus()
        assert view.text("#tooltip") == "latency × 2\n50 µs, 1.250 of the time of the run that is shown"
        assert "any factor" in view.text("#prediction [aria-label=Tolerance]")
        assert view.page.locator("img").count() == 0
        clean(view)


def test_simulated_rows_of_the_time_line(view_of: View, tmp_path: Path) -> None:
    simulated = Simulated(ring(4), read_platform("cluster"))
    options = PageOptions(prediction=predicted(), simulate_lines=simulated.call_times)
    with view_of(made(tmp_path, ring(4), options=options)) as view:
        clean(view)
        canvas = view.page.locator("#timeline canvas")
        canvas.focus()
        view.page.keyboard.press("ArrowRight")
        assert view.text("#timeline .detail").startswith("rank 0: Irecv; peer 3, 800 B")
        view.page.keyboard.press("ArrowDown")
        assert view.text("#timeline .detail").startswith("rank 0, simulated: ")
        view.page.keyboard.press("ArrowDown")
        assert view.text("#timeline .detail").startswith("rank 1: ")
        canvas.hover(position={"x": 90, "y": 60})
        assert view.text("#tooltip").startswith("rank 0, simulated: ")


def history_data(runs: int = 12, slow: bool = True) -> dict[str, Any]:
    values = [100000.0 + number % 3 for number in range(runs)]
    values[-1] = 150000.0 if slow else values[-1]
    bounds: list[float | None] = [None] * 4
    likely = [*bounds, *[0.5] * (runs - 5), 1e-6 if slow else 0.5]
    each = {
        "factor": HOSTILE, "window": 1, "values": values, "low": [*bounds, *[90000.0] * (runs - 4)],
        "high": [*bounds, *[110000.0] * (runs - 4)], "likelihood": likely,
    }  # fmt: skip
    test = {
        "factor": HOSTILE, "factors": [HOSTILE], "nnew": 1, "nreference": runs - 1, "reference": 100000.0,
        "new": 150000.0, "change": 0.5, "low": 90000.0, "high": 110000.0, "likelihood": 1e-6,
        "result": "slower" if slow else "as before", "detectable": 0.1,
    }  # fmt: skip
    names = [f"{number:02}.st" for number in range(runs)]
    efficiency = [{"run": name, "run_time_ns": 1e6, "parallel_efficiency": 0.5, "load_balance": 0.8,
                   "communication_efficiency": 0.625} for name in names]  # fmt: skip
    verdict = {"tests": [test], "confidence": 0.99, "undecided": []}
    return {"runs": names, "verdict": verdict, "evolution": [each],
            "window_evolution": [{**each, "window": 5}], "efficiency": efficiency}  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_history_of_runs(view_of: View, tmp_path: Path, dark: bool) -> None:
    path = tmp_path / "history.html"
    path.write_text(history_page(history_data()))
    with view_of(path, dark=dark) as view:
        clean(view)
        assert "Regression" in view.text("#verdict")
        assert view.page.locator("#evolution circle").count() == 12
        assert view.page.locator("#evolution .band").count() == 1
        view.page.locator("#evolution circle").last.focus()
        assert view.text("#tooltip") == "11.st\n150 µs, slower"
        assert view.page.locator("#efficiency circle").count() == 4 * 12
        view.page.locator("#efficiency circle").first.focus()
        assert view.text("#tooltip") == "00.st\nparallel efficiency 50 %"
        assert view.page.locator("#overview rect").count() == 2 * 12
        view.page.locator("#overview rect[tabindex]").first.focus()
        assert view.text("#tooltip").endswith("slower")
        assert view.page.locator("img").count() == 0
        view.page.get_by_role("button", name="Dark or light").click()
        clean(view)


def test_history_without_a_regression(view_of: View, tmp_path: Path) -> None:
    path = tmp_path / "history.html"
    path.write_text(history_page({**history_data(slow=False), "efficiency": []}))
    with view_of(path, width=800) as view:
        assert "No regression" in view.text("#verdict")
        assert view.page.locator("#efficiency").count() == 0
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 800
        clean(view)


def test_summary_names_program_and_ranks(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, recorded()["p2p"])) as view:
        assert view.text("#summary .origin").startswith("chapters.py")
        assert "Wait" in view.text("#costs .share-view .legend")


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
  const names = ["text", "dim", "accent", "worse", "better"];
  return Math.min(...names.flatMap((name) => [ratio(name, "bg"), ratio(name, "panel")]));
}"""
"""The least contrast of the colours of texts."""


@pytest.mark.parametrize("width", [420, 800])
@pytest.mark.parametrize("trace", [ring(24), million_stencil(32)], ids=["ring", "stencil"])
def test_narrow_windows_do_not_scroll_sideways(
    view_of: View, tmp_path: Path, trace: Trace, width: int
) -> None:
    with view_of(made(tmp_path, trace), width=width) as view:
        assert view.page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 420:
            assert not view.page.evaluate(SCROLLING_TABLES)
        clean(view)


SCROLLING_TABLES = """() => [...document.querySelectorAll('.scroll > table:has([data-label])')]
  .filter((table) => table.parentElement.scrollWidth > table.parentElement.clientWidth).length"""
"""The number of tables that are wider than the window."""

TEXT_SIZES = """() => [...document.querySelectorAll('svg text')]
  .filter((one) => one.getBoundingClientRect().width)
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"""
"""Sizes of the texts of all drawings, as they are on the screen, in pixels."""


def narrow_pages(tmp_path: Path) -> Iterator[Path]:
    """Pages with all kinds of charts."""
    fits = [Fit("Send", "ring.py:4:turn", "comm_ns", "2 * p", 0.1, 0.95, ((4, 8.0), (8, 16.0)),
                ((4, 8.0, 7.0, 9.0), (64, 128.0, 90.0, 190.0)))]  # fmt: skip
    trace = ring(24)
    trace.meta["extrapolated"] = "from 4 and 8 ranks"
    shared = ring(4)
    shared.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    ideal = with_ideal_run(PageOptions(), late([0, 0, 16, 0], 20_000)).ideal
    for part, (shown, options) in enumerate(
        (
            (trace, PageOptions(model=ModelFacts(("rule",), tuple(fits)))),
            (shared, PageOptions(prediction=predicted())),
            (late([0, 0, 16, 0], 20_000), PageOptions(ideal=ideal)),
        )
    ):
        (tmp_path / str(part)).mkdir()
        yield made(tmp_path / str(part), shown, options=options)
    path = tmp_path / "scaling.html"
    path.write_text(scaling_page(scaling_of(STRONG, [times(n) for n in (4, 8, 16)])))
    yield path


def test_texts_of_charts_are_readable_in_narrow_windows(view_of: View, tmp_path: Path) -> None:
    for path in narrow_pages(tmp_path):
        with view_of(path, width=420) as view:
            sizes = view.page.evaluate(TEXT_SIZES)
            assert len(sizes) > 4
            assert min(sizes) >= 10.99
            assert view.page.evaluate("document.documentElement.scrollWidth") <= 420
            view.page.set_viewport_size({"width": 360, "height": 900})  # charts scroll in their boxes
            assert min(view.page.evaluate(TEXT_SIZES)) >= 10.99
            assert view.page.evaluate("document.documentElement.scrollWidth") <= 360
            clean(view)


def test_drawings_and_tables_fit_on_paper(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(24))) as view:
        view.page.emulate_media(media="print")
        view.page.set_viewport_size({"width": 700, "height": 1000})
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 700
        assert view.page.locator("#timeline canvas").bounding_box()["width"] <= 700
        assert not view.page.locator("#timeline button").first.is_visible()
        clean(view)


def test_times_and_numbers_are_written_as_by_the_commands(view_of: View, tmp_path: Path) -> None:
    times = [
        float(f"{digits}e{power}")
        for digits in ("0", "1", "1.23456", "5.67891", "9.9996")
        for power in range(17)
    ]
    sizes = [int(time) for time in times]
    with view_of(made(tmp_path, ring(4))) as view:
        assert view.page.evaluate("times => times.map(duration)", times) == [duration(time) for time in times]
        coarse = [coarse_duration(time) for time in times]
        assert view.page.evaluate("times => times.map(coarseDuration)", times) == coarse
        shares = [coarse_percent(part, 997) for part in range(998)]
        count = "[...Array(998).keys()].map((part) => coarsePercent(part, 997))"
        assert view.page.evaluate(count) == shares
        assert view.page.evaluate("sizes => sizes.map(bytes)", sizes) == [nbytes(size) for size in sizes]


def flat(sites: int, repeat: int = 1) -> Trace:
    """A loop of calls of one function from different lines, and 70 calls that take little time against it."""
    b = Builder(4)
    calls = (
        b.event("Barrier", repeat, at=("/a/sync.c:5:sync", f"/a/main.c:{line}:main"), comm=Comm())
        for line in range(1, sites + 1)
    )
    trace = timed(b.of(b.loop(1000, *calls), *(b.event("Comm_rank", comm=Comm()) for _ in range(70))))
    loop = trace.nodes[0]
    assert isinstance(loop, Sequence)
    long = Histogram(8, 10**9, 10**9, 10**9, 0)
    nodes = tuple(replace(node, stats=(PredStats(0, (long, long)),)) for node in loop.nodes)
    trace.nodes[0] = Sequence(loop.repeat, nodes)
    return trace


def shown_rows(view: Opened) -> int:
    return view.page.locator(".tree .row:visible").count()


def test_rows_of_little_time_are_hidden_at_first(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, flat(2))) as view:
        assert shown_rows(view) == 4
        button = view.page.get_by_role("button", name="Show 70 rows below 0.1 % of the time")
        button.click()
        assert shown_rows(view) == 74
        view.page.get_by_role("button", name="Hide 70 rows").click()
        search = view.page.locator("#program input[type=search]")
        search.fill("Comm_rank")
        assert shown_rows(view) == 71
        search.fill("")
        assert shown_rows(view) == 4
        view.page.get_by_role("button", name="Open all").click()
        assert shown_rows(view) == 74
        clean(view)


def test_trees_of_equal_calls_hide_nothing(view_of: View, tmp_path: Path) -> None:
    b = Builder(4)
    trace = timed(b.of(*(b.event("Barrier", at=(f"a.c:{line}:f",), comm=Comm()) for line in range(1500))))
    with view_of(made(tmp_path, trace)) as view:
        assert shown_rows(view) == 1501


def test_calls_with_one_site_have_callers(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, flat(2))) as view:
        texts = view.page.locator(".tree .row:visible span:last-child").all_text_contents()
        assert "sync.c:5 < main.c:1" in texts
        assert "sync.c:5 < main.c:2" in texts
        clean(view)


def test_searches_have_an_example(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, flat(2))) as view:
        search = view.page.locator("#program input[type=search]")
        assert search.get_attribute("placeholder") == "Barrier, sync.c, rank:0"


def test_bins_of_message_sizes_are_powers_of_two(view_of: View, tmp_path: Path) -> None:
    with view_of(made(tmp_path, ring(4))) as view:
        sizes = view.page.evaluate("[512, 1024, 1 << 20, 1.5 * 2 ** 30].map(binaryBytes)")
        assert sizes == ["512 B", "1 KiB", "1 MiB", "1.5 GiB"]


def test_pages_of_shared_cores_start_with_predicted_times(view_of: View, tmp_path: Path) -> None:
    trace = ring(4)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "2"}
    numbers = node_numbers(trace.nodes).values()
    times = {"compute_ns": 800.0, "transfer_ns": 100.0, "waiting_ns": 100.0, "path_compute_ns": 0.0}
    ranks = tuple(RankBin(rank, rank, (5000.0,) * 3, (7000.0,) * 3) for rank in range(4))
    prediction = replace(predicted(), nodes=dict.fromkeys(numbers, times), ranks=ranks)
    with view_of(made(tmp_path, trace, options=PageOptions(prediction=prediction))) as view:
        assert "Where the predicted time goes" in view.text("#costs")
        bars = view.page.locator("#costs .predicted-view rect")
        assert bars.count() == 3  # computation, the send, and the time after ranks end
        assert not view.page.get_by_text("Call sites that cost most").is_visible()
        view.page.locator("summary", has_text="Recorded times").click()
        assert view.page.get_by_text("Call sites that cost most").is_visible()
        assert "Predicted" in view.text("#summary .headline")
        assert "recorded times, with waiting for cores" in view.text("#timeline")
        assert "in MPI 7 µs" in view.page.locator("#summary .rank-view g").first.get_attribute("aria-label")
        assert "4 µs" in view.page.locator(".tree .row").first.get_attribute("aria-label")
        view.page.locator(".tree .row", has_text="Allreduce").first.click()
        assert "recorded in MPI, with shared cores" in view.text(".more-about")
        clean(view)


def test_ranks_that_others_wait_for_are_drawn(view_of: View, tmp_path: Path) -> None:
    """Rank 2 of four is late at each barrier."""
    trace = late([0, 0, 16, 0], 30_000)
    with view_of(made(tmp_path, trace, options=with_ideal_run(PageOptions(), trace))) as view:
        assert "Ranks wait for rank 2" in view.text("#summary .headline")
        assert view.page.locator("#summary .parts rect").count() == 3
        view.page.locator("#advice .causes rect").nth(2).hover()
        assert view.text("#tooltip").startswith("rank 2\nothers wait for it")
        assert view.page.locator("#advice .causes polygon").count() == 3
        view.page.locator("#advice .goto").first.click()
        clean(view)


def spread(trace: Trace) -> PageOptions:
    """Ranks wait for rank 1 most."""
    n = trace.nprocs
    causes = tuple(RootCause(rank, 0, 1, 9e3 if rank == 1 else 1e3, n - 1) for rank in range(n))
    waits = tuple((rank, 1, 2e3) for rank in range(n) if rank != 1)
    return PageOptions(ideal=IdealRun(2e4, (9e3,) * n, {}, causes, dict.fromkeys(range(n), 1), waits, 1.0))


@pytest.mark.parametrize(("kind", "text"), [("ring", "around a ring"), ("star", "Rank 0, with which")])
def test_ranks_that_wait_are_drawn_in_the_shape_of_their_messages(
    view_of: View, tmp_path: Path, kind: str, text: str
) -> None:
    """Of a ring and of a star, the ranks are on a circle; rank 0 of a star is in its middle."""
    trace = ring(7) if kind == "ring" else timed(star(7))
    with view_of(made(tmp_path, trace, options=spread(trace))) as view:
        assert view.page.locator("#advice .causes").get_attribute("data-layout") == kind
        assert text in view.text("#advice .cause-view figcaption")
        assert view.page.locator("#advice .causes > line").count() == (7 if kind == "ring" else 6)
        discs = [
            (float(disc.get_attribute("cx")), float(disc.get_attribute("cy")))
            for disc in view.page.locator("#advice .causes .number circle").all()
        ]
        outside = discs if kind == "ring" else discs[1:]
        middle = [sum(values) / len(outside) for values in zip(*outside, strict=True)]
        radii = [hypot(x - middle[0], y - middle[1]) for x, y in outside]
        assert max(radii) - min(radii) < 0.01 * max(radii)
        if kind == "star":
            assert discs[0] == pytest.approx(middle)
            assert view.page.locator(f"#patterns .card[data-kind='{kind}']").count() == 1
        clean(view)


def test_runs_on_several_numbers_of_ranks(view_of: View, tmp_path: Path) -> None:
    path = tmp_path / "scaling.html"
    listed = [times(n) for n in (4, 8, 16)]
    path.write_text(scaling_page(scaling_of(STRONG, listed)))
    with view_of(path) as view:
        assert view.page.locator("section").count() == 5
        assert view.page.locator("#result svg").count() == 2
        view.page.locator("#result svg circle").first.focus()
        assert view.text("#tooltip").startswith("4 ranks")
        assert view.page.locator("#growth figure").count() == 2
        assert "256 ranks" in view.text("#beyond table")
        clean(view)


def test_charts_of_two_traces_have_common_axes(view_of: View, tmp_path: Path) -> None:
    """One trace has larger messages and longer times: bars of equal numbers are equally high."""
    left, right = ring(4, nbytes=800), timed(ring(4, nbytes=80_000), 7)
    with view_of(made(tmp_path, left, right)) as view:
        charts = "#histograms .pane[data-trace='{}'] .{} svg"

        def axes(view_name: str) -> list[list[list[str]]]:
            return [
                [
                    chart.locator("text").all_text_contents()
                    for chart in view.page.locator(charts.format(i, view_name)).all()
                ]
                for i in range(2)
            ]

        for name in ("size-view", "delta-view"):
            of_left, of_right = axes(name)
            assert len(of_left) == 2
            assert of_left == of_right, name
        colours = view.page.locator("#matrix .controls").all_inner_texts()
        assert "colours: 8 kB to 800 kB, logarithmic" in colours[0]
        assert colours[0] == colours[1]
        view.page.locator("#histograms .pane[data-trace='1']").get_by_label(
            "Height of the bars"
        ).select_option("total_ns")
        of_left, of_right = axes("delta-view")
        assert of_left != of_right  # calls and times
        view.page.locator("#histograms .pane[data-trace='0']").get_by_label(
            "Height of the bars"
        ).select_option("total_ns")
        of_left, of_right = axes("delta-view")
        assert of_left == of_right
        clean(view)
