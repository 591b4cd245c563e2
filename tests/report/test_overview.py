"""Who waits for whom, where the program computes, where loops are, what grows with the number of ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace.cli.ideal import with_ideal_run
from scalatrace.report.costs.computation import computation_place
from scalatrace.report.costs.rows import whole_time
from scalatrace.report.page.extrapolated import ModelFacts, provenance_of
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.report.page.overview.advice import Advice
from scalatrace.report.page.overview.computing import computing_of
from scalatrace.report.page.overview.verdict import verdict_of
from scalatrace.report.page.overview.waits import TimeBasis, WaitRow, waiting_shares
from scalatrace.report.page.page import page
from scalatrace.report.page.tree import TreeNode
from scalatrace.report.scaling.extrapolated_growth import AtSize, Growth, GrowthModel, SiteAtSizes
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, PredStats, Sequence, node_numbers
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import DOUBLE, Builder, Comm
from support.late_ranks import late
from support.reported import million_stencil, recorded, ring, timed

GIVEN = {"count": 8, "datatype": DOUBLE, "tag": 1, "comm": Comm()}


def by_op(aggregates: TraceAggregates) -> dict[str, WaitRow]:
    return {one.op: one for one in aggregates.waits}


@pytest.mark.parametrize("nprocs", [4, 1 << 16])
def test_a_completion_waits_for_the_partners_of_its_requests(nprocs: int) -> None:
    found = by_op(gather(ring(nprocs), "ring"))
    assert found["Wait"].partners == f"own rank -1 modulo {nprocs:,}"
    assert found["Send"].partners == f"own rank +1 modulo {nprocs:,}"
    assert found["Allreduce"].partners == "the rank of the communicator that comes last"
    assert "Irecv" not in found


def test_receives_from_one_rank_and_from_any() -> None:
    b = Builder(4)
    workers = RankList(range(1, 4))
    trace = timed(
        b.of(
            b.event("Recv", Groups([(workers, Vec(1))]), at=("a.py:1:f",), source=0, **GIVEN),
            b.event("Recv", Groups([(RankList([0]), Vec(3))]), at=("a.py:2:f",), source=ANY_SOURCE, **GIVEN),
        )
    )
    here = {one.site: one for one in gather(trace, "workers").waits}
    assert here["a.py:1:f"].partners == "rank 0"
    assert (here["a.py:1:f"].ranks, here["a.py:1:f"].nranks) == ("1-3", 3)
    assert here["a.py:2:f"].partners == "any rank (wildcard)"


def test_persistent_requests_keep_their_partners() -> None:
    b = Builder(2)
    first = b.event("Recv_init", Groups([(RankList([1]), Vec(1))]), at=("a.py:1:f",), source=0, **GIVEN)
    each = b.loop(
        3, b.event("Start", at=("a.py:2:f",), request=0), b.event("Wait", at=("a.py:3:f",), request=0)
    )
    (wait,) = (one for one in gather(timed(b.of(first, each)), "p").waits if one.op == "Wait")
    assert wait.partners == "rank 0"


@pytest.mark.parametrize("name", sorted(recorded()))
def test_waits_are_times_beyond_the_shortest_call(name: str) -> None:
    aggregates = gather(recorded()[name], name)
    nodes = {node.number: node for node in below(aggregates.tree.root)}
    for one in aggregates.waits:
        node = nodes[one.node]
        equal = [
            each
            for each in nodes.values()
            if (each.op, each.site, each.ranks) == (node.op, node.site, node.ranks)
        ]
        assert one.beyond_ns == sum(each.beyond_ns for each in equal) > 0
        assert not one.op.startswith(("Test", "Iprobe", "Isend", "Irecv", "Request_", "Cancel"))
    times = [one.beyond_ns for one in aggregates.waits]
    assert times == sorted(times, reverse=True)


def below(node: TreeNode) -> list[TreeNode]:
    return [node, *(one for child in node.children for one in below(child))]


def test_polls_are_no_late_senders() -> None:
    b = Builder(2)
    calls = (
        b.event("Irecv", at=("a.py:1:f",), source=0, **GIVEN),
        b.event("Test", at=("a.py:2:f",), request=0),
    )
    aggregates = gather(timed(b.of(*calls)), "polls")
    assert {one.kind for one in aggregates.advice} == {"polling"}
    assert aggregates.waits == ()


def test_every_entry_has_what_it_can_save() -> None:
    for trace in (*recorded().values(), ring(8, nbytes=8), million_stencil(8)):
        aggregates = gather(trace, "x")
        timed_calls = bool(aggregates.tree.root.comm_ns + aggregates.tree.root.compute_ns)
        for one in aggregates.advice:
            savings = [text for name, text in one.numbers if name.startswith("possible saving, ")]
            if timed_calls and one.kind != "nothing":
                assert savings
                assert not savings[0].startswith("0 ns")


def test_without_times_no_cost_is_known() -> None:
    b = Builder(2)
    call = b.event("Send", at=("a.py:1:f",), dest=0, **GIVEN)
    (entry,) = gather(b.of(b.loop(100, call)), "no times").advice
    assert (entry.kind, entry.title) == ("nothing", "The trace has no times")


def test_where_the_program_computes() -> None:
    aggregates = gather(ring(4), "ring")
    times = [row.compute_ns for row in aggregates.computing]
    assert times == sorted(times, reverse=True)
    assert sum(times) == aggregates.summary.compute_ns
    assert aggregates.summary.hidden_sites == 0
    many = Builder(1)
    trace = timed(many.of(*(many.event("Barrier", at=(f"a.py:{i}:f",), comm=Comm()) for i in range(1, 9))))
    assert gather(trace, "many").summary.hidden_sites == 3


def loop_place(*stacks: tuple[str, ...]) -> str:
    b = Builder(1)
    trace = b.of(b.loop(2, *(b.event("Barrier", at=stack, comm=Comm()) for stack in stacks)))
    return gather(trace, "loop").tree.root.children[0].place


def test_a_loop_is_where_its_calls_differ() -> None:
    outer = ("/b/main.py:3:run", "/b/main.py:90:main")
    send, receive = (
        ("/b/x.py:7:send", "/b/x.py:20:step", *outer),
        ("/b/x.py:9:recv", "/b/x.py:24:step", *outer),
    )
    assert loop_place(send, receive) == "/b/x.py:20-24:step"
    assert loop_place(("/b/x.py:7:send", *outer)) == "/b/x.py:7:send"
    assert loop_place(("a.py:1:f",), ("b.py:1:g",)) == ""
    assert loop_place(("app+0x10",), ("app+0x20",)) == ""
    assert loop_place(()) == ""


def test_ranges_of_executions() -> None:
    groups = Groups([(RankList([0]), Vec(31)), (RankList([1]), Vec((3, (0, 0, 32))))])
    growing = Vec((0, (0, 2, 1)))
    b = Builder(2)
    trace = b.of(
        *(b.event("Barrier", repeat, comm=Comm()) for repeat in (Vec(1), Vec(10), groups)),
        b.loop(6, b.event("Barrier", growing, comm=Comm())),
        b.loop(Groups([(RankList([1]), Vec(4))]), b.loop(growing, b.event("Barrier", growing, comm=Comm()))),
    )
    root = gather(trace, "ranges").tree.root
    assert [node.times for node in root.children] == ["", "10", "3–31", "6", "4"]
    assert [node.times for node in root.children[3].children] == ["0–9"]
    inner = root.children[4].children[0]
    assert (inner.times, inner.children[0].times) == ("0–5", "0–15")


def test_roots_wildcards_and_communicators() -> None:
    b = Builder(4)
    source = Groups([(RankList([0]), Vec(2)), (RankList([1, 2, 3]), Vec(ANY_SOURCE))])
    trace = timed(
        b.of(
            b.event("Recv", at=("a.py:1:f",), source=source, **GIVEN),
            b.event("Bcast", at=("a.py:2:f",), root=0, count=8, datatype=DOUBLE, comm=Comm()),
            b.event("Comm_split", at=("a.py:3:f",), color=0, key=0, comm=Comm(), newcomm=Comm()),
            b.event("Barrier", at=("a.py:4:f",), comm=Comm()),  # else Comm_split would be shut-down
        )
    )
    found = by_op(gather(trace, "roots"))
    assert found["Recv"].partners == "rank 2 or any rank (wildcard)"
    assert found["Bcast"].partners == "the root"
    assert found["Comm_split"].partners == "the rank of the communicator that comes last"


def partners(nprocs: int, repeat: Groups | int, source: object) -> str:
    """Partners of a receive, the only call of a trace."""
    b = Builder(nprocs)
    (one,) = gather(timed(b.of(b.event("Recv", repeat, at=("a.py:1:f",), source=source, **GIVEN))), "x").waits
    return one.partners


def test_partners_of_some_of_many_ranks() -> None:
    row = RankList(range(32))
    shifted = Groups([(RankList([rank]), Vec((37 * rank + 11) % 1024)) for rank in range(100, 400)])
    some = Groups([(group, Vec(1)) for group, _ in shifted.groups])
    below = Groups([(row, Vec(1))]), Groups([(RankList([rank]), Vec(rank + 32)) for rank in row])
    assert partners(1024, *below) == "own rank +32"
    assert partners(1024, 1, 7) == "rank 7"
    assert partners(1024, some, shifted).startswith("at least 1")
    first = Groups([(RankList([0]), Vec(900))])
    assert partners(1024, first, Vec(((0, 1, 1),))) == "ranks 1 to 900"
    first = Groups([(RankList([0]), Vec(5000))])
    assert partners(6000, first, Vec(((0, 1, 1),))) == "at least ranks 1 to 1,024"
    many = Vec((*[(1500, 0, 1)], *[(1500, 0, 3)]))
    assert partners(8, 3000, many) == "at least rank 1"
    assert partners(4, 2, Groups([(RankList([0]), Vec((2, 3))), (RankList([1, 2, 3]), Vec((0, 0)))])) == (
        "own rank plus some of -3, -2, -1, +2, +3"
    )
    exchange = Vec((1, 2)), Vec((0, 3)), Vec((3, 0)), Vec((2, 1))  # own rank xor 1, xor 2
    xor = Groups([(RankList([rank]), peers) for rank, peers in enumerate(exchange)])
    assert partners(4, 2, xor) == "own rank plus some of -2, -1, +1, +2"


def test_partners_late_in_the_program() -> None:
    b = Builder(4)
    found = gather(
        timed(
            b.of(
                b.loop(300_000, b.event("Pcontrol", Vec(((0, 1, 1),)), level=1)),
                b.event("Recv", at=("a.py:1:f",), source=2, **GIVEN),
            )
        ),
        "late",
    ).waits
    assert [one.partners for one in found if one.op == "Recv"] == ["rank 2"]


def test_collective_requests_roots_and_single_ranks() -> None:
    b = Builder(4)
    given = {"count": 8, "datatype": DOUBLE, "comm": Comm()}
    trace = timed(
        b.of(
            b.event("Iallreduce", at=("a.py:1:f",), op="MPI_SUM", in_place=0, **given),
            b.event("Wait", at=("a.py:2:f",), request=0),
            b.event("Reduce", at=("a.py:3:f",), op="MPI_SUM", root=0, **given),
            b.event("Cart_coords", at=("a.py:4:f",), comm=Comm()),
            b.event("Request_free", at=("a.py:5:f",), request=0),
        )
    )
    found = by_op(gather(trace, "requests"))
    assert found["Wait"].partners == "the rank of the communicator that comes last"
    assert found["Reduce"].partners == "the rank of the communicator that comes last, at the root"
    assert found.keys() == {"Wait", "Reduce"}
    b = Builder(1)
    alone = gather(timed(b.of(b.event("Barrier", at=("a.py:1:f",), comm=Comm()))), "alone")
    assert alone.waits == ()
    assert {one.kind for one in alone.advice} == {"computation"}


def growing() -> tuple[Trace, tuple[SiteAtSizes, ...]]:
    trace = ring(8)
    trace.meta["extrapolated"] = "from 2, 4 ranks to 8"
    # Each call of the ring takes 3,000 ns after 1,000 ns of computation, ten in a rank but for the last.
    sends = SiteAtSizes("Send", "ring.py:4:turn", (AtSize(2, 1e3, 500, 10), AtSize(4, 2e3, 500, 10)))
    total = SiteAtSizes("Allreduce", "ring.py:9:main", (AtSize(2, 1e9, 0, 1), AtSize(4, 2e9, 0, 1)))
    return trace, (sends, sends, total)


def test_growth_needs_an_extrapolated_trace_and_names_parameters() -> None:
    trace, inputs = growing()
    parameters = {2: "n = 1", 4: "n = 2", 0: "n = 4"}
    found = provenance_of(trace, {}, ModelFacts(inputs=inputs, parameters=parameters))
    assert found is not None
    assert all(one.recorded is None and one.extrapolated is None for one in found.growth)
    assert found.parameters == ("n = 1", "n = 2", "n = 4")
    gone = SiteAtSizes("Barrier", "ring.py:1:f", (AtSize(4, 7e9, 0, 1),))
    more = provenance_of(trace, {}, ModelFacts(inputs=(*inputs, gone)))
    assert more is not None
    assert more.growth[0].added_ns == pytest.approx(found.growth[0].added_ns - 7e9)


def test_growth_compares_with_the_largest_input() -> None:
    trace, inputs = growing()
    found = provenance_of(trace, {}, ModelFacts(inputs=inputs, warnings=("a guess",)))
    assert found is not None
    assert found.sizes == (2, 4, 8)
    assert found.notes == ("a guess",)
    rows = {one.op: one for one in found.growth}
    send = rows["Send"]
    assert send.sizes[:2] == (AtSize(2, 2e3, 1e3, 20), AtSize(4, 4e3, 1e3, 20))  # two sites of one frame
    here = send.sizes[2]
    assert here is not None
    assert send.factor == pytest.approx((here.comm_ns + here.compute_ns) / 5e3)
    assert send.timed_factor == pytest.approx(here.timed / 20)
    assert rows["Wait"].sizes[:2] == (None, None)
    assert rows["Wait"].factor is None
    whole, in_mpi, computation = found.growth[:3]
    assert (in_mpi.op, computation.op) == ("in MPI", "computation")
    assert in_mpi.added_ns + computation.added_ns == pytest.approx(whole.added_ns)
    assert whole.sizes[:2] == (AtSize(2, 1e9 + 2e3, 1e3, 21), AtSize(4, 2e9 + 4e3, 1e3, 21))
    assert whole.added_ns == pytest.approx(sum(one.added_ns for one in found.growth[3:]))
    assert found.growth[-1].op == "Allreduce"
    assert found.growth[-1].added_ns < 0


def test_kept_times_in_mpi_do_not_tell_how_waiting_grows() -> None:
    trace = ring(8)
    trace.meta["extrapolated"] = "from 2, 4 ranks to 8"
    total = whole_time(trace.without_phases)
    here = AtSize(4, (total.comm_ns or 0) / 8, (total.compute_ns or 0) / 8, 1)
    facts = [
        ModelFacts(inputs=(SiteAtSizes("Send", "ring.py:4:turn", (here._replace(comm_ns=ns),)),))
        for ns in (here.comm_ns, here.comm_ns / 2)
    ]
    kept, grows = (provenance_of(trace, {}, each) for each in facts)
    assert kept is not None
    assert grows is not None
    assert kept.waiting_growth.startswith(
        "The time in MPI is that of 4 ranks: how waiting grows is not known"
    )
    assert grows.waiting_growth == ""
    shown = page([gather(trace, "x", options=PageOptions(model=facts[0]))])
    assert shown.index("how waiting grows is not known") < shown.index('id="timeline"')


def grown(
    times: tuple[float, float], site_models: dict[tuple[str, str], GrowthModel] | None = None
) -> Growth:
    """Growth of a send that takes these times on 2 and 4 ranks, and 35,000 ns on each of 8."""
    trace = ring(8)
    trace.meta["extrapolated"] = "from 2, 4 ranks to 8"
    sizes = tuple(AtSize(n, time, 0, 10) for n, time in zip((2, 4), times, strict=True))
    facts = ModelFacts(inputs=(SiteAtSizes("Send", "ring.py:4:turn", sizes),), site_models=site_models or {})
    found = provenance_of(trace, {}, facts)
    assert found is not None
    return next(one for one in found.growth if one.op == "Send")


def test_growth_has_exponents_and_models() -> None:
    here = grown((1e3, 4e3)).sizes[-1]
    assert here is not None
    model = GrowthModel("2 * p ns", "in the call, after Send  ring.py:4:turn", 0.1)
    square = grown((here.time_ns / 8, here.time_ns / 2), {("Send", "ring.py:4:turn"): model})
    assert square.recorded == pytest.approx(2)
    assert square.extrapolated == pytest.approx(1)
    assert (square.rises_again, square.model) == (False, model)
    falling = grown((here.time_ns, here.time_ns / 2))
    assert (falling.recorded, falling.extrapolated) == (pytest.approx(-1), pytest.approx(1))
    assert falling.rises_again
    assert grown((0.0, 0.0)).extrapolated is None


def test_computation_is_that_between_two_calls() -> None:
    """Ranks that go different ways after a call have one row."""
    run = "/b/main.f90:{}:run".format
    b = Builder(2)
    left, right = ("/b/halo.f90:7:left", run(20)), ("/b/halo.f90:9:right", run(20))
    trace = timed(
        b.of(
            b.event("Barrier", at=("/b/wait.f90:3:sync", run(10)), comm=Comm()),
            b.event("Send", Groups([(RankList([0]), Vec(1))]), at=left, dest=1, **GIVEN),
            b.event("Send", Groups([(RankList([1]), Vec(1))]), at=right, dest=0, **GIVEN),
        )
    )
    barrier, *sends = trace.leaves()
    before = trace.preds.index((barrier.op, barrier.signature))
    kept = [(barrier, 0), *((send, before) for send in sends)]
    trace.nodes = [replace(node, stats=(node.stats[pred],)) for node, pred in kept]
    rows = {row.after[0]: row for row in gather(trace, "c").computing}
    assert rows.keys() == {("Barrier", "/b/wait.f90:3:sync")}  # what is before it is start-up
    first = {row.after[0]: row for row in computing_of(trace, node_numbers(trace.nodes))}["the start", ""]
    assert first.place == "from the start of the program to main.f90:10:run"
    kernel = rows["Barrier", "/b/wait.f90:3:sync"]
    assert kernel.compute_ns == 2 * 8 * 1000
    assert kernel.place == "in run() between main.f90:10 (sync) and line 20 (left)"
    assert {site for _, site in kernel.before} == {"/b/halo.f90:7:left", "/b/halo.f90:9:right"}


def test_computation_from_one_call_to_the_same_call() -> None:
    b = Builder(2)
    trace = timed(b.of(b.loop(5, b.event("Barrier", at=("/b/a.py:3:step", "/b/a.py:9:main"), comm=Comm()))))
    assert "in step() or its caller main(), from one Barrier at a.py:3 to the next" in {
        row.place for row in gather(trace, "loop").computing
    }


def test_all_callers_that_may_repeat_are_named() -> None:
    """A module's own code is no caller that is named beside functions."""
    frames = ("/b/a.c:3:put", "/b/a.c:9:halo", "/b/a.c:20:step", "/b/a.c:30:main", "/b/a.c:40:<module>")
    put = ("Send", frames)
    assert computation_place(put, put) == (
        "in put() or its callers halo(), step(), main(), from one Send at a.c:3 to the next"
    )
    deeper = ("Send", (*frames[:-1], "/b/a.c:50:run", *frames[-1:]))
    assert " or its callers halo(), step(), main(), …, from" in computation_place(deeper, deeper)


def test_the_main_loop_and_the_loops_in_it() -> None:
    b = Builder(4)
    barrier, *calls = (b.event("Barrier", at=(f"/a/x.c:{i}:step",), comm=Comm()) for i in range(8, 13))
    inner = b.loop(3, *calls)
    trace = timed(b.of(barrier, b.loop(5, inner, barrier), b.loop(2, barrier)))
    main_loops = gather(trace, "x").main_loops
    assert main_loops.startswith("Main loop: 7 iterations of calls at x.c:8-12:step (")
    assert (
        "; 5 of them are a loop of the trace). Loop in it: 15 iterations in all, of calls at x.c:9-12:step ("
        in main_loops
    )
    assert (
        gather(timed(b.of(barrier, b.loop(2, barrier), b.loop(2, barrier), barrier, barrier)), "x").main_loops
        == ""
    )
    b = Builder(4)
    barrier = b.event("Barrier", at=("/a/x.c:9:step",), comm=Comm())
    once = gather(timed(b.of(b.loop(1, barrier, b.loop(50, barrier, barrier)))), "x").main_loops
    assert once.startswith("Main loop: 50 iterations")


def test_iterations_of_a_loop_that_differ_are_counted_together() -> None:
    """Nine steps of ten exchange in parts; the tenth rebuilds, and exchanges at once. Lines are not known."""
    b = Builder(4)

    def call(place: str, caller: str) -> Event:
        return b.event(
            "Barrier", at=(f"app+0x{place}:{place}", f"app+0x{caller}:run", "app+0x1:main"), comm=Comm()
        )

    left, right, rebuild = call("a", "10"), call("b", "20"), call("c", "30")
    steps = b.loop(
        9, b.loop(4, left), call("e", "10"), call("f", "50"), call("g", "60"), call("h", "70"), right
    )
    trace = timed(b.of(call("d", "40"), b.loop(5, steps, rebuild, b.loop(4, left), right)))
    main_loops = gather(trace, "x").main_loops
    assert main_loops.startswith("Main loop: 50 iterations in run (")
    assert main_loops.endswith(" of the time; they differ, and are several loops of the trace).")


def test_calls_on_one_line_are_no_loop() -> None:
    b = Builder(2)
    at = ("/b/a.py:5:step", "/b/a.py:9:main")
    trace = timed(b.of(*(b.event(name, at=at, comm=Comm()) for name in ("Barrier", "Comm_rank"))))
    barrier, rank = trace.leaves()
    after = trace.preds.index((barrier.op, barrier.signature))
    trace.nodes = [replace(barrier, stats=(barrier.stats[0],)), replace(rank, stats=(rank.stats[after],))]
    assert [row.place for row in gather(trace, "line").computing][
        1
    ] == "in step() at a.py:5, between Barrier and Comm_rank"


def test_calls_that_come_next_are_counted() -> None:
    b = Builder(1)
    trace = timed(b.of(*(b.event("Barrier", at=(f"a.py:{i}:f",), comm=Comm()) for i in range(1, 8))))
    assert {(len(row.before), row.more) for row in gather(trace, "next").computing} == {(4, 3)}


def test_calls_without_lines() -> None:
    b = Builder(2)
    trace = timed(b.of(b.loop(5, b.event("Barrier", at=("app+0x10", "app+0x90"), comm=Comm()))))
    assert "lines not known" in {row.place for row in gather(trace, "native").computing}


def test_calls_without_lines_are_named_by_functions() -> None:
    """As those of a library without debugging information."""
    ways = [
        ("lib+0x1:A::halo", "lib+0x10:A::run(int)", "app+0x9"),
        ("lib+0x2:A::sum", "lib+0x20:A::run(int)", "app+0x9"),
    ]
    first, last = ("Send", ways[0]), ("Allreduce", ways[1])
    assert computation_place(first, last) == "in run() from halo to the next sum"
    assert computation_place(first, first) == "in halo() from Send to the next Send"


def test_rising_computation_is_noted() -> None:
    """It falls in the inputs, and the model lets it rise."""
    trace = ring(8)
    trace.meta["extrapolated"] = "from 2, 4 ranks to 8"
    sizes = (AtSize(2, 0, 9000.0, 10), AtSize(4, 1e9, 4000.0, 10))  # time in MPI hides it
    facts = ModelFacts(inputs=(SiteAtSizes("Send", "ring.py:4:turn", sizes),))
    found = provenance_of(trace, {}, facts)
    assert found is not None
    assert any("before Send  ring.py:4:turn" in note for note in found.notes)
    assert next(one for one in found.growth if one.op == "Send").rises_again
    other = provenance_of(trace, {}, replace(facts, parameters={2: "n = 1", 4: "n = 2", 0: "n = 8"}))
    assert other is not None
    assert other.notes == ()


def test_percentages_of_the_advice_have_one_base() -> None:
    """Each is a part of the run time, of which the page speaks once."""
    trace = late([0, 0, 16, 0], 30_000)
    aggregates = gather(trace, "late")
    run_ns = aggregates.summary.run_time_ns
    assert run_ns is not None
    assert aggregates.basis.whole_ns == pytest.approx(run_ns * 4)
    entry = next(entry for entry in aggregates.advice if entry.kind == "computation")
    assert entry.share == pytest.approx(aggregates.computing[0].compute_ns / 4 / run_ns)
    assert not any("%" in value for entry in aggregates.advice for _, value in entry.numbers)
    shown = page([aggregates])
    section = shown[shown.index('<section id="advice"') : shown.index('<section id="costs"')]
    assert section.count("All percentages are parts of the run time") == 1
    assert "of all time" not in section


def test_names_of_functions_are_short() -> None:
    def place(function: str, callee: str) -> str:
        stacks = [(f"/a.cpp:{line}:{callee}", f"/a.cpp:{10 * line}:{function}") for line in (1, 2)]
        return computation_place(("Send", stacks[0]), ("Recv", stacks[1]))

    assert place("main", "halo") == "in main() between a.cpp:10 (halo) and line 20 (halo)"
    wide = place("void Solver<std::vector<int>>::run(double)", "ns::Grid::halo")
    assert wide == "in run() between a.cpp:10 (halo) and line 20 (halo)"
    assert place("ns::Solver::run(std::span<int>)", "<lambda>") == (
        "in run() between a.cpp:10 (<lambda>) and line 20 (<lambda>)"
    )
    assert place("<module>", "main").startswith("in <module> between a.cpp:10 (main)")


def test_savings_and_times_are_apart_on_the_first_screen() -> None:
    aggregates = gather(late([0, 0, 16, 0], 30_000), "late")
    shown = page([aggregates])
    first = shown[shown.index('<section id="summary"') : shown.index('<section id="timeline"')]
    savings = first[first.index("Possible savings (parts of the run time)") :]
    savings = savings[: savings.index("</p>")]
    assert "Load imbalance" in savings
    assert "computation" not in savings.lower()
    assert first.count("Most computation</a>: ") == 1


@pytest.mark.parametrize(("loads", "title"), [
    ([-80, 8, 10, 10], "Rank 0 hardly computes"), ([-80, 28, 0, 0], "Load imbalance"),
])  # fmt: skip
def test_a_rank_that_only_hands_out_work_is_no_imbalance(loads: list[int], title: str) -> None:
    entry = next(entry for entry in gather(late(loads, 30_000), "late").advice if entry.kind == "load")
    assert entry.title == title


def verdict(loads: list[int], inside_ns: int, ncores: int = 4) -> str:
    trace = late(loads, inside_ns)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": str(ncores)}
    return gather(trace, "late", options=with_ideal_run(PageOptions(), trace)).verdict


def test_the_verdict_names_the_problem_or_the_longest_computation() -> None:
    assert verdict([0, 0, 16, 0], 30_000).startswith("Ranks wait for rank 2 (100 % of the waiting)")
    assert verdict([-80, 8, 10, 10], 30_000).startswith("Rank 0 hardly computes, and waits for the others")
    assert verdict([0, 0, 0, 0], 2000) == (
        "Nothing in MPI stands out. The longest computation takes 78 % of the run time, "
        "in f() from one Barrier at a.py:7 to the next (9 × 8 µs)."
    )
    assert verdict([0, 0, 0, 0], 30_000) == ""  # MPI takes more time than computation
    assert verdict([0, 0, 0, 0], 300_000, 2) == "Nothing in MPI stands out except waiting for shared cores."


def test_the_note_on_shared_cores_has_the_computation_without_a_core() -> None:
    """Ranks compute 78 % of the time, a quarter of them at once."""
    trace = late([0, 0, 0, 0], 2000)
    trace.meta |= {"ranks-per-host": "4", "cores-per-host": "1"}
    note = gather(trace, "late").summary.shared_cores
    assert note.endswith("; at least 68 % of the computation waits for a core, or is sleep")
    trace.meta |= {"cores-per-host": "3"}
    assert "at least" not in gather(trace, "late").summary.shared_cores


@pytest.mark.parametrize(
    ("site", "note"),
    [
        ("/opt/lib/libsolver.so+0x1f0:solve", "call sites of libsolver.so have offsets in place of lines"),
        ("/opt/solver.c:7:solve", ""),
    ],
)
def test_call_sites_without_lines_are_noted(site: str, note: str) -> None:
    b = Builder(2)
    trace = timed(b.of(b.loop(3, b.event("Barrier", at=(site,), comm=Comm()))))
    notes = [text for text in gather(trace, "a.st").summary.notes if "in place of lines" in text]
    assert bool(notes) == bool(note)
    assert "".join(notes).startswith(note)


def test_a_call_site_waits_in_all_its_loops() -> None:
    aggregates = gather(timed(recorded()["completion"]), "a")
    sites = {(row.op, row.site.partition(" < ")[0]) for row in aggregates.waits}
    shares = waiting_shares(aggregates.tree, aggregates.basis)
    assert sites
    for op, site in sites:
        listed = sum(
            row.share for row in aggregates.waits if (row.op, row.site.partition(" < ")[0]) == (op, site)
        )
        assert shares[op, site] * (1 + 1e-9) >= listed > 0


def test_the_verdict_of_a_simulated_run() -> None:
    computation = Advice("computation", "", "", 0.2, (), where="in run() between a.c:3 (f) and line 5 (g)")
    load = Advice("load", "Load imbalance", "", 0.1, ())
    waits = {("Wait", "a.c:4:f"): 0.04, ("Allreduce", "a.c:9:sum"): 0.055}
    basis = TimeBasis(True, 8000.0, 8)
    text = (
        "The longest computation takes 20 % of the predicted run time, in run() between a.c:3 (f) and line 5 "
        "(g). Most waiting is in Allreduce a.c:9, 5.5 %."
    )
    even = verdict_of(None, None, [computation], basis, waits, shared_cores=True)
    assert even == f"No rank stands out. {text}"
    assert verdict_of(None, None, [load, computation], basis, waits, shared_cores=True) == text
    assert verdict_of(None, None, [load], basis, waits, shared_cores=True) == ""


def test_waiting_is_explained_by_the_entry_with_its_cause() -> None:
    trace = late([0, 0, 16, 0], 3000)
    (loop,) = trace.nodes
    (event,) = trace.leaves()
    assert isinstance(loop, Sequence)
    rows = [(row, *row.histograms) for row in event.stats]
    stats = [PredStats(row.pred, (before, replace(inside, min=100))) for row, before, inside in rows]
    trace.nodes = [replace(loop, nodes=(replace(event, stats=tuple(stats)),))]
    entries = {entry.kind: entry for entry in gather(trace, "late").advice}
    assert entries["imbalance"].explained_by == entries["load"].title
