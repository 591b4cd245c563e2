"""Output files: regular files are replaced, everything else is written through."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from scalatrace.core.binding import Core
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output, is_stream, output_file, output_folder, temporary, write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_regular_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.st"
    path.write_bytes(b"old")
    path.chmod(0o640)
    before = path.stat().st_ino
    assert write_file(path, b"new data") == 8
    assert path.read_bytes() == b"new data"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_ino != before
    assert names(tmp_path) == ["a.st"]


def test_new_file_follows_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_file(tmp_path / "a.st", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.st").stat().st_mode) == 0o640


def test_fifo_is_written_through(tmp_path: Path) -> None:
    fifo, received = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write_file(fifo, b"through")
    reader.join(10)
    assert received == [b"through"]
    assert is_stream(fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert names(tmp_path) == ["fifo"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_device_node_stays(tmp_path: Path) -> None:
    node = tmp_path / "null"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        node.open("wb").close()
    except PermissionError:
        pytest.skip("this file system has no devices")
    write_file(node, b"gone")
    assert stat.S_ISCHR(node.stat().st_mode)
    assert names(tmp_path) == ["null"]


def test_symbolic_link_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to("target")
    write_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    link.unlink()
    link.symlink_to("absent")
    write_file(link, b"made")
    assert (tmp_path / "absent").read_bytes() == b"made"


def test_temporary_name_of_another_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever guesses a name and puts a link there gains nothing."""
    tokens = iter([b"\xaa", b"\xaa", b"\xbb"])
    monkeypatch.setattr(temporary, "urandom", lambda nbytes: next(tokens))
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "a.st.aa.tmp").symlink_to(victim)
    write_file(tmp_path / "a.st", b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "a.st").read_bytes() == b"new"
    assert names(tmp_path) == ["a.st", "a.st.aa.tmp", "victim"]


def test_nothing_is_left_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.st"
    path.write_bytes(b"old")

    def fail(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.st"]


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    hour_ago = time.time() - 3600
    for name in ("a.st.0123456789abcdef.tmp", "a.st.00000000000000ff.tmp", "b.st.0123456789abcdef.tmp"):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (hour_ago, hour_ago))
    (tmp_path / "a.st.fresh00000000000.tmp").write_bytes(b"")
    (tmp_path / "a.st.ffffffffffffffff.tmp").write_bytes(b"being written")
    with (tmp_path / "a.st.00000000000000ff.tmp").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # its writer is alive
        write_file(tmp_path / "a.st", b"new")
    assert names(tmp_path) == [
        "a.st", "a.st.00000000000000ff.tmp", "a.st.ffffffffffffffff.tmp", "a.st.fresh00000000000.tmp",
        "b.st.0123456789abcdef.tmp",
    ]  # fmt: skip


WRITES = """
import sys, time
from scalatrace.files import output_file, output_folder
path = sys.argv[1]
with output_folder(path + "/folder") as folder, output_file(path + "/file") as file:
    file.write(b"half")
    open(folder + "/part", "w").close()
    print(flush=True)
    time.sleep(60)
"""


def test_nothing_is_left_after_sigterm(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(names(tmp_path)) == 2
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    assert names(tmp_path) == []


def test_errors_name_the_path(tmp_path: Path) -> None:
    with pytest.raises(ScalatraceError, match=r"none/a\.st: cannot write: No such file"):
        write_file(tmp_path / "none" / "a.st", b"")
    for path, reason in (
        (tmp_path / "none" / "a.st", "there is no folder"),
        (tmp_path, "this is a folder"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(UsageError, match=f"^-o .*{reason}"):
            check_output(path, "-o")
    check_output(tmp_path / "a.st", "-o")
    assert names(tmp_path) == []


def test_output_file_appears_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    with suppress(RuntimeError), output_file(target) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.read_text() == "old"
    with output_file(target) as file:
        file.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert target.read_text() == "new"


def test_output_folder_appears_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(RuntimeError), output_folder(target):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with output_folder(target) as name:
        Path(name, "file").write_text("content")
    assert [path.name for path in target.iterdir()] == ["file"]
    with pytest.raises(UsageError, match="is there already"), output_folder(target):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of two users")
@pytest.mark.parametrize("where", ["link", "folder/file", "own", "../mine/file"])
def test_links_that_another_user_planted(where: str, tmp_path: Path) -> None:
    """In a folder as /tmp, neither links nor ways through them are followed; own links are."""
    shared, home = tmp_path / "shared", tmp_path / "home"
    home.mkdir()
    shared.mkdir()
    shared.chmod(0o1777)
    (home / "file").write_text("precious")
    (shared / "link").symlink_to(home / "file")
    (shared / "folder").symlink_to(home)
    (shared / "own").symlink_to(shared / "link")
    (tmp_path / "mine").symlink_to(shared / "folder")
    for name in ("link", "folder"):
        os.chown(shared / name, 65534, 65534, follow_symlinks=False)
    with pytest.raises(ScalatraceError, match="is a link of another user"):
        write_file(shared / where, b"other")
    with Core(0, 1) as core:
        core.finish()
        with pytest.raises(ScalatraceError, match="Permission denied"):
            core.write(shared / where)
    assert (home / "file").read_text() == "precious"
    shared.chmod(0o777)
    write_file(shared / where, b"other")
    assert (home / "file").read_text() == "other"
