"""Two users of one machine: links that another one planted lead the recorder to no file of the user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from record.conftest import Builder
from scalatrace import load
from scalatrace.compilers.mpi import installed
from scalatrace.record.shim import copy_shim, shim_for
from support.mpis import Mpi

pytestmark = pytest.mark.mpi
USER, OTHER = 64001, 64002
"""Numbers of users without rights; they need no accounts."""
PRECIOUS = "precious"


def as_user(
    user: int, words: Sequence[str | Path], cwd: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command as another user, with a home of its own, and no right but to read the installation."""
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    reads = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    return subprocess.run(
        [*become, *reads, *map(str, words)], env={**env, "HOME": str(cwd / f"home-{user}")}, cwd=cwd,
        text=True, capture_output=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cache(openmpi: Mpi) -> Iterator[Path]:
    """A cache of USER for all tests, with the shim of this user, since building one takes half a minute."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs the rights to become other users")
    folder = Path(tempfile.mkdtemp(prefix="two-users-cache-"))
    try:
        copy_shim(shim_for(next(installed(openmpi.mpicc))), folder)
        for path in (folder, *folder.iterdir()):
            os.chown(path, USER, USER)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def shared(openmpi: Mpi, cache: Path) -> Iterator[Path]:
    """A folder as /tmp, with a home for each user and a file of USER in one of them."""
    folder = Path(tempfile.mkdtemp(prefix="two-users-"))
    try:
        folder.chmod(0o1777)
        for user in (USER, OTHER):
            (home := folder / f"home-{user}").mkdir(mode=0o700)
            os.chown(home, user, user)
        (victim := folder / f"home-{USER}" / "victim").write_text(PRECIOUS)
        os.chown(victim, USER, USER)
        started = as_user(USER, [*openmpi.scalatrace(), "--version"], folder, openmpi.environment())
        if started.returncode:
            pytest.skip("other users cannot run the installation here")
        yield folder
    finally:
        shutil.rmtree(folder)


def planted(shared: Path, *names: str) -> None:
    """Let OTHER plant links to the file of USER, or to its home where a name ends with a slash."""
    home = shared / f"home-{USER}"
    script = "".join(
        f"ln -s {home if name.endswith('/') else home / 'victim'} {shared / name.rstrip('/')}\n"
        for name in names
    )
    done = as_user(OTHER, ["sh", "-ec", script], shared, dict(os.environ))
    assert done.returncode == 0, done.stderr


def recorded(
    mpi: Mpi, cache: Path, shared: Path, trace: Path, program: Path, how: str = "well"
) -> subprocess.CompletedProcess[str]:
    """Record two ranks as USER, with temporary files in the shared folder."""
    own = shutil.copy(program, shared / f"home-{OTHER}" / "program")
    (shared / f"home-{OTHER}").chmod(0o755)
    # The launcher looks for what it starts without the right to read: `env` starts the rest.
    words = [mpi.mpiexec, "-n", "2", "env", *mpi.recorder(), "-o", trace, "--", own, how]
    folders = {"TMPDIR": str(shared), "SCALATRACE_CACHE": str(cache)}
    return as_user(USER, words, shared, {**mpi.environment(), **folders})


def unharmed(shared: Path) -> bool:
    """Whether the home of USER is as it was."""
    home = shared / f"home-{USER}"
    return {path.name for path in home.iterdir()} == {"victim"} and (home / "victim").read_text() == PRECIOUS


def test_temporary_files_have_no_names_that_another_user_knows(
    openmpi: Mpi, build: Builder, cache: Path, shared: Path
) -> None:
    """The output cannot be written, so the trace goes to the folder of temporary files."""
    pids = range(os.getpid(), os.getpid() + 500)
    planted(shared, *(f"{pid}-full" for pid in pids), *(f"scalatrace-{pid}/" for pid in pids))
    (shared / "full").symlink_to("/dev/full")
    os.chown(shared / "full", USER, USER, follow_symlinks=False)
    done = recorded(openmpi, cache, shared, shared / "full", build(openmpi, "ending.c"))
    assert done.returncode == 0, done.stderr
    (instead,) = shared.glob("scalatrace-*/full")
    assert instead.parent.stat().st_uid == USER
    assert len(load(instead).ranks) == 2
    assert unharmed(shared)


@pytest.mark.parametrize("name", ["a.st.tmp", "a.st.parts/"])
@pytest.mark.parametrize("how", ["well", "abort"])
def test_links_beside_an_output(
    name: str, how: str, openmpi: Mpi, build: Builder, cache: Path, shared: Path
) -> None:
    """The user records to a name in a shared folder, where another one planted a link."""
    planted(shared, name)
    done = recorded(openmpi, cache, shared, shared / "a.st", build(openmpi, "ending.c"), how)
    assert unharmed(shared), done.stderr
    assert ("wrote" in done.stderr) is (how == "well"), done.stderr
    assert ("cannot write" in done.stderr) is (name == "a.st.parts/" and how == "abort"), done.stderr


def test_a_link_in_place_of_an_output(openmpi: Mpi, build: Builder, cache: Path, shared: Path) -> None:
    planted(shared, "a.st")
    done = recorded(openmpi, cache, shared, shared / "a.st", build(openmpi, "ending.c"))
    assert unharmed(shared), done.stderr
    assert done.returncode != 0
    assert f"{shared}/a.st is a link of another user; give another path" in done.stderr
