"""The cache of compiled tracers and parser tables: what others could have written is not used."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scalatrace import cache
from scalatrace.codegen.conceptual.parser import parse as ncptl
from scalatrace.errors import ScalatraceError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCALATRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_fallback_folder", lambda: tmp_path / "fallback")
    monkeypatch.setattr(cache, "_reported", set())
    return tmp_path / "cache"


def test_folder_is_private(folder: Path) -> None:
    path = cache.store("shim.so", b"code")
    assert path == folder / "shim.so"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cache.find("shim.so") == path
    assert cache.read("shim.so") == b"code"


def test_folder_of_others_is_not_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.store("shim.so", b"code")
    folder.chmod(0o777)
    assert cache.find("shim.so") is None
    assert "can be written by other users" in capsys.readouterr().err
    assert cache.store("shim.so", b"mine").parent == folder.parent / "fallback"
    assert cache.read("shim.so") == b"mine"


def test_files_of_others_are_not_used(folder: Path) -> None:
    path = cache.store("shim.so", b"code")
    path.chmod(0o666)
    assert cache.find("shim.so") is None
    path.unlink()
    other = folder.parent / "other"
    other.write_bytes(b"code")
    path.symlink_to(other)
    assert cache.find("shim.so") is None


def test_fallback_is_no_symbolic_link(folder: Path) -> None:
    """Whoever owns the link decides what it names."""
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    (folder.parent / "mine").mkdir(mode=0o700)
    (folder.parent / "fallback").symlink_to("mine")
    with pytest.raises(ScalatraceError, match="no cache folder"):
        cache.store("shim.so", b"code")
    assert cache.find("shim.so") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_is_checked(folder: Path) -> None:
    path = cache.store("shim.so", b"code")
    os.chown(path, 12345, 12345)
    assert cache.find("shim.so") is None
    os.chown(folder, 12345, 12345)
    assert cache.distrust(folder) == "belongs to user 12345"


def forget_parser() -> None:
    """Let the next program load the parser again."""
    ncptl._parser.cache_clear()
    ncptl._driver.cache_clear()


def test_parser_tables_are_data(folder: Path) -> None:
    """Loaded tables parse as those just made; damaged ones are made anew. Nothing is unpickled."""
    text = "Task 0 sends a 4 byte message to task 1."
    forget_parser()
    try:
        first = ncptl.parse(text)
        (table,) = folder.glob("conceptual-*.tables")
        assert b"\x80\x04" not in table.read_bytes()[:4]
        forget_parser()
        assert ncptl.parse(text) == first
        table.write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
        forget_parser()
        assert ncptl.parse(text) == first
    finally:
        forget_parser()
