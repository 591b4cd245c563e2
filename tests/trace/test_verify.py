"""Flat logs, and the comparison of a walk with one: it must find every kind of difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from scalatrace.errors import FormatError
from scalatrace.trace.io.flatlog import FlatCall, FlatLog
from scalatrace.trace.model.tables import Communicator, Datatype, Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.verify import verify
from scalatrace.trace.values.vec import special_name
from support.traces import traces

LOG = """\
# scalatrace flat log 1 rank 1 of 2
@O Isend count:i datatype:t dest:p comm:c
@S 1 "a b.py:1:f" "a.py:9:<module>"
@C 0 world -1 [0,1]
@T 0 8 8 "MPI_DOUBLE"
Isend 1 100 t0 PROC_NULL c0
Isend 1 100 t0 PROC_NULL c0
@O File_open filename:s sizes:a
File_open 0 "x \\"y\\".dat" [3,-2]
File_open 0 "" []
# end 4 events
"""


def write_log(trace: Trace, rank: int, path: Path) -> None:
    """The flat log that a recorder would have written beside this trace; numbers things as they come."""
    lines = [f"# scalatrace flat log 1 rank {rank} of {trace.nprocs}"]
    seen: dict[object, int] = {}

    def number(kind: str, key: object, definition: Callable[[int], str]) -> int:
        if (kind, key) not in seen:
            n = sum(1 for k, _ in seen if k == kind) + (kind == "S")
            line = definition(n)  # may define others first
            seen[kind, key] = n
            lines.append(line)
        return seen[kind, key]

    def comm(c: Communicator) -> int:
        parent = trace.comms[c.family].parent
        above = comm(trace.communicator(parent, rank)) if parent >= 0 else -1
        members = "[" + ",".join(map(str, c.members)) + "]"
        return number("C", c.family, lambda n: f"@C {n} {c.kind} {above} {members}")

    def shown(kind: Kind, value: object) -> str:
        if isinstance(value, Communicator):
            return f"c{comm(value)}"
        if isinstance(value, Datatype):
            text = json.dumps(value.description)
            return f"t{number('T', value, lambda n: f'@T {n} {value.size} {value.extent} {text}')}"
        if kind is Kind.ARRAY:
            return "[" + ",".join(map(str, value)) + "]"
        return json.dumps(value) if kind is Kind.STRING else special_name(value) or str(value)

    total = 0
    for call in trace.walk(rank):
        schema = call.place.op.params
        letters = " ".join(f"{name}:{'ipctsa'[kind]}" for name, kind in schema)
        number("O", call.op, lambda n, op=call.op, s=letters: f"@O {op} {s}".rstrip())
        frames = " ".join(map(json.dumps, call.stack))
        stack = number("S", call.stack, lambda n, f=frames: f"@S {n} {f}") if call.stack else 0
        values = [shown(kind, call[name]) for name, kind in schema]
        lines.append(" ".join([call.op, str(stack), *values]))
        total += 1
    path.write_text("\n".join([*lines, f"# end {total} events", ""]))


@given(trace=traces())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_true_log_verifies_and_a_changed_one_does_not(trace: Trace, tmp_path: Path) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    for rank in range(trace.nprocs):
        write_log(trace, rank, tmp_path / f"rank-{rank}.log")
    found = verify(trace, tmp_path)
    assert found.problems == []
    assert (found.nranks, found.nevents) == (trace.nprocs, trace.nevents())
    path = tmp_path / "rank-0.log"
    lines = path.read_text().splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line[0] not in "#@":
            path.write_text("".join(lines[:i] + lines[i + 1 :]))
            assert not verify(trace, tmp_path).ok, f"without {line!r}"
            path.write_text("".join([*lines[:i], line, *lines[i:]]))
            assert not verify(trace, tmp_path).ok, f"with {line!r} twice"


def test_reads_a_log(tmp_path: Path) -> None:
    path = tmp_path / "rank-1.log"
    path.write_text(LOG)
    log = FlatLog(path)
    calls = list(log)
    send = FlatCall("Isend", 1, (100, 0, -1000000001, 0))
    assert calls == [
        send,
        send,
        FlatCall("File_open", 0, ('x "y".dat', (3, -2))),
        FlatCall("File_open", 0, ("", ())),
    ]
    assert (log.rank, log.nprocs, log.declared) == (1, 2, 4)
    assert log.stacks[1] == ("a b.py:1:f", "a.py:9:<module>")
    assert log.types[0] == Datatype("MPI_DOUBLE", 8, 8)
    assert log.comms[0].members == (0, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Isend 1 100 t0 PROC_NULL c0", "Isend 1 100 t0 PROC_NULL c7"),
        ("Isend 1 100 t0 PROC_NULL c0", "Isend 1 100 t7 PROC_NULL c0"),
        ("Isend 1 100 t0 PROC_NULL c0", "Isend 2 100 t0 PROC_NULL c0"),
        ("Isend 1 100 t0 PROC_NULL c0", "Isend 1 100 t0 PROC_NULL"),
        ("Isend 1 100 t0 PROC_NULL c0", "Irecv 1 100 t0 PROC_NULL c0"),
        ("Isend 1 100 t0 PROC_NULL c0", "Isend 1 many t0 PROC_NULL c0"),
        ("[3,-2]", "[3,-2"),
        ("@C 0 world", "@X 0 world"),
        ("@T 0 8 8", "@T 0 8"),
        ("\n# end 4 events\n", "\nIsend 1 100"),
        ("# end 4 events\n", '# end 4 events\nFile_open 0 "new" []\n'),
        ("Isend 1", "\nIsend 1"),
    ],
)
def test_damaged_logs_name_the_line(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "rank-1.log"
    path.write_text(LOG.replace(old, new))
    with pytest.raises(FormatError, match=r"rank-1\.log: line \d+ is damaged"):
        list(FlatLog(path))


def test_what_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.log"
    for content in ("", "hello\n", "# scalatrace flat log 2 rank 0 of 1\n"):
        path.write_text(content)
        with pytest.raises(FormatError, match="not a flat log"):
            FlatLog(path)
    with pytest.raises(FormatError, match="cannot read"):
        verify(Trace(1), tmp_path / "none")


def _barriers() -> Trace:
    """Two ranks, two Barriers each."""
    from scalatrace.trace.model.nodes import Event
    from scalatrace.trace.model.tables import Op
    from scalatrace.trace.values.vec import Vec

    return Trace(2, [Event(Vec(2), 0, 0, (Vec(0),))], ops=[Op("Barrier", (("comm", Kind.COMM),))])


def _logged(tmp_path: Path, change: Callable[[str], str] = str) -> list[str]:
    """Problems of a two-rank trace of Barriers when rank 1's log is changed."""
    trace = _barriers()
    for rank in range(2):
        write_log(trace, rank, tmp_path / f"rank-{rank}.log")
    path = tmp_path / "rank-1.log"
    path.write_text(change(path.read_text()))
    return [str(problem) for problem in verify(trace, tmp_path).problems]


def test_incomplete_logs(tmp_path: Path) -> None:
    assert _logged(tmp_path) == []
    (problem,) = _logged(tmp_path, lambda log: log.replace("# end 2 events\n", ""))
    assert "rank 1: its log has no end line" in problem
    (problem,) = _logged(tmp_path, lambda log: log.replace("end 2", "end 3"))
    assert "claims 3 events and has 2" in problem
    (problem,) = _logged(tmp_path, lambda log: log.replace("rank 1 of 2", "rank 0 of 2"))
    assert "its log says rank 0 of 2" in problem
    (problem,) = _logged(tmp_path, lambda log: log.replace("[0,1]", "[1,0]"))
    assert problem.startswith("rank 1, event 1: they differ")
    (problem,) = _logged(tmp_path, lambda log: log.replace("world", "dup"))
    assert "dup#0[2]" in problem
    (problem,) = _logged(tmp_path, lambda log: log.replace("comm:c", "com:c"))
    assert "Barrier(com=" in problem


def test_missing_and_surplus_logs(tmp_path: Path) -> None:
    _logged(tmp_path)
    (tmp_path / "rank-0.log").rename(tmp_path / "rank-5.log")
    problems = [str(p) for p in verify(Trace(2), tmp_path).problems]
    assert any(p == "rank 0: there is no flat log of it" for p in problems)
    assert any(p == "rank 5: it has a flat log but is not in the trace" for p in problems)


@pytest.mark.parametrize("more", ["", "# end 2 events\n", "Barrier 0 c0\n", "Barrier 0 c0\nBarr"])
def test_a_log_that_goes_on(tmp_path: Path, more: str) -> None:
    """For a trace that was merged from parts."""
    _logged(tmp_path, lambda log: log.replace("# end 2 events\n", more))
    (tmp_path / "rank-5.log").write_text("of a rank without part")
    assert verify(_barriers(), tmp_path, prefix=True).problems == []


def test_a_log_that_does_not_begin_like_the_trace(tmp_path: Path) -> None:
    _logged(tmp_path, lambda log: log.replace("Barrier 0 c0\n# end 2 events\n", "Barr"))
    (problem,) = verify(_barriers(), tmp_path, prefix=True).problems
    assert "is damaged: 'Barr'" in str(problem)
    _logged(tmp_path, lambda log: log.replace("Barrier 0 c0\n# end 2 events\n", ""))
    (problem,) = verify(_barriers(), tmp_path, prefix=True).problems
    assert str(problem).startswith("rank 1, event 2: the log ends here")
    _logged(tmp_path, lambda log: log.replace("[0,1]", "[1,0]"))
    (problem,) = verify(_barriers(), tmp_path, prefix=True).problems
    assert str(problem).startswith("rank 1, event 1: they differ")
