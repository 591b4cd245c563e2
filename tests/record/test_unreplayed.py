"""What is recorded but has no handler in replay: exact traces all the same, and replay says what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import Traced, plain
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.standard import procedures
from scalatrace.replay import calls as _registered  # noqa: F401  (the handlers)
from scalatrace.replay.engine.handlers import missing
from support.mpis import Mpi
from support.running import mpirun, scalatrace

pytestmark = pytest.mark.mpi

HEAD = """\
import sys
from mpi4py import MPI
WORLD = MPI.COMM_WORLD
"""
FROM_GROUP = """\
comm = MPI.Intracomm.Create_from_group(WORLD.group, "a tag")
comm.Barrier()
comm.Free()
"""
FROM_GROUPS = """\
ranks = [r for r in range(WORLD.size) if r % 2 == WORLD.rank % 2]
others = [r for r in range(WORLD.size) if r % 2 != WORLD.rank % 2]
world = WORLD.group
if WORLD.rank % 2:  # another place in the program, so that nothing is known but one rank's values
    inter = MPI.Intercomm.Create_from_groups(world.Incl(ranks), 0, world.Incl(others), 0, "a tag")
else:
    inter = MPI.Intercomm.Create_from_groups(world.Incl(ranks), 0, world.Incl(others), 0, "a tag")
inter.Barrier()
inter.Free()
"""
SPAWN = """\
import sys
one = "from mpi4py import MPI; p = MPI.Comm.Get_parent(); p.Barrier(); p.Disconnect()"
inter = WORLD.Spawn_multiple([sys.executable] * 2, [["-c", one]] * 2, [1, 1])
inter.Barrier()
inter.Disconnect()
"""
PROGRAMS = {
    "Comm_create_from_group": FROM_GROUP,
    "Intercomm_create_from_groups": FROM_GROUPS,
    "Comm_spawn_multiple": SPAWN,
}


@pytest.mark.parametrize(
    "op",
    [pytest.param(op, marks=() if op == "Comm_create_from_group" else pytest.mark.slow) for op in PROGRAMS],
)
def test_is_recorded(mpi: Mpi, op: str, traced: Callable[..., Traced], tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(HEAD + PROGRAMS[op])
    try:
        untraced = plain(mpi, 2, [mpi.python, program], tmp_path)
    except TimeoutError:
        pytest.skip(f"{mpi.name} hangs in this")
    if untraced.returncode:
        pytest.skip(f"{mpi.name} cannot do this here: {untraced.stderr[-200:]}")
    run = traced(mpi, 2, [mpi.python, program])
    assert run.finished.check().stdout == untraced.stdout
    assert run.ops(0)[op] == 1
    assert "lossless" in scalatrace(mpi, "verify", run.trace, run.logs).check().stdout
    replayed = mpirun(mpi, 2, [*mpi.scalatrace(), "replay", run.trace], cwd=tmp_path)
    assert replayed.returncode != 0
    assert replayed.stderr.count(f"no handler for MPI_{op}") == 1


def test_nothing_else_lacks_a_handler() -> None:
    events = {p.name.removesuffix("_c") for p in procedures() if rules.is_event(p)}
    assert set(missing(events)) == {*PROGRAMS, "Comm_spawn"}
