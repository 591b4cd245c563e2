"""Stat plug-ins: what is measured besides times."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import scalatrace as package
from record.conftest import Builder, Traced
from scalatrace.errors import UsageError
from scalatrace.record.policy import from_toml
from scalatrace.record.shim import INCLUDE
from scalatrace.record.stats import BUILTINS, parse_stats
from scalatrace.report.stats import StatsReporter
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.histogram import Histogram
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, record, run, scalatrace

Run = Callable[..., Traced]

#: Five steps that allocate 64 MiB, sleep or compute before a call, on every rank.
WORK = """\
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
kept = []
comm.Barrier()
for _ in range(5):
    kept.append(b"x" * (64 << 20) if kept else b"x" * (64 << 20))
    comm.Bcast(bytearray(1))
for _ in range(5):
    time.sleep(0.05)
    comm.Send(b"", MPI.PROC_NULL)
for _ in range(5):
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
    comm.Recv(bytearray(1), MPI.PROC_NULL)
"""

PLUGIN = """\
import scalatrace
class Ones(scalatrace.Stat):
    name = "ones"
    resolution = 0.5
    def start(self):
        self.began = True
    def end(self):
        assert self.began
        return 2.5 if self.inside else 1
class Sends(scalatrace.Stat):
    name = "sends"
    def end(self):
        return 1 if self.operation == "Send" else float("nan")
class Fails(scalatrace.Stat):
    name = "fails"
    def end(self):
        if self.operation == "Send":
            raise RuntimeError("on purpose")
        return 7
class Never(scalatrace.Stat):
    name = "never"
    def __init__(self):
        raise RuntimeError("not to be made")
"""

#: A plug-in during which Ctrl-C comes, and a program that waits for it.
INTERRUPTS = """\
import signal, scalatrace
class Interrupts(scalatrace.Stat):
    name, calls = "interrupts", 0
    def end(self):
        self.calls += 1
        if self.calls == 50:
            signal.raise_signal(signal.SIGINT)
        return self.calls
"""
INTERRUPTED = """\
import signal, sys
from mpi4py import MPI
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the test's own starter ignores it
if sys.argv[1] == "exit":
    signal.signal(signal.SIGINT, lambda *_: sys.exit(5))
try:
    for i in range(1000):
        MPI.COMM_WORLD.Send(b"", MPI.PROC_NULL)
except KeyboardInterrupt:
    print("interrupted", 20 < i < 40)
"""

#: Polls that answer "not yet", Waitsome sequences, two threads.
POLLS = """\
import threading, time
from mpi4py import MPI
comm = MPI.COMM_SELF
if MPI.COMM_WORLD.rank == 0:
    request = MPI.COMM_WORLD.Irecv(bytearray(1), 1)
    while not MPI.Request.Testall([request]):
        pass
else:
    time.sleep(0.2)
    MPI.COMM_WORLD.Ssend(b"x", 0)
request = comm.Irecv(bytearray(1), 0)
for _ in range(3):
    assert not request.Test()
comm.Send(b"x", 0)
while not request.Test():
    pass
def barriers(own):
    for _ in range(4):
        own.Barrier()
for own in (comm.Dup(), comm.Dup()):
    thread = threading.Thread(target=barriers, args=(own,))
    thread.start()
    thread.join()
requests = [comm.Isend(b"x", MPI.PROC_NULL) for _ in range(4)]
MPI.Request.Waitsome(requests)
"""

COUNTER = """\
#include <st_plugin.h>
static double end(void *state, const struct st_plugin_call *call) {
    (void)state;
    return call->window == ST_IN_CALL ? 10 + call->rank : call->operation[0];
}
ST_PLUGIN = {.version = ST_PLUGIN_VERSION, .name = "counter", .resolution = 1, .end = end};
"""


def samples(trace: Trace, stat: str, op: str | None = None) -> list[Histogram]:
    """The histograms of a statistic, of an operation or of all."""
    index = trace.stat_index[stat]
    return [
        result.scaled(trace.stats[index].resolution)
        for leaf in trace.leaves()
        for stats in leaf.stats
        if op in (None, trace.ops[leaf.op].name) and (result := stats.histograms[index])
    ]


def count(trace: Trace, stat: str, op: str | None = None) -> int:
    return sum(h.count for h in samples(trace, stat, op))


def mean(trace: Trace, stat: str, op: str) -> float:
    return sum(h.total for h in samples(trace, stat, op)) / count(trace, stat, op)


@pytest.fixture
def library(openmpi: Mpi, tmp_path: Path) -> Path:
    """A plug-in in C, compiled as a user would."""
    return compiled(openmpi, tmp_path, COUNTER)


def compiled(mpi: Mpi, folder: Path, source: str, name: str = "counter") -> Path:
    (folder / f"{name}.c").write_text(source)
    include = scalatrace(mpi, "doctor", "--include").check().stdout.strip()
    assert Path(include) == INCLUDE
    made = folder / f"lib{name}.so"
    flags = ["-Wall", "-Werror", "-shared", "-fPIC", f"-I{include}"]
    run(["cc", *flags, "-o", made, folder / f"{name}.c"]).check()
    return made


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A file with plug-ins in Python."""
    (tmp_path / "mine.py").write_text(PLUGIN)
    return tmp_path / "mine.py"


# -- names ---------------------------------------------------------------------------------------------------


def test_names(tmp_path: Path) -> None:
    (tmp_path / "libx.so").write_bytes(b"... st_plugin ...")
    (tmp_path / "x.py").write_text("")
    words = ["cpu", "memory:call", f"{tmp_path}/libx.so:both", f"{tmp_path}/x.py:A.B:call", "a.b:C"]
    assert [spec.entry for spec in parse_stats(words)] == [
        f"2 python {tmp_path}/x.py:A.B",
        "1 python a.b:C",
        f"3 library {tmp_path}/libx.so",
        "1 builtin cpu",
        "2 builtin memory",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cpus"], "give cpu, instructions, memory"),
        (["cpu:inside"], "unknown statistic"),
        (["./none.so"], "No such file"),
        (["none.py:A"], "No such file"),
        (["/dev/null.so"], "No such file|Not a directory"),
        (["cpu", "cpu:call"], "measures cpu a second time; give it once"),
        ([""], "unknown statistic"),
        ([f"m{i}:C:both" for i in range(7)], "more than 12 statistics"),
    ],
)
def test_mistakes_in_names(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_stats(words)


def test_a_library_that_is_no_plugin(tmp_path: Path) -> None:
    (tmp_path / "libx.so").write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match="exports no st_plugin"):
        parse_stats([str(tmp_path / "libx.so")])


def test_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('stats = ["cpu:both"]\n[parameters]\ntag = "drop"\n')
    policy = from_toml(tmp_path / "p.toml")
    assert policy.environment()["SCALATRACE_STATS"] == "3 builtin cpu"
    assert policy.meta()["stats"] == "cpu:both"
    (tmp_path / "p.toml").write_text('stats = "cpu"\n')
    with pytest.raises(UsageError, match="list of strings"):
        from_toml(tmp_path / "p.toml")


def test_an_unknown_name_ends_before_the_program_runs(openmpi: Mpi, tmp_path: Path) -> None:
    done = run(
        [*openmpi.recorder(), "--stat", "nonesuch", "--", "touch", tmp_path / "ran"],
        env=openmpi.environment(),
    )
    assert done.returncode == 2
    assert all(name in done.stderr for name in BUILTINS)
    assert not (tmp_path / "ran").exists()


# -- recording -----------------------------------------------------------------------------------------------


@pytest.mark.mpi
def test_builtins(mpi: Mpi, traced: Run) -> None:
    done = traced(mpi, 2, [str(mpi.python), "-c", WORK], "--stat", "cpu:both", "--stat", "memory")
    done.finished.check()
    trace = package.load(done.trace)
    assert count(trace, "cpu_ns") == count(trace, "cpu_ns.call") == trace.nevents() == 2 * 16
    assert count(trace, "memory_bytes") == 2 * 16
    memory = samples(trace, "memory_bytes", "Bcast")
    assert max(h.max for h in memory) - min(h.min for h in memory) > 3.9 * (64 << 20)
    assert mean(trace, "cpu_ns", "Send") < 0.5 * mean(trace, "compute_ns", "Send")
    assert mean(trace, "cpu_ns", "Recv") > 49e6
    assert mean(trace, "cpu_ns.call", "Recv") < 10e6
    # Without the histograms of 0.2 %: CPU time is no more than wall time.
    assert mean(trace, "cpu_ns", "Recv") < 1.01 * mean(trace, "compute_ns", "Recv")


@pytest.mark.mpi
def test_instructions_or_a_word_about_them(openmpi: Mpi, traced: Run) -> None:
    done = traced(openmpi, 3, [str(openmpi.python), "-c", WORK], "--stat", "instructions:both")
    trace = package.load(done.trace)
    said = done.finished.check().warnings
    if "instructions is not measured" in said:
        assert said.count("instructions") == 1
        assert "instructions" not in trace.stat_index
    else:
        assert mean(trace, "instructions", "Recv") > 10 * mean(trace, "instructions", "Send")


@pytest.mark.mpi
def test_a_c_program(openmpi: Mpi, build: Builder, traced: Run) -> None:
    done = traced(openmpi, 2, [build(openmpi, "pointtopoint.c")], "--stat", "memory:both", "--stat", "cpu")
    done.finished.check()
    trace = package.load(done.trace)
    for stat in ("memory_bytes", "memory_bytes.call", "cpu_ns"):
        assert count(trace, stat) == trace.nevents() > 20
    assert all(h.min > 1e5 for h in samples(trace, "memory_bytes"))


@pytest.mark.mpi
def test_a_plugin_in_c(mpi: Mpi, library: Path, traced: Run) -> None:
    done = traced(mpi, 3, [str(mpi.python), "-c", WORK], "--stat", f"{library}:both")
    done.finished.check()
    trace = package.load(done.trace)
    assert count(trace, "counter") == count(trace, "counter.call") == trace.nevents()
    assert mean(trace, "counter", "Bcast") == ord("B")
    (first, *_) = samples(trace, "counter.call", "Send")
    assert (first.min, first.max, first.mean) == (10, 12, 11)


@pytest.mark.mpi
def test_plugins_in_python(mpi: Mpi, plugin: Path, traced: Run) -> None:
    stats = ["--stat", f"{plugin}:Ones:both", "--stat", f"{plugin}:Sends:call", "--stat", "cpu"]
    done = traced(mpi, 3, [str(mpi.python), "-c", WORK], *stats)
    assert done.finished.check().warnings == ""
    trace = package.load(done.trace)
    assert count(trace, "ones") == count(trace, "ones.call") == trace.nevents()
    assert {h.mean for h in samples(trace, "ones.call")} == {2.5}
    assert {h.mean for h in samples(trace, "ones")} == {1}
    assert count(trace, "sends.call") == count(trace, "sends.call", "Send") == 15


@pytest.mark.mpi
def test_a_plugin_that_raises(mpi: Mpi, plugin: Path, traced: Run) -> None:
    stats = [f"{plugin}:Fails", f"{plugin}:Never", f"{plugin}:Missing", "nonesuch:Class", f"{plugin}:Ones"]
    options = [word for stat in stats for word in ("--stat", stat)]
    done = traced(mpi, 1, [str(mpi.python), "-c", WORK], *options)
    said = done.finished.check().warnings
    assert said.count("on purpose (mine.py:") == said.count("not to be made") == 1
    assert said.count("Missing") == said.count("nonesuch") == 2  # the stat, and the exception
    assert "Traceback" not in said
    trace = package.load(done.trace)
    assert {h.mean for h in samples(trace, "fails")} == {7}
    assert count(trace, "fails") == 6
    assert count(trace, "ones") == trace.nevents() == 16


@pytest.mark.mpi
@pytest.mark.parametrize(("how", "status", "said"), [("catch", 0, "interrupted True\n"), ("exit", 5, "")])
def test_what_a_signal_handler_raises_is_the_programs(
    openmpi: Mpi, how: str, status: int, said: str, tmp_path: Path
) -> None:
    """Also where it runs while a plug-in does."""
    (tmp_path / "mine.py").write_text(INTERRUPTS)
    (tmp_path / "app.py").write_text(INTERRUPTED)
    command = [*openmpi.recorder(), "-o", tmp_path / "a.st", "--stat", "mine.py:Interrupts:both"]
    argv = [*command, "--", str(openmpi.python), tmp_path / "app.py", how]
    done = run(argv, env=openmpi.environment(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.warnings) == (status, said, "")


@pytest.mark.mpi
def test_python_plugins_need_python(openmpi: Mpi, build: Builder, plugin: Path, traced: Run) -> None:
    done = traced(openmpi, 3, [build(openmpi, "pointtopoint.c")], "--stat", f"{plugin}:Ones")
    assert done.finished.check().stderr.count("the program is not Python") == 1
    assert len(package.load(done.trace).stats) == 4


@pytest.mark.mpi
def test_several_calls_that_are_one_event(openmpi: Mpi, plugin: Path, library: Path, traced: Run) -> None:
    """Amounts of polls add up, a level stays one; threads have states of their own."""
    stats = ["--stat", f"{plugin}:Ones:both", "--stat", "memory:call", "--stat", f"{library}:call"]
    done = traced(openmpi, 2, [str(openmpi.python), "-c", POLLS], *stats)
    assert done.finished.check().warnings == ""
    trace = package.load(done.trace)
    assert trace.nevents() == count(trace, "ones.call") == count(trace, "memory_bytes.call")
    assert count(trace, "ones") == trace.nevents() - 4  # a thread's first call has nothing before it
    polls = mean(trace, "polls", "Testall")
    assert polls > 1
    assert mean(trace, "ones", "Testall") == polls
    assert mean(trace, "ones.call", "Testall") == 2.5 * polls
    assert mean(trace, "counter.call", "Testall") == 10 * polls
    assert mean(trace, "memory_bytes.call", "Testall") < 1 << 30
    # Its own, and those before the three polls, which no poll that succeeds follows at once.
    assert mean(trace, "ones", "Send") == 4
    assert mean(trace, "ones.call", "Send") == 2.5


@pytest.mark.mpi
def test_programs_that_start_together_may_measure_different_things(
    openmpi: Mpi, plugin: Path, library: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "a.st"
    python = str(openmpi.python)
    barrier = [python, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]
    tracer = [*openmpi.recorder(), "-o", trace]
    first = [*tracer, "--stat", "memory", "--stat", f"{library}:call", "--", *barrier]
    others = [*tracer, "--stat", f"{plugin}:Ones:both", "--stat", "memory", "--", *barrier]
    mpirun(openmpi, 1, [*first, ":", "-n", "2", *others, ":", "-n", "1", *tracer, "--", *barrier]).check()
    found = package.load(trace)
    counts = {stat.name: count(found, stat.name) for stat in found.stats[4:]}
    assert counts == {"counter.call": 1, "memory_bytes": 3, "ones": 2, "ones.call": 2}


@pytest.mark.mpi
def test_switching_off(openmpi: Mpi, plugin: Path, traced: Run) -> None:
    program = WORK + "MPI.Pcontrol(0)\ncomm.Barrier()\nMPI.Pcontrol(1)\ncomm.Allreduce(b'x', bytearray(1))\n"
    done = traced(openmpi, 1, [str(openmpi.python), "-c", program], "--stat", f"{plugin}:Ones")
    done.finished.check()
    trace = package.load(done.trace)
    assert count(trace, "ones") == trace.nevents() == 17
    assert mean(trace, "ones", "Allreduce") == 1


# -- what becomes of it --------------------------------------------------------------------------------------


@pytest.fixture
def measured(openmpi: Mpi, library: Path, traced: Run) -> Path:
    """A trace of the ring with three statistics."""
    stats = ["--stat", "cpu", "--stat", "memory:both", "--stat", library]
    done = traced(openmpi, 4, [str(openmpi.python), SAMPLES / "ring.py"], *stats)
    done.finished.check()
    return done.trace


@pytest.mark.mpi
def test_readers(openmpi: Mpi, measured: Path, tmp_path: Path) -> None:
    trace = package.load(measured)
    assert parse(text(trace)) == trace
    assert '"memory_bytes.call"=' in text(trace)
    shown = StatsReporter(trace, "site")
    console = Console(file=io.StringIO(), width=200)
    shown.render(console)
    drawn = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(word in drawn for word in ("cpu_ns", "memory_bytes", "memory_bytes.call", "counter"))
    rows = shown.plain()["measured"]
    assert sum(row["samples"] for row in rows if row["stat"] == "counter") == trace.nevents()
    assert {row["total"] for row in rows if row["stat"].startswith("memory")} == {None}
    assert "measured" not in StatsReporter(trace, "rank").plain()
    bare = tmp_path / "bare.st"
    record(openmpi, 4, [str(openmpi.python), SAMPLES / "ring.py"], bare).check()
    assert diff(trace, package.load(bare), ["times"]) == []
    assert diff(trace, package.load(bare)) != []


@pytest.mark.mpi
def test_replay_does_not_mind(openmpi: Mpi, measured: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.st"
    command = [*openmpi.scalatrace(), "replay", measured]
    record(openmpi, 4, command, again, options=["--stat", "cpu:both"], timeout=300).check()
    replayed = package.load(again)
    assert diff(package.load(measured), replayed, ["times", "callsites"]) == []
    assert count(replayed, "cpu_ns") == replayed.nevents()


@pytest.mark.mpi
def test_samples(openmpi: Mpi, traced: Run, tmp_path: Path) -> None:
    made = compiled(openmpi, tmp_path, (SAMPLES / "switches.c").read_text(), "switches")
    stats = ["--stat", f"{made}:both", "--stat", f"{SAMPLES / 'allocations.py'}:Allocations"]
    done = traced(openmpi, 4, [str(openmpi.python), SAMPLES / "ring.py"], *stats)
    assert done.finished.check().warnings == ""
    trace = package.load(done.trace)
    assert count(trace, "blocks") == trace.nevents()
    left_out = sum(call.op == "Barrier" for rank in trace.ranks for call in trace.walk(rank))
    assert count(trace, "switches") == count(trace, "switches.call") == trace.nevents() - left_out
