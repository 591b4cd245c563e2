"""Programs that end badly: the same exit status as without the tracer, and parts of all who could write."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from record.conftest import PROGRAMS, Builder, Traced, plain
from scalatrace import load
from support.mpis import Mpi
from support.running import Finished, record, run, scalatrace

pytestmark = pytest.mark.mpi
EVENTS = 7  # per rank, before the end


def _parts(trace: Path) -> set[str]:
    """Return the names of saved parts; a rank that is killed while it saves again leaves a temporary file."""
    folder = trace.with_name(trace.name + ".parts")
    names = {p.name for p in folder.iterdir()} - {"README"} if folder.exists() else set()
    return {name for name in names if not name.endswith(".tmp")}


def _all(n: int) -> set[str]:
    return {f"rank-{rank}.part" for rank in range(n)}


@pytest.mark.parametrize("how", ["abort", "exit"])
def test_parts_of_all_ranks(
    any_mpi: Mpi, how: str, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    if any_mpi.family == "mpich" and how == "exit":
        pytest.skip("when a rank leaves without MPI_Finalize, Hydra ends the others only now and then")
    argv = [build(any_mpi, "ending.c"), how]
    untraced = plain(any_mpi, 3, argv, tmp_path)
    run = traced(any_mpi, 3, argv)
    assert untraced.returncode != 0
    assert run.finished.returncode == untraced.returncode
    assert not run.trace.exists()
    assert _parts(run.trace) == _all(3)
    merged = scalatrace(any_mpi, "merge", f"{run.trace}.parts", "-o", tmp_path / "merged.st").check()
    assert "3 of 3 ranks" in merged.stdout


@pytest.mark.parametrize("how", ["exit", "destructor"])
def test_finalize_when_the_program_has_ended(
    any_mpi: Mpi, how: str, build: Builder, traced: Callable[..., Traced]
) -> None:
    run = traced(any_mpi, 3, [build(any_mpi, "late_finalize.c"), how])
    run.finished.check()
    assert run.finished.warnings == ""
    assert "lossless" in scalatrace(any_mpi, "verify", run.trace, run.logs).check().stdout
    assert not run.trace.with_name("a.st.parts").exists()


@pytest.mark.parametrize("how", ["linked", "loaded"])
def test_finalize_in_the_destructor_of_a_library(
    any_mpi: Mpi, how: str, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """Whether its destructor runs before or after those of the tracer."""
    library, program = tmp_path / "liblate.so", tmp_path / "late"
    linked = ["-DLINKED", library, f"-Wl,-rpath,{tmp_path}"] if how == "linked" else []
    compiler = [any_mpi.mpicc, "-w", PROGRAMS / "late_finalize_library.c"]
    for command in (["-DLIBRARY", "-shared", "-fPIC", "-o", library], ["-o", program, *linked, "-ldl"]):
        run([*compiler, *command], env=any_mpi.environment(), cwd=tmp_path).check()
    result = traced(any_mpi, 3, [program, *([library] if how == "loaded" else [])])
    result.finished.check()
    assert result.finished.warnings == ""
    assert "lossless" in scalatrace(any_mpi, "verify", result.trace, result.logs).check().stdout
    assert result.ops(2)["Allreduce"] == 1
    assert not result.trace.with_name("a.st.parts").exists()


@pytest.mark.parametrize("how", ["leave", "fatal", "asleep"])
def test_endings_without_destructors_and_sleeping_ranks(
    openmpi: Mpi, how: str, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """All ranks save, one prints a line, and no sleep ends early."""
    argv = [build(openmpi, "ending.c"), how]
    untraced = plain(openmpi, 3, argv, tmp_path)
    run = traced(openmpi, 3, argv)
    assert run.finished.returncode == untraced.returncode != 0
    assert _parts(run.trace) == _all(3)
    assert run.finished.stderr.count("the program ends without MPI_Finalize") == 1
    assert "scalatrace merge" in run.trace.with_name("a.st.parts").joinpath("README").read_text()


@pytest.mark.parametrize("how", ["crash", "assert"])
def test_a_crash_saves_the_parts_of_all(
    any_mpi: Mpi, how: str, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """Also of the rank that crashes, and under launchers that kill the others with SIGKILL."""
    argv = [build(any_mpi, "ending.c"), how]
    untraced = plain(any_mpi, 3, argv, tmp_path)
    run = traced(any_mpi, 3, argv)
    # Hydra's status is that of all ranks or'ed, now with and now without the SIGKILL of those it ended.
    killed = signal.SIGKILL if any_mpi.family == "mpich" else 0
    assert untraced.returncode != 0
    assert run.finished.returncode | killed == untraced.returncode | killed
    assert _parts(run.trace) == _all(3)
    scalatrace(any_mpi, "merge", f"{run.trace}.parts").check()
    found = scalatrace(any_mpi, "verify", "--prefix", "--json", run.trace, run.logs).check()
    assert json.loads(found.stdout)["events"] >= 3 * EVENTS


def test_a_program_that_catches_its_crashes(
    any_mpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """Unless UCX, which lets no one else handle them, is there."""
    argv = [build(any_mpi, "ending.c"), "caught"]
    untraced = plain(any_mpi, 2, argv, tmp_path)
    run = traced(any_mpi, 2, argv)
    assert run.finished.returncode == untraced.returncode
    assert run.finished.stdout.count("caught 1") == untraced.stdout.count("caught 1")
    assert run.trace.exists() == (untraced.returncode == 0)


def test_killed_rank_is_named(
    openmpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """SIGKILL leaves nothing of the rank itself; Open MPI ends the others with SIGTERM."""
    run = traced(openmpi, 3, [build(openmpi, "ending.c"), "kill"])
    assert run.finished.returncode == 137
    assert _parts(run.trace) == {"rank-0.part", "rank-2.part"}
    merged = scalatrace(openmpi, "merge", f"{run.trace}.parts", "-o", tmp_path / "merged.st")
    assert "no part of rank 1" in merged.stderr


def test_sigterm_saves_and_then_kills(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """One process, signalled directly: the parent sees it die of the signal, as it would have."""
    trace = tmp_path / "a.st"
    command = [*openmpi.recorder(), "-o", trace, "--", build(openmpi, "ending.c"), "signal"]
    process = subprocess.Popen(
        [str(c) for c in command], env=openmpi.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "rank 0: 1\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    assert _parts(trace) == _all(1)


def test_uncaught_exception(mpi: Mpi, tmp_path: Path) -> None:
    """`python -m mpi4py` aborts the run when a rank raises."""
    program = tmp_path / "bad.py"
    program.write_text(
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "for _ in range(7):\n    comm.Barrier()\n"
        "if comm.rank == 1:\n    raise RuntimeError('on purpose')\ncomm.Barrier()\n"
    )
    trace = tmp_path / "a.st"
    done = record(mpi, 3, [mpi.python, "-m", "mpi4py", program], trace, timeout=300)
    assert done.returncode != 0
    assert "on purpose" in done.stderr
    assert _parts(trace) == _all(3)


def test_exception_on_a_rank_that_waits_for_the_others_in_finalize(openmpi: Mpi, tmp_path: Path) -> None:
    """Plain `python app.py`: rank 1 raises and waits in MPI_Finalize, the others wait for it."""
    program = tmp_path / "bad.py"
    program.write_text(
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncomm.Barrier()\n"
        "if comm.rank == 1:\n    raise RuntimeError('on purpose')\ncomm.Barrier()\n"
    )
    trace = tmp_path / "a.st"
    record(
        openmpi, 1, [openmpi.python, "-c", "from mpi4py import MPI"], trace, timeout=300
    ).check()  # builds the shim
    trace.unlink()
    with pytest.raises(TimeoutError):
        record(openmpi, 2, [openmpi.python, program], trace, timeout=8)
    for _ in range(50):
        if _parts(trace) == _all(2):
            break
        time.sleep(0.1)
    assert _parts(trace) == _all(2)


def test_checkpoints_are_removed_when_all_went_well(
    openmpi: Mpi, build: Builder, traced: Callable[..., Traced]
) -> None:
    run = traced(openmpi, 2, [build(openmpi, "ending.c"), "well"], "--checkpoint", "1")
    run.finished.check()
    assert run.trace.exists()
    assert _parts(run.trace) == set()


def test_checkpoint_of_a_rank_that_is_killed(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    trace = tmp_path / "a.st"
    program = build(openmpi, "ending.c")
    command = [*openmpi.recorder(), "-o", trace, "--checkpoint", "1", "--", program, "signal"]
    process = subprocess.Popen(
        [str(c) for c in command], env=openmpi.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(100):
            if _parts(trace) == _all(1):
                break
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert _parts(trace) == _all(1)


def test_a_rank_that_becomes_another_program(
    any_mpi: Mpi, traced: Callable[..., Traced], build: Builder
) -> None:
    """It says so, and saves what it has."""
    run = traced(any_mpi, 2, [build(any_mpi, "ending.c"), "replaced"])
    assert run.finished.returncode != 0
    assert run.finished.stderr.count("rank 1 is replaced by /bin/sh before MPI_Finalize") == 1
    assert 1 in {int(name.split("-")[1].split(".")[0]) for name in _parts(run.trace)}


def test_a_rank_that_fails_to_become_another_program(
    openmpi: Mpi, traced: Callable[..., Traced], build: Builder
) -> None:
    """The trace is complete."""
    run = traced(openmpi, 2, [build(openmpi, "ending.c"), "not replaced"])
    run.finished.check()
    assert "replaced" not in run.finished.stderr
    assert not run.trace.with_name(run.trace.name + ".parts").exists()
    assert len(load(run.trace).ranks) == 2


def test_unwritable_output(any_mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """A folder that goes while the program runs: said once per rank, and the program does not notice."""
    argv = ["sh", "-c", 'rm -rf gone; exec "$0"', build(any_mpi, "ending.c")]
    untraced = plain(any_mpi, 2, argv, tmp_path)
    (tmp_path / "gone").mkdir()
    options = ["--flat-log", "gone/logs", "-o", "gone/a.st"]
    spared = {"TMPDIR": str(tmp_path)}
    done = record(any_mpi, 2, argv, tmp_path / "a.st", options=options, env=spared, timeout=300)
    _same(done, untraced)
    assert done.stderr.count("gone/a.st") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount a small file system")
def test_full_disk(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("may not mount here")
    try:
        (small / "filler").write_bytes(b"x" * 4096)
        spared = {"TMPDIR": str(tmp_path)}
        done = record(openmpi, 2, [build(openmpi, "ending.c")], small / "a.st", env=spared, timeout=300)
        assert done.returncode == 0
        (instead,) = tmp_path.glob("scalatrace-*/a.st")
        assert stat.S_IMODE(instead.parent.stat().st_mode) == 0o700
        assert f"wrote {instead}" in done.stderr
        assert len(load(instead).ranks) == 2
        assert done.stderr.count("No space left") == 1
        assert {p.name for p in small.iterdir()} == {"filler"}
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of two users")
def test_links_of_another_user_are_not_followed(openmpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """The output is full; another user guesses the names in the folder of temporary files."""
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("precious")
    for pid in range(os.getpid(), os.getpid() + 2000):
        link = shared / f"{pid}-full"
        link.symlink_to(victim)
        os.chown(link, 65534, 65534, follow_symlinks=False)
    (tmp_path / "full").symlink_to("/dev/full")
    env = {"TMPDIR": str(shared)}
    done = record(openmpi, 2, [build(openmpi, "ending.c")], tmp_path / "full", env=env).check()
    (instead,) = shared.glob("scalatrace-*/full")
    assert f"{instead.parent.name}/full: " in done.stderr
    assert (victim.read_text(), instead.parent.stat().st_uid) == ("precious", os.geteuid())


def _same(done: Finished, untraced: Finished) -> None:
    assert done.returncode == untraced.returncode
    assert sorted(done.stdout.splitlines()) == sorted(untraced.stdout.splitlines())


def test_a_rank_that_is_late(any_mpi: Mpi, build: Builder, traced: Callable[..., Traced]) -> None:
    """Some ranks save a part while they wait, others do not; none is left, and nobody waits for ever."""
    run = traced(any_mpi, 3, [build(any_mpi, "late.c")])
    run.finished.check()
    assert run.trace.exists()
    assert not run.trace.with_name(run.trace.name + ".parts").exists()


def test_a_forked_child_dies_at_once(openmpi: Mpi, tmp_path: Path) -> None:
    """It is no rank: nothing is to be saved in it, and no thread is there that would."""
    program = tmp_path / "forks.py"
    program.write_text(
        "from mpi4py import MPI\nimport os, signal, time\n"
        "child = os.fork()\nif not child:\n    time.sleep(30)\n    os._exit(0)\n"
        "time.sleep(0.5)\nstart = time.monotonic()\nos.kill(child, signal.SIGTERM)\n"
        "status = os.waitpid(child, 0)[1]\n"
        "print(os.WTERMSIG(status) == signal.SIGTERM, time.monotonic() - start < 20)\n"
    )
    trace = tmp_path / "a.st"
    done = record(openmpi, 1, [openmpi.python, program], trace, timeout=300).check()
    assert done.stdout.split() == ["True", "True"]
    assert trace.exists()


@pytest.mark.parametrize("when", ["idle", "calling"])
def test_exit_from_a_signal_handler(
    openmpi: Mpi, when: str, build: Builder, traced: Callable[..., Traced]
) -> None:
    """Also while this thread is in the tracer, where nothing can be saved; it ends, with its own status.

    A signal that comes within malloc may hang the program in exit(), traced or not: it is tried again.
    """
    for timeout in (40, 40, 300):
        try:
            run = traced(openmpi, 1, [build(openmpi, "leaves.c"), when], timeout=timeout)
            break
        except TimeoutError:
            assert when == "calling"
            assert timeout < 300
    assert run.finished.returncode == 5
    unsaved = "saves no part" in run.finished.stderr
    assert _parts(run.trace) == (set() if unsaved else _all(1))
    assert not (unsaved and when == "idle")


def test_parts_of_an_earlier_run_are_removed(
    openmpi: Mpi, build: Builder, traced: Callable[..., Traced], tmp_path: Path
) -> None:
    """Rank 1 is killed and leaves nothing: no old part may stand for it."""
    stale = tmp_path / "a.st.parts"
    stale.mkdir()
    for name in ("rank-0.part", "rank-1.part", "rank-7.part", "rank-1.part.tmp77"):
        (stale / name).write_bytes(b"old")
    run = traced(openmpi, 3, [build(openmpi, "ending.c"), "kill"])
    assert _parts(run.trace) == {"rank-0.part", "rank-2.part"}
    scalatrace(openmpi, "merge", f"{run.trace}.parts").check()
    assert len(load(run.trace).meta["run"]) == 16
