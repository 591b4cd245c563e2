"""What is dropped from programs with extra calls: those, and what they leave alone, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scalatrace import Trace, extrap
from scalatrace.codegen.matching import check_deadlock
from scalatrace.errors import TextError
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.lossy import calls as calls_module
from scalatrace.extrap.lossy.extrapolate import LossyExtrapolation
from scalatrace.extrap.lossy.snippets.parse import parse
from scalatrace.replay.common.options import ComputeMode, ReplayOptions
from scalatrace.replay.run import run
from scalatrace.trace.consistency.partners import first_unmatched
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.vec import PROC_NULL
from support.calls import IssuedCall, call, record
from support.memory_transport import MemoryTransport
from support.rings import DOUBLE, EXTRA, HOWS, Extra, Script, ring

SIZES = (4, 5, 6, 8)
STEPS = 4


def lossy(traces: list[Trace], nprocs: int = 11, snippets: str | None = None) -> LossyExtrapolation:
    rules = None if snippets is None else parse(snippets)
    dims = [(trace.nprocs,) for trace in traces]
    return extrap.extrapolate_lossy(traces, nprocs, dims_of=dims, snippets=rules, max_dropped=1.0)


def replays(trace: Trace) -> None:
    """Nobody waits for what does not come, whatever is buffered and in whatever order."""
    assert first_unmatched(trace) is None
    assert check_deadlock(trace, synchronous=False) is None
    for rank in range(trace.nprocs):
        transport = MemoryTransport(rank, trace.nprocs)
        run(trace, transport, ReplayOptions(ComputeMode.NONE))
        assert len(transport.calls) == trace.nevents(rank)


def pattern(trace: Trace, rank: int) -> list[Any]:
    """The calls of the dominating pattern, without the ages of requests, which others shift."""
    return [
        (made.op, made.site, tuple((k, str(v)) for k, v in made.params.items() if k != "requests"))
        for made in trace.walk(rank)
        if int(made.site.split(":")[1]) < EXTRA
    ]


EXTRAS = st.lists(
    st.builds(Extra, st.integers(0, STEPS - 1), st.integers(0, 3), st.integers(0, 3), st.sampled_from(HOWS)),
    max_size=5,
    unique=True,
)


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,  # a call of all ranks in another step of one trace can take the step with it
)
@given(st.lists(EXTRAS, min_size=len(SIZES), max_size=len(SIZES)))
def test_the_dominating_pattern_is_exact_whatever_else_some_ranks_do(extras: list[list[Extra]]) -> None:
    traces = [ring(size, STEPS, some) for size, some in zip(SIZES, extras, strict=True)]
    found = lossy(traces)
    real = ring(11, STEPS)
    assert [pattern(found.trace, rank) for rank in range(11)] == [pattern(real, rank) for rank in range(11)]
    if found.trace.nevents() == real.nevents():
        assert diff(found.trace, real, ["times"]) == []
    assert found.checked
    assert found.alone is None
    replays(found.trace)
    for trace, losses in zip(traces, found.losses, strict=True):
        assert losses.events == trace.nevents()
        assert losses.dropped == sum(loss.calls for loss in losses.losses) <= losses.events
        assert all(int(loss.site.split(":")[1]) >= EXTRA for loss in losses.losses)


def test_an_odd_message_goes_rather_than_the_step_that_it_divides() -> None:
    """It comes before the first step in three traces and after it in the fourth."""
    extras = [[Extra(step, 0, 1, "blocking")] for step in (0, 0, 0, 1)]
    found = lossy([ring(size, STEPS, some) for size, some in zip(SIZES, extras, strict=True)])
    assert diff(found.trace, ring(11, STEPS), ["times"]) == []
    assert [losses.dropped for losses in found.losses] == [2, 2, 2, 2]


def test_without_anything_irregular_nothing_is_dropped() -> None:
    found = lossy([ring(size, STEPS) for size in SIZES])
    assert [losses.dropped for losses in found.losses] == [0, 0, 0, 0]
    assert diff(found.trace, ring(11, STEPS), ["times"]) == []


def test_what_is_dropped_is_counted_by_call_rank_and_reason() -> None:
    extras = [Extra(1, 2, 0, "among"), Extra(2, 1, 3, "among")]
    found = lossy([ring(4, STEPS, extras), ring(5, STEPS, extras[:1]), ring(6, STEPS), ring(8, STEPS)])
    plain = found.losses[0].plain()
    assert plain["dropped"] == 6
    assert plain["share"] == pytest.approx(6 / ring(4, STEPS, extras).nevents())
    ranks = {(row["op"], row["site"].split(":")[1]): row["by_rank"] for row in plain["calls"]}
    assert ranks == {
        ("Irecv", "98"): {"0": 1, "3": 1},
        ("Send", "99"): {"1": 1, "2": 1},
        ("Wait", "101"): {"0": 1, "3": 1},
    }
    assert found.losses[2].dropped == 0


def test_calls_have_times_after_those_that_are_before_them_now() -> None:
    extras = [Extra(step, 0, 1, "waited") for step in range(STEPS)]
    found = lossy([ring(size, STEPS, extras[: size % 4]) for size in SIZES])
    assert found.losses[1].dropped
    for rank in range(11):
        assert all(made.stat("compute_ns") is not None for made in found.trace.walk(rank))


def test_further_iterations_of_some_ranks_are_given_up() -> None:
    """Pairs of ranks exchange three times, and some pairs more often: three are left."""

    def body(rank: int, more: int) -> list[IssuedCall]:
        script = Script()
        for _ in range(3 + (more if rank // 2 == more % 3 else 0)):
            script.message("Send", 30, rank ^ 1)
            script.message("Recv", 31, rank ^ 1)
        script.collective("Barrier", 32)
        return script.calls

    sizes = (4, 6, 8, 10)
    traces = [
        record([body(rank, more) for rank in range(size)])
        for size, more in zip(sizes, (1, 4, 2, 3), strict=True)
    ]
    found = lossy(traces, 12)
    real = record([body(rank, 0) for rank in range(12)])
    assert diff(found.trace, real, ["times"]) == []
    assert {loss.reason.words for losses in found.losses for loss in losses.losses} == {
        "not common to all ranks"
    }


def test_the_partner_of_what_is_dropped_goes_and_a_sendrecv_loses_half() -> None:
    """The receives are dropped; what sent to them is a Sendrecv, which still receives."""
    steps = 2

    def body(rank: int, nprocs: int) -> list[IssuedCall]:
        right, left = (rank + 1) % nprocs, (rank - 1) % nprocs
        exchange = call(
            "Sendrecv", 40, sendcount=1, sendtype=DOUBLE, dest=right, sendtag=1,
            recvcount=1, recvtype=DOUBLE, source=left, recvtag=2, comm="world",
        )  # fmt: skip
        script = Script()
        script.message("Send", 39, right, tag=2)
        script.calls.append(exchange)
        script.message("Recv", 41, left, tag=1)
        return script.calls * steps

    traces = [record([body(rank, size) for rank in range(size)]) for size in SIZES]
    found = lossy(traces, 9, "drop Recv")
    replays(found.trace)
    for rank in range(9):
        calls = list(found.trace.walk(rank))
        assert [made.op for made in calls] == ["Send", "Sendrecv"] * steps
        assert calls[1]["dest"] == PROC_NULL
        assert calls[1]["source"] == (rank - 1) % 9
    assert found.losses[0].plain()["halves_to_proc_null"] == 2 * 4


def test_requests_have_new_ages_where_others_are_gone() -> None:
    def extras(size: int) -> list[Extra]:
        return [Extra(1, size - 2, 1, "among"), Extra(2, 0, size // 2, "among")]

    found = lossy([ring(size, STEPS, extras(size)[: 1 + size % 2]) for size in SIZES])
    assert diff(found.trace, ring(11, STEPS), ["times"]) == []


def test_snippets_keep_what_they_name_and_collectives() -> None:
    extras = [Extra(0, 0, 1, "blocking")]
    traces = [ring(size, STEPS, extras) for size in SIZES]
    found = lossy(traces, 11, "snippet ring { Irecv(source ~ 1)*2 Isend(dest ~ 1)*2 Waitall }")
    assert diff(found.trace, ring(11, STEPS), ["times"]) == []
    assert {loss.reason.words for loss in found.losses[0].losses} == {"in no snippet"}
    kept = lossy(traces, 11, "snippet ring { Irecv*2 Isend*2 Waitall } keep any(tag = 7)")
    assert diff(kept.trace, ring(11, STEPS, extras), ["times"]) == []


def test_what_a_snippet_holds_together_goes_together() -> None:
    """Without the second receive of a step the whole step goes, and with it that of all partners."""
    traces = [ring(size, 2) for size in SIZES]
    found = lossy(traces, 11, "snippet ring { Irecv*2 Isend*2 Waitall } drop Isend(dest = [(r+1)%P])")
    assert {made.op for made in found.trace.walk(3)} == {"Barrier"}
    assert found.losses[0].dropped == 4 * 2 * 5


@pytest.mark.parametrize(
    ("snippets", "reason"),
    [
        ("keep Isend(root = 1)", "1:12: MPI_Isend has no parameter root"),
        ("keep Isend(tag ~ 1)", "1:12: tag of MPI_Isend is no rank"),
        ("keep Isend(dest ~ (1, 0))", "1:12: 2 distances in a grid of 4"),
        ("keep Isend(tag = [Q])", "1:12: the formula Q needs a value for Q"),
    ],
)
def test_a_snippet_that_does_not_fit_its_calls(snippets: str, reason: str) -> None:
    with pytest.raises(TextError) as error:
        lossy([ring(size, 1) for size in SIZES], 11, snippets)
    assert reason in str(error.value)


def test_nothing_is_left() -> None:
    with pytest.raises(ExtrapolationError, match="nothing is left"):
        lossy([ring(size, 1) for size in SIZES], 11, "drop any")


def test_what_makes_communicators_cannot_be_dropped() -> None:
    def body(rank: int, size: int) -> list[IssuedCall]:
        return [call("Comm_test_thing", 50, color=(7 * rank * rank + size) % 5, comm="world")]

    traces = [record([body(rank, size) for rank in range(size)]) for size in SIZES]
    with pytest.raises(ExtrapolationError, match="no formula found for color of Comm_test_thing"):
        lossy(traces)


def test_too_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "MAX_CALLS", 10)
    with pytest.raises(InputError, match="record fewer steps"):
        lossy([ring(size, 1) for size in SIZES])


def test_two_traces_of_one_size_but_other_grids() -> None:
    def trace(x: int, y: int) -> Trace:
        def body(rank: int) -> list[IssuedCall]:
            i, j = divmod(rank, y)
            script = Script()
            script.message("Send", 60, (i + 1) % x * y + j)
            script.message("Recv", 61, (i - 1) % x * y + j)
            script.message("Send", 62, i * y + (j + 1) % y, tag=2)
            script.message("Recv", 63, i * y + (j - 1) % y, tag=2)
            return script.calls

        return record([body(rank) for rank in range(x * y)])

    dims = [(4, 3), (3, 4), (5, 3), (4, 4)]
    found = extrap.extrapolate_lossy([trace(*one) for one in dims], 42, (6, 7), dims_of=dims)
    assert diff(found.trace, trace(6, 7), ["times"]) == []
    with pytest.raises(InputError, match="same number of ranks"):
        extrap.extrapolate([trace(*one) for one in dims], 42, (6, 7))
