"""Part files: what one rank did until now, written while it goes on."""

from __future__ import annotations

from pathlib import Path

from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.verify import verify


def core_of(rank: int, logs: Path, nevents: int) -> Core:
    """A core of two ranks' run with some events in a loop, and its flat log open."""
    core = Core(rank, 2)
    core.define_comm(COMM_WORLD, 0, "world", range(2))
    core.flatlog_open(logs / f"rank-{rank}.log")
    send = core.define_op("Send", [("count", Kind.INT), ("comm", Kind.COMM)])
    for i in range(nevents):
        core.append(send, [i, COMM_WORLD], own=rank, size=2)
    return core


def test_the_log_is_never_behind_a_part(tmp_path: Path) -> None:
    """Whatever kills the process afterwards; the log's own buffer is larger than these few lines."""
    core = core_of(0, tmp_path, 5)
    core.write_part(tmp_path / "p.part")
    with Core.read_part(tmp_path / "p.part") as part:
        part.write(tmp_path / "a.st")
    trace = load(tmp_path / "a.st")
    assert [call.values[0] for call in trace.walk(0)] == list(range(5))
    assert verify(trace, tmp_path, prefix=True).problems == []
    core.close()


def test_a_part_written_after_others_were_merged(tmp_path: Path) -> None:
    """A rank that dies in the midst of the merge leaves what it packed before: its own events."""
    core, child = core_of(0, tmp_path, 5), core_of(1, tmp_path, 3)
    core.finish()
    child.finish()
    packed = core.pack()
    core.merge(child.pack())
    core.write_packed(packed, tmp_path / "p.part")
    with Core.read_part(tmp_path / "p.part") as part:
        part.merge(child.pack())
        part.write(tmp_path / "a.st")
    core.write(tmp_path / "b.st")
    assert load(tmp_path / "a.st").nevents() == 8
    assert (tmp_path / "a.st").read_bytes() == (tmp_path / "b.st").read_bytes()
