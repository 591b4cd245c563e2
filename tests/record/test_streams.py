"""Threads of a rank are streams: random programs whose threads share requests and communicators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given

from record.conftest import Builder, Traced
from scalatrace import Trace, load
from scalatrace.cli.export import with_senders
from scalatrace.executor.matching import Matching, SenderPolicy
from scalatrace.operations import is_collective
from scalatrace.predict.engine.simulate import simulate
from scalatrace.predict.platform import read_platform
from scalatrace.predict.timeline import Timeline
from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.consistency.partners import first_unmatched
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import dumps
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import at
from scalatrace.trace.model.tables import SharedKind
from scalatrace.trace.query.requests import thread_requests
from scalatrace.trace.threads import uses_of_rank
from support.mpis import Mpi
from support.running import record, scalatrace
from support.thread_scripts import NITERATIONS, NRANKS, Script, random_runs, scripts

pytestmark = pytest.mark.mpi


def _slot(creator: object) -> int:
    """Return the slot of the request that a call made."""
    assert isinstance(creator, Call)
    return int(creator["count"]) - 2000 + ("send" in creator.op.lower())


def check_uses(script: Script, trace: Trace) -> None:
    """Check that each thread's calls name the requests that it used."""
    for rank in range(NRANKS):
        found: dict[int, list[tuple[int, ...]]] = {thread: [] for thread in range(script.nthreads)}
        for use in thread_requests(trace, rank):
            slots = tuple(map(_slot, use.creators))
            found[use.call.thread].append(tuple(sorted(slots)) if use.call.op == "Waitsome" else slots)
        for thread in range(script.nthreads):
            assert found[thread] == NITERATIONS * [slots for user, slots in script.uses if user == thread]


def check_turns(trace: Trace) -> None:
    """Check that the orders of threads have each thread as often as it makes collective calls."""
    for family, order in trace.turns.items():
        for rank in range(NRANKS):
            vec = at(order, rank)
            assert vec is not None
            calls = Counter(
                call.thread
                for call in trace.walk(rank)
                if is_collective(call.op) and "comm" in call and call.raw("comm") == family
            )
            assert Counter(islice(vec, sum(calls.values()))) == calls


def check_execution(trace: Trace) -> None:
    """Check that streams side by side come to their ends, without time and on a platform."""
    assert simulate(trace, read_platform("cluster")).nevents == trace.nevents()
    for policy in SenderPolicy:
        execution = Matching(trace).execute(policy, synchronous=False)
        assert execution.ended
        assert not execution.left()


def check_time_line(trace: Trace) -> None:
    """Check that each thread has a line with all its calls, and that messages are sent before they come."""
    timeline = Timeline(with_senders(trace))
    sent, received = dict[str, int](), dict[str, int]()
    for line in timeline.lines:
        events = list(timeline.events(*line))
        assert [event.call.op for event in events] == [call.op for call in trace.walk(*line)]
        assert all(before.end_ns <= after.start_ns for before, after in pairwise(events))
        for event in events:
            sent |= {message.name: event.start_ns for message in event.messages if message.sent}
            received |= {message.name: event.end_ns for message in event.messages if not message.sent}
    assert timeline.count() == trace.nevents()
    assert received.keys() == sent.keys()
    assert all(received[name] > sent[name] for name in sent)


@pytest.mark.parametrize("nprograms", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_random_threads(
    any_mpi: Mpi, build: Builder, tmp_path_factory: pytest.TempPathFactory, nprograms: int
) -> None:
    """The trace is lossless for each thread, and names the right requests whichever thread made them."""
    program = build(any_mpi, "streams.c")

    @random_runs(nprograms)
    @given(script=scripts(partitioned=any_mpi.family == "mpich"))
    def check(script: Script) -> None:
        folder = tmp_path_factory.mktemp("random")
        source, path, logs = folder / "script", folder / "a.st", folder / "logs"
        source.write_text(script.text(NITERATIONS))
        finished = record(any_mpi, NRANKS, [program, source], path, options=["--flat-log", logs], timeout=60)
        if finished.returncode == 77:
            pytest.skip(f"{any_mpi.name} has no MPI_THREAD_MULTIPLE")
        finished.check()
        assert "lossless" in scalatrace(any_mpi, "verify", path, logs).check().stdout
        trace = load(path)
        assert first_unmatched(trace) is None
        assert first_conflict(trace) is None
        if trace.has_streams:
            if not script.partitioned:
                check_uses(script, trace)
            check_turns(trace)
            check_execution(trace)
            check_time_line(trace)
            assert loads(dumps(trace)) == trace
            assert parse(text(trace)) == trace

    check()


TWO_THREADS = """\
2 40
0 sleep 100
0 barrier 0
1 irecv 0 8 1 0
1 isend 1 8 1 0
1 waitall 0 1
"""


@pytest.fixture
def run_script(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> Callable[[str], Traced]:
    """Record the program of threads with a script."""

    def run(script: str) -> Traced:
        source = tmp_path / "script"
        source.write_text(script)
        result = traced(any_mpi, NRANKS, [build(any_mpi, "streams.c"), source])
        if result.finished.returncode == 77:
            pytest.skip(f"{any_mpi.name} has no MPI_THREAD_MULTIPLE")
        return result

    return run


def test_interleaving_leaves_no_trace(run_script: Callable[[str], Traced]) -> None:
    """Threads that use nothing of each other take as few nodes as two programs."""
    result = run_script(TWO_THREADS)
    trace = load(result.trace)
    assert trace.threads == [0, 1]
    assert trace.nnodes <= 6
    assert trace.turns == {}


SHARED_CALLS = """\
3 6
0 dup 0 1
0 signal 0
1 await 0
1 irecv 0 2000 0 1
2 isend 1 2000 0 0
0 irecv 2 2002 0 0
1 isend 3 2000 0 1
1 signal 1
0 await 1
0 signal 2
2 await 2
2 waitall 0 3
0 waitall 1 2
0 barrier 0
0 signal 3
1 await 3
1 barrier 0
0 exchange 100 7 0 3
1 exchange 50 7 0 3
2 signal 4
0 await 4
0 release 1
"""
"""Threads that use requests and a communicator of another one, take turns, and share a channel."""


def test_replay(any_mpi: Mpi, run_script: Callable[[str], Traced], tmp_path: Path) -> None:
    """A replay has as many threads, which make the same calls."""
    result = run_script(SHARED_CALLS)
    if any_mpi.python is None:
        pytest.skip(f"no mpi4py for {any_mpi.name}")
    check_replay_of(any_mpi, result.trace, tmp_path)


def test_replayed_threads_end_together(
    any_mpi: Mpi, run_script: Callable[[str], Traced], tmp_path: Path
) -> None:
    """No thread of a replay ends and leaves its number to one that makes its first call later."""
    result = run_script(LATE_THREAD)
    if any_mpi.python is None:
        pytest.skip(f"no mpi4py for {any_mpi.name}")
    assert load(result.trace).threads == [0, 1, 2]
    check_replay_of(any_mpi, result.trace, tmp_path)


SEVERAL_OBJECTS = """\
2 3
0 dup 0 1
0 signal 0
1 await 0
0 window 0 0
0 fence 0
0 put 0 0 8
0 fence 0
0 closewindow 0
1 precv 0 2000 0 1
1 psend 1 2000 0 1
1 start 0
1 start 1
1 waitall 0 1
1 free 0
1 free 1
0 signal 1
1 await 1
1 release 1
"""
"""Each thread uses objects of its own."""

PERSISTENT = """\
2 3
0 precv 0 2000 0 0
0 psend 1 2000 0 0
0 start 0
0 start 1
0 signal 0
1 await 0
1 waitall 0 1
1 signal 1
0 await 1
0 free 0
0 free 1
"""


LATE_THREAD = """\
3 1
1 irecv 0 8 1 0
1 isend 1 8 1 0
1 waitall 0 1
0 window 0 0
0 sleep 200000
0 lock 0 0
0 signal 0
2 await 0
2 unlock 0 0
2 signal 1
0 await 1
0 closewindow 0
"""
"""A thread makes its first call long after another one has made its last call."""


def check_replay_of(any_mpi: Mpi, path: Path, folder: Path) -> None:
    """Replay a trace under the recorder, and compare the two traces."""
    again = folder / "again.st"
    words = [*any_mpi.scalatrace(), "replay", "--verify", "--stall-limit", "20", path]
    assert "verified" in record(any_mpi, NRANKS, words, again, timeout=90).check().stdout
    replayed = load(again)
    replayed.strings = [text.removeprefix("replay-io/") for text in replayed.strings]
    again.write_bytes(dumps(replayed))
    assert scalatrace(any_mpi, "diff", "--ignore", "callsites,times", path, again).check()


@pytest.mark.parametrize("nprograms", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_replays_of_random_threads(
    any_mpi: Mpi, build: Builder, tmp_path_factory: pytest.TempPathFactory, nprograms: int
) -> None:
    """A replay makes the recorded calls, by the same threads, with what they share in the recorded order."""
    program = build(any_mpi, "streams.c")
    if any_mpi.python is None:
        pytest.skip(f"no mpi4py for {any_mpi.name}")

    @random_runs(nprograms)
    @given(script=scripts(partitioned=any_mpi.family == "mpich"))
    def check(script: Script) -> None:
        folder = tmp_path_factory.mktemp("replayed")
        source, path = folder / "script", folder / "a.st"
        source.write_text(script.text(NITERATIONS))
        finished = record(any_mpi, NRANKS, [program, source], path, timeout=60)
        if finished.returncode == 77:
            pytest.skip(f"{any_mpi.name} has no MPI_THREAD_MULTIPLE")
        finished.check()
        check_replay_of(any_mpi, path, folder)

    check()


def test_persistent_requests_in_order(
    any_mpi: Mpi, run_script: Callable[[str], Traced], tmp_path: Path
) -> None:
    """Another thread completes what one starts and frees: the trace has the order, and a replay keeps it."""
    result = run_script(PERSISTENT)
    trace = load(result.trace)
    assert [name[0] for name in trace.uses] == [SharedKind.REQUEST]
    orders = uses_of_rank(trace.uses, 0)
    assert orders == {(SharedKind.REQUEST, 0, ordinal): [0, 2, 0] for ordinal in range(6)}
    if any_mpi.python is not None:
        check_replay_of(any_mpi, result.trace, tmp_path)


def test_objects_of_one_thread_have_no_order(run_script: Callable[[str], Traced]) -> None:
    result = run_script(SEVERAL_OBJECTS)
    assert load(result.trace).uses == {}
