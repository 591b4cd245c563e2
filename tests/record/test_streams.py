"""Threads of a rank are streams: random programs whose threads share requests and communicators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from record.conftest import Builder, Traced
from scalatrace import Trace, load
from scalatrace.codegen.generate import generate
from scalatrace.errors import ScalatraceError
from scalatrace.executor.matching import Matching, SenderPolicy
from scalatrace.operations import is_collective
from scalatrace.predict.engine.simulate import SimulationThreadsError, simulate
from scalatrace.predict.platform import read_platform
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
from scalatrace.trace.threads import order_note, uses_of_rank
from support.mpis import Mpi
from support.running import record, scalatrace

pytestmark = pytest.mark.mpi

NRANKS = 3


@dataclass
class Script:
    """A program for streams.c; what a thread does waits for what it needs of other threads.

    Attributes:
        uses: (thread, slots) of each start, completion or end of requests in an iteration.
        last_user: the thread that used a request or a communicator last.
        overlapping: threads that have used it since, at the same time.
    """

    nthreads: int
    lines: list[str] = field(default_factory=list)
    uses: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    nslots: int = 0
    ncomms: int = 1
    nobjects: int = 0
    nsignals: int = 0
    last_user: dict[object, int] = field(default_factory=dict)
    overlapping: dict[object, set[int]] = field(default_factory=dict)
    partitioned: bool = False

    def add(self, thread: int, line: str, *needs: object, overlaps: bool = False) -> None:
        """Add a line after the last use of what it needs, by whichever thread.

        Args:
            overlaps: it may come at the same time as other such lines.
        """
        for need in needs:
            before = {self.last_user.get(need, thread)}
            if overlaps:
                self.overlapping.setdefault(need, set()).add(thread)
            else:
                before |= self.overlapping.pop(need, set())
                self.last_user[need] = thread
            for last in sorted(before - {thread}):
                self.lines += [f"{last} signal {self.nsignals}", f"{thread} await {self.nsignals}"]
                self.nsignals += 1
        self.lines.append(f"{thread} {line}")

    def text(self, niterations: int) -> str:
        return "\n".join([f"{self.nthreads} {niterations}", *self.lines, ""])


STEPS = (
    "request", "request", "any", "persistent", "probe", "exchange", "end", "collective", "dup", "split",
    "sleep", "fences", "locks", "file", "partitioned",
)  # fmt: skip


@st.composite
def scripts(draw: st.DrawFn, partitioned: bool = True) -> Script:
    """Draw a program without deadlocks: each rank exchanges messages with its neighbours on a ring.

    Args:
        partitioned: with partitioned messages. Those of Open MPI 5 hang where several threads make them.
    """
    script = Script(draw(st.integers(2, 4)))
    threads = st.integers(0, script.nthreads - 1)
    open_slots: list[tuple[int, bool]] = []  # slot, whether it is persistent
    for _ in range(draw(st.integers(2, 10))):
        step = draw(st.sampled_from(STEPS))
        thread = draw(threads)
        comm = draw(st.integers(0, script.ncomms - 1))
        if step in ("request", "any", "persistent") and script.nslots < 40:
            tag = script.nslots
            for kind in ("recv", "send"):
                letter = "any" if (step, kind) == ("any", "recv") else "p" if step == "persistent" else "i"
                slot, script.nslots = script.nslots, script.nslots + 1
                maker = draw(threads)
                script.add(
                    maker, f"{letter}{kind} {slot} {2000 + tag} {tag} {comm}", ("comm", comm), ("slot", slot)
                )
                if letter == "p":
                    starter = draw(threads)
                    script.add(starter, f"start {slot}", ("slot", slot))
                    script.uses.append((starter, (slot,)))
                open_slots.append((slot, letter == "p"))
        elif step == "end":
            _end(draw, script, thread, open_slots, draw(st.integers(1, 4)))
        elif step == "collective":
            script.add(thread, f"{draw(st.sampled_from(['barrier', 'reduce']))} {comm}", ("comm", comm))
        elif step in ("dup", "split") and script.ncomms < 8:
            script.add(thread, f"{step} {comm} {script.ncomms}", ("comm", comm), ("comm", script.ncomms))
            script.ncomms += 1
        elif step == "exchange":
            script.add(thread, f"exchange 64 3000 {comm} {draw(st.integers(1, 3))}", ("comm", comm))
        elif step == "probe" and script.nslots < 40:
            slot, script.nslots = script.nslots, script.nslots + 2
            script.add(draw(threads), f"isend {slot + 1} {2000 + slot} {slot} {comm}", ("comm", comm))
            script.last_user["slot", slot + 1] = int(script.lines[-1].split()[0])
            open_slots.append((slot + 1, False))
            script.add(thread, f"mprobe {slot} {slot} {comm}", ("comm", comm), ("message", slot))
            script.add(draw(threads), f"mrecv {slot} {2000 + slot}", ("message", slot))
        elif step in ("fences", "locks"):
            _window(draw, script, comm, step == "fences")
        elif step == "file":
            _file(draw, script)
        elif step == "partitioned" and partitioned and script.nslots < 40:
            _partitioned(draw, script, comm)
        elif step == "sleep":
            script.add(thread, f"sleep {draw(st.integers(1, 300))}")
    while open_slots:
        _end(draw, script, draw(threads), open_slots, draw(st.integers(1, 4)))
    for comm in range(1, script.ncomms):
        script.add(draw(threads), f"release {comm}", ("comm", comm))
    return script


def _window(draw: st.DrawFn, script: Script, comm: int, fences: bool) -> None:
    """Put into a window from several threads at the same time, in epochs that any threads begin and end."""
    threads = st.integers(0, script.nthreads - 1)
    window, script.nobjects = script.nobjects, script.nobjects + 1
    use, shared = ("window", window), ("comm", comm)
    script.add(draw(threads), f"window {window} {comm}", use, shared)
    if fences:
        script.add(draw(threads), f"fence {window}", use, shared)
    for _ in range(draw(st.integers(1, 2))):
        if not fences:
            script.add(draw(threads), f"lock {window} {comm}", use)
        for _ in range(draw(st.integers(1, 4))):
            nbytes = draw(st.integers(1, 64))
            script.add(draw(threads), f"put {window} {comm} {nbytes}", use, overlaps=True)
        if fences:
            script.add(draw(threads), f"fence {window}", use, shared)
        else:
            script.add(draw(threads), f"unlock {window} {comm}", use)
    script.add(draw(threads), f"closewindow {window}", use, shared)


def _file(draw: st.DrawFn, script: Script) -> None:
    """Write to a file at its pointer, in an order, and at offsets, in none."""
    threads = st.integers(0, script.nthreads - 1)
    file, script.nobjects = script.nobjects, script.nobjects + 1
    # Two threads that open files on one communicator at the same time give them numbers in any order.
    script.add(draw(threads), f"file {file}", ("file", file), "opening")
    for _ in range(draw(st.integers(1, 4))):
        overlaps, nbytes = draw(st.booleans()), draw(st.integers(1, 64))
        line = f"writeat {file} {nbytes} 256" if overlaps else f"write {file} {nbytes}"
        script.add(draw(threads), line, ("file", file), overlaps=overlaps)
    script.add(draw(threads), f"closefile {file}", ("file", file), "opening")


def _partitioned(draw: st.DrawFn, script: Script, comm: int) -> None:
    """Send partitions from several threads at the same time."""
    threads = st.integers(0, script.nthreads - 1)
    receive, send = script.nslots, script.nslots + 1
    script.nslots += 2
    script.partitioned = True
    # Partitioned requests match in the order in which they are made.
    script.add(
        draw(threads),
        f"partrecv {receive} {500 + receive} {receive} {comm}",
        ("comm", comm),
        ("slot", receive),
    )
    script.add(
        draw(threads), f"partsend {send} {500 + receive} {receive} {comm}", ("comm", comm), ("slot", send)
    )
    for _ in range(draw(st.integers(1, 2))):
        for slot in (receive, send):
            script.add(draw(threads), f"start {slot}", ("slot", slot))
        for partition in range(4):
            script.add(draw(threads), f"ready {send} {partition}", ("slot", send), overlaps=True)
        for slot in draw(st.permutations([receive, send])):
            script.add(draw(threads), f"wait {slot}", ("slot", slot))
    for slot in (receive, send):
        script.add(draw(threads), f"free {slot}", ("slot", slot))


def _end(draw: st.DrawFn, script: Script, thread: int, open_slots: list[tuple[int, bool]], n: int) -> None:
    """Complete some requests."""
    chosen = [
        open_slots.pop(draw(st.integers(0, len(open_slots) - 1))) for _ in range(min(n, len(open_slots)))
    ]
    if not chosen:
        return
    slots = [slot for slot, _ in chosen]
    before = [line.split()[1] for line in script.lines if line.startswith(f"{thread} ")]
    calls = [operation for operation in before if operation not in ("signal", "await", "sleep")]
    joins = not calls or calls[-1] == "waitsome"  # consecutive ones become one event
    operation = (
        "wait" if len(slots) == 1 else draw(st.sampled_from(["waitall", "waitall" if joins else "waitsome"]))
    )
    needs = [("slot", slot) for slot in slots]
    script.add(thread, f"{operation} {' '.join(map(str, slots))}", *needs)
    script.uses.append((thread, tuple(sorted(slots)) if operation == "waitsome" else tuple(slots)))
    for slot, persistent in chosen:
        if persistent:
            freer = draw(st.integers(0, script.nthreads - 1))
            script.add(freer, f"free {slot}", ("slot", slot))
            script.uses.append((freer, (slot,)))


NITERATIONS = 5


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
    try:
        simulation = simulate(trace, read_platform("cluster"))
    except SimulationThreadsError:  # the order of uses of shared persistent requests is not known
        assert any(op.name == "Start" for op in trace.ops)
        return
    assert simulation.nevents == trace.nevents()
    for policy in SenderPolicy:
        execution = Matching(trace).execute(policy, synchronous=False)
        if not order_note(trace):
            assert execution.ended
            assert not execution.left()


@pytest.mark.parametrize("nprograms", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_random_threads(
    any_mpi: Mpi, build: Builder, tmp_path_factory: pytest.TempPathFactory, nprograms: int
) -> None:
    """The trace is lossless for each thread, and names the right requests whichever thread made them."""
    program = build(any_mpi, "streams.c")

    @settings(
        max_examples=nprograms,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        phases=[Phase.generate],
    )
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

    @settings(
        max_examples=nprograms,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        phases=[Phase.generate],
    )
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


def test_no_generated_program(run_script: Callable[[str], Traced]) -> None:
    trace = load(run_script(PERSISTENT).trace)
    for language in ("c", "python", "ncptl"):
        with pytest.raises(ScalatraceError, match=f"cannot generate a benchmark in {language}: 2 threads"):
            generate(trace, language)
