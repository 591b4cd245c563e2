"""GOAL schedules as traces: exported and imported ones are the same, others keep their dependencies."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.convert.schedules.calls import write_schedule
from scalatrace.convert.schedules.goal_binary import read_goal_binary
from scalatrace.convert.schedules.goal_text import read_goal_text
from scalatrace.convert.schedules.model import OperationKind, OperationSchedule
from scalatrace.convert.sources import convert
from scalatrace.errors import FormatError, ScalatraceError, TextError
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG
from support.builder import stencil
from support.calls import record
from support.goal import Rank, execute, goal_of, messages_of, read_goal
from support.lowered import every_kind
from support.random_programs import Program, programs


def imported(text: str, folder: Path) -> Trace:
    (folder / "a.goal").write_text(text)
    convert(folder / "a.goal", folder / "a.st")
    return scalatrace.load(folder / "a.st")


def computed(rank: Rank) -> int:
    return sum(operation.size for operation in rank.values() if operation.kind == "calc")


def check_same(before: str, after: str) -> None:
    """Messages and their dependencies are equal; so is the computation of all ranks together.

    That of one rank is not: traces keep means of calls, and totals of ranks in steps.
    """
    ranks = read_goal(before), read_goal(after)
    for old, new in zip(*ranks, strict=True):
        assert messages_of(old) == messages_of(new)
    total, again = (sum(map(computed, schedule)) for schedule in ranks)
    assert again == pytest.approx(total, rel=0.05, abs=sum(map(len, ranks[0])))


@pytest.mark.parametrize("trace", [stencil(), every_kind(4), every_kind(6)])
def test_exported_and_imported(trace: Trace, tmp_path: Path) -> None:
    text = goal_of(trace)
    check_same(text, goal_of(imported(text, tmp_path)))


@settings(max_examples=12, deadline=None)
@given(programs(wild=False, turns=3))
def test_random_programs(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    text = goal_of(record(*program))
    check_same(text, goal_of(imported(text, tmp_path_factory.mktemp("goal"))))


@st.composite
def schedules(draw: st.DrawFn) -> str:
    """Schedules of two to four ranks that can run: each operation depends on some of those before it."""
    nranks = draw(st.integers(2, 4))
    lines: list[list[str]] = [[] for _ in range(nranks)]
    counts = [0] * nranks

    def add(rank: int, text: str) -> None:
        counts[rank] += 1
        label = f"l{counts[rank]}"
        lines[rank].append(f"{label}: {text}")
        earlier = st.lists(st.integers(1, max(counts[rank] - 1, 1)), unique=True, max_size=3)
        for number in draw(earlier) if counts[rank] > 1 else []:
            verb = draw(st.sampled_from(("requires", "requires", "irequires")))
            lines[rank].append(f"{label} {verb} l{number}")

    for tag in range(draw(st.integers(1, 10))):
        source, dest = draw(st.permutations(range(nranks)))[:2]
        if draw(st.booleans()):
            add(source, f"calc {draw(st.integers(0, 5000))} cpu {draw(st.integers(0, 2))}")
        size = draw(st.integers(1, 64))
        add(source, f"send {size}b to {dest} tag {tag}")
        add(dest, f"recv {size}b from {source} tag {tag}")
    blocks = [
        f"rank {rank} {{\n" + "".join(f"{line}\n" for line in own) + "}" for rank, own in enumerate(lines)
    ]
    return f"num_ranks {nranks}\n" + "\n".join(blocks) + "\n"


@pytest.mark.parametrize("count", [0, 99999999999])
def test_numbers_of_ranks(count: int, tmp_path: Path) -> None:
    with pytest.raises(TextError, match=rf":1:1: num_ranks is {count}, expected 1 to"):
        imported(f"num_ranks {count}\n", tmp_path)


@settings(max_examples=60, deadline=None)
@given(schedules())
def test_any_schedule_keeps_its_dependencies(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    before = read_goal(text)
    after = read_goal(goal_of(imported(text, tmp_path_factory.mktemp("goal"))))
    execute(after)
    for old, new in zip(before, after, strict=True):
        order = _places(old, new)
        ends = _ends_before(new)
        for number, (kind, size, peer, tag, ended, begun) in enumerate(messages_of(old)):
            assert messages_of(new)[order[number]][:4] == (kind, size, peer, tag)
            assert {order[other] for other in ended} <= ends[order[number]]
            assert all(order[other] < order[number] for other in begun)


def _places(old: Rank, new: Rank) -> dict[int, int]:
    """Number in the new rank of each message of the old; each has another tag."""
    numbers = {message[3]: number for number, message in enumerate(messages_of(new))}
    return {number: numbers[message[3]] for number, message in enumerate(messages_of(old))}


def _ends_before(rank: Rank) -> list[set[int]]:
    """The messages that have ended when each begins, also by way of others."""
    result: list[set[int]] = []
    for _, _, _, _, ended, begun in messages_of(rank):
        own = set(ended)
        for other in ended | begun:
            own |= result[other]
        result.append(own)
    return result


def binary_of(schedule: OperationSchedule) -> bytes:
    """The schedule in the binary form, by the layout of LogGOPSim's Parser.hpp."""
    parts = []
    for operations in schedule.ranks:
        roots = [n for n, op in enumerate(operations) if not op.ended and not op.begun]
        nodes, appendix = b"", []
        for number, op in enumerate(operations):
            edges = []
            for name in ("ended", "begun"):
                later = [
                    n for n, other in enumerate(operations) for need in getattr(other, name) if need == number
                ]
                edges += [len(later), len(appendix)]
                appendix += later
            peer, tag = (value & 0xFFFFFFFF for value in (op.peer, op.tag))
            needs = len(op.ended) + len(op.begun)
            nodes += struct.pack("<IBIQIBBIIII", needs, op.kind, peer, op.size, tag, op.cpu, 0, *edges)
        head = struct.pack(f"<II{len(roots)}I", len(operations), len(roots), *roots)
        parts.append(head + nodes + struct.pack(f"<{len(appendix)}I", *appendix))
    table, at = b"", 6 + 16 * len(parts)
    for part in parts:
        table += struct.pack("<QQ", at, at + len(part))
        at += len(part)
    return struct.pack("<QIBB", 4223, len(parts), 0, 0) + table + b"".join(parts)


@settings(max_examples=40, deadline=None)
@given(schedules())
def test_both_forms_are_equal(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("goal")
    (folder / "a.goal").write_text(text)
    schedule = read_goal_text(folder / "a.goal")
    (folder / "a.bin").write_bytes(binary_of(schedule))
    again = read_goal_binary(folder / "a.bin")
    for old, new in zip(schedule.ranks, again.ranks, strict=True):
        for before, after in zip(old, new, strict=True):
            kept = (before.kind, before.size, before.peer, before.tag, before.cpu)
            assert kept == (after.kind, after.size, after.peer, after.tag, after.cpu)
            assert sorted(before.ended) == after.ended
            assert sorted(before.begun) == after.begun


def test_wildcards_comments_and_labels_before_their_operations(tmp_path: Path) -> None:
    text = """/* two
    lines */ num_ranks 2  // two
    rank 1 { recv 8b from -1 tag -1 cpu 1 nic 0 }
    rank 0 {
    end: calc 0
    a: calc 70
    b: send 8b to 1 tag 5 nic 1
    end requires b
    b requires a
    }
    """
    trace = imported(text, tmp_path)
    calls = [[call.op for call in trace.walk(rank)] for rank in range(2)]
    assert calls == [["Send"], ["Recv"]]
    receive = next(iter(trace.walk(1)))
    assert (receive.raw("source"), receive.raw("tag")) == (ANY_SOURCE, ANY_TAG)
    send = next(iter(trace.walk(0)))
    histogram = send.stat("compute_ns")
    assert histogram is not None
    assert histogram.mean == 70


def test_an_order_in_which_no_rank_waits_for_ever(tmp_path: Path) -> None:
    """In the order of the file, rank 0 would wait for a message that rank 1 sends after one of rank 0."""
    text = """num_ranks 2
        rank 0 {
        a: recv 1b from 1 tag 1
        b: send 1b to 1 tag 2
        b requires a
        c: recv 1b from 1 tag 3
        d: send 1b to 1 tag 4
        d requires c
        }
        rank 1 {
        a: send 1b to 0 tag 3
        b: recv 1b from 0 tag 4
        b requires a
        c: send 1b to 0 tag 1
        c requires b
        d: recv 1b from 0 tag 2
        }
        """
    execute(read_goal(goal_of(imported(text, tmp_path))))


def test_many_live_requests(tmp_path: Path) -> None:
    """Requests that end in another order than they began keep their ages."""
    count = 40
    text = "num_ranks 2\n"
    for rank in range(2):
        starts = (
            f"send 8b to {1 - rank} tag {i}\nb{i}: recv 8b from {1 - rank} tag {i}\n" for i in range(count)
        )
        ends = (f"c{i}: calc 10\nc{i} requires b{i * 7 % count}\n" for i in range(count))
        text += f"rank {rank} {{\n{''.join(starts)}{''.join(ends)}}}\n"
    trace = imported(text, tmp_path)
    execute(read_goal(goal_of(trace)))
    calls = Counter(call.op for call in trace.walk(0))
    assert calls["Isend"] == calls["Irecv"] == count
    assert calls["Wait"] > 1


def test_computation_of_several_cpus_counts_once(tmp_path: Path) -> None:
    text = "num_ranks 1\nrank 0 {\ncalc 100 cpu 0\ncalc 60 cpu 1\ncalc 30 cpu 1\n}\n"
    trace = imported(text, tmp_path)
    assert [call.op for call in trace.walk(0)] == ["Finalize"]
    assert computed(read_goal(goal_of(trace))[0]) == 100


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("rank 0 {;send 5b from 1;}", r":3:1: expected 'send ... to'"),
        ("rank 0 {;l1: snd 5b to 1;}", r":3:1: expected send, recv, calc"),
        ("rank 0 {;l1 requires l2;}", r":3:1: no line before has the label l1 in rank 0"),
        ("rank 0 {;send 5b to 7;}", r":3:1: rank 7 is not one of 2 ranks"),
        ("rank 0 {;send 5b to -1;}", r":3:1: -1 \(any\) is for receives"),
        ("rank 0 {;a: calc 1;a: calc 1;}", r":4:1: label a is given twice"),
        ("rank 0 {;};rank 0 {;}", r":4:1: rank 0 has two blocks"),
        ("rank 2 {", r":2:1: rank 2 is not one of 2 ranks"),
        ("num_ranks 2", r":2:1: num_ranks is given twice"),
        ("rank 0 {;}", r"there is no block of rank 1"),
        ("rank 0 {", r"block of rank 0 is not closed"),
        ("rank 0 {;};rank 1 {;recv 3b from 0 tag 1;}", r":5:1: rank 1: 'recv 3b .* no rank sends"),
        ("rank 0 {;send 3b to 1;};rank 1 {;}", r":3:1: rank 0: 'send 3b .* no receive takes it"),
        ("rank 1 {;};rank 0 {;a: calc 1;a requires a;}", r":5:1: rank 0: 'calc 1' never begins: .* circle"),
    ],
)
def test_errors_name_the_line(body: str, message: str, tmp_path: Path) -> None:
    text = f"num_ranks 2;{body};".replace(";", "\n")
    with pytest.raises((TextError, FormatError), match=message):
        imported(text, tmp_path)
    assert not (tmp_path / "a.st").exists()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_binary_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("goal")
    text = "num_ranks 2\nrank 0 {\na: send 3b to 1\nb: calc 4\nb requires a\n}\nrank 1 {\nrecv 3b from 0\n}\n"
    (folder / "a.goal").write_text(text)
    raw = bytearray(binary_of(read_goal_text(folder / "a.goal")))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(8, len(raw) - 1))] = data.draw(st.integers(0, 255))
    (folder / "a.bin").write_bytes(bytes(raw[: data.draw(st.integers(8, len(raw)))]))
    try:
        schedule = read_goal_binary(folder / "a.bin")
        sizes = [op.size for ops in schedule.ranks for op in ops if op.kind == OperationKind.CALC]
        if sum(sizes) < 1 << 60:
            write_schedule(schedule, folder / "a.st", {})
    except ScalatraceError as error:
        assert str(folder) in str(error)  # noqa: PT017


def test_the_output_is_no_file_of_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "num_ranks 1\nrank 0 {\ncalc 5\n}\n"
    (tmp_path / "a.goal").write_text(text)
    (tmp_path / "link").symlink_to("a.goal")
    for output in ("a.goal", "link"):
        assert main(["import", str(tmp_path / "a.goal"), "-o", str(tmp_path / output)]) == 2
        assert f"{output}: the output is a file of the source" in capsys.readouterr().err
    assert (tmp_path / "a.goal").read_text() == text


def test_byte_order_mark(tmp_path: Path) -> None:
    trace = imported("\ufeffnum_ranks 1\nrank 0 {\ncalc 5\n}\n", tmp_path)
    assert [call.op for call in trace.walk(0)] == ["Finalize"]


def test_a_binary_file_that_a_simulation_has_changed(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(struct.pack("<Q", 2342))
    with pytest.raises(FormatError, match=r"a\.bin: LogGOPSim has changed this file while it ran"):
        convert(tmp_path / "a.bin", tmp_path / "a.st")


@pytest.mark.parametrize(("tag", "again"), [((1 << 24) - 1, (1 << 24) - 1), (20_000_000, 1 << 24)])
def test_large_tags_are_numbered(tag: int, again: int, tmp_path: Path) -> None:
    text = f"num_ranks 2\nrank 0 {{\nsend 8b to 1 tag {tag}\n}}\nrank 1 {{\nrecv 8b from 0 tag {tag}\n}}\n"
    trace = imported(text, tmp_path)
    assert next(iter(trace.walk(0)))["tag"] == tag
    assert f"send 8b to 1 tag {again}\n" in goal_of(trace)


def test_values_of_more_than_64_bits(tmp_path: Path) -> None:
    text = "num_ranks 1\nrank 0 {\nsend %sb to 0\nrecv 1b from 0\n}\n"
    with pytest.raises(TextError, match=r":3:1: rank 0: 'send .*': its count \d+ takes more than 64 bits"):
        imported(text % (1 << 63), tmp_path)
    with pytest.raises(TextError, match=r":3:1: a number has more than 19 digits"):
        imported(text % ("9" * 20), tmp_path)
    with pytest.raises(TextError, match=r":1:1: a number has more than 19 digits"):
        imported(f"num_ranks {'9' * 5000}\n", tmp_path)
    (tmp_path / "a.goal").write_text(text % 8)
    raw = binary_of(read_goal_text(tmp_path / "a.goal"))
    (tmp_path / "a.bin").write_bytes(raw.replace(struct.pack("<Q", 8), struct.pack("<Q", (1 << 63) + 8)))
    with pytest.raises(FormatError, match=r"a.bin: rank 0: .* more than 64 bits \(byte \d+"):
        convert(tmp_path / "a.bin", tmp_path / "a.st")
    with pytest.raises(TextError, match=r":3:1: rank 0: 'calc .* is not below 2\^63 ns"):
        imported(f"num_ranks 1\nrank 0 {{\ncalc {(1 << 63) + 8}\n}}\n", tmp_path)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.goal").write_text("num_ranks 1\nrank 0 {\ncalc 5\n}\n")
    assert main(["import", str(tmp_path / "a.goal"), "-o", str(tmp_path / "a.st")]) == 0
    assert "1 ranks, 1 calls" in capsys.readouterr().out
    (tmp_path / "b.goal").write_text("num_ranks 1\nrank 0 {\nx\n}\n")
    assert main(["import", str(tmp_path / "b.goal"), "-o", str(tmp_path / "b.st")]) == 1
    assert "b.goal:3:1: expected send" in capsys.readouterr().err
    (tmp_path / "c.txt").write_text("nothing")
    assert main(["import", str(tmp_path / "c.txt"), "-o", str(tmp_path / "c.st")]) == 1
    assert "it is none of: OTF2 archive" in capsys.readouterr().err


def write_ring(folder: Path, nprocs: int) -> str:
    """Write and import a ring of messages whose size grows with the ranks; return the trace."""
    lines = [f"num_ranks {nprocs}"]
    for rank in range(nprocs):
        lines.append(f"rank {rank} {{")
        for first in range(1, 31, 3):
            calc, recv, send = (f"l{first + i}" for i in range(3))
            lines.append(f"{calc}: calc 1000")
            lines += [f"{calc} requires l{before}" for before in (first - 2, first - 1) if before > 0]
            lines += [
                f"{recv}: recv {8 * nprocs}b from {(rank - 1) % nprocs} tag 3",
                f"{recv} requires {calc}",
            ]
            lines += [f"{send}: send {8 * nprocs}b to {(rank + 1) % nprocs} tag 3", f"{send} requires {calc}"]
        lines.append("}")
    (folder / "a.goal").write_text("\n".join(lines) + "\n")
    path = str(folder / f"ring{nprocs}.st")
    convert(folder / "a.goal", path)
    return path


def test_schedules_are_extrapolated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small, large = [write_ring(tmp_path, n) for n in (4, 8, 16)], write_ring(tmp_path, 32)
    out = str(tmp_path / "large.st")
    assert main(["extrapolate", *small, "--ranks", "32", "-o", out]) == 0
    assert main(["diff", out, large]) == 0
    assert main(["simulate", out, "--platform", "cluster"]) == 0
    assert "32 ranks on cluster" in capsys.readouterr().out
