"""Launchers that refuse ranks as root, or more ranks than cores, unless variables are set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scalatrace.record import doctor
from scalatrace.record.doctor import AS_ROOT, OVERSUBSCRIBE, try_launcher

LAUNCHER = """#!/bin/sh
{conditions}
exit 0
"""
REFUSES_ROOT = """[ "$OMPI_ALLOW_RUN_AS_ROOT$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM" = 11 ] || {
    printf -- '-----\\nprterun has detected an attempt to run\\nas root. Use --allow.\\n----\\n' >&2; exit 1
}"""
REFUSES_MORE = """[ "$2" = 1 ] || [ "$OMPI_MCA_rmaps_base_oversubscribe" = 1 ] || {
    echo "There are not enough slots available:" >&2; exit 1
}"""


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the variables is set, and the user is root."""
    for name in {*AS_ROOT, *(name for remedy in OVERSUBSCRIBE for name in remedy)}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def launcher(folder: Path, *conditions: str) -> str:
    path = folder / "mpiexec"
    path.write_text(LAUNCHER.format(conditions="\n".join(conditions)))
    path.chmod(0o755)
    return str(path)


def test_variables_that_help_are_named(tmp_path: Path) -> None:
    single, many = try_launcher(launcher(tmp_path, REFUSES_ROOT, REFUSES_MORE))
    assert (single.ok, single.nranks) == (False, 1)
    assert single.exports == "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    assert single.error == "prterun has detected an attempt to run as root"
    assert not many.ok
    assert many.nranks == len(os.sched_getaffinity(0)) + 1
    assert many.exports == "export OMPI_MCA_rmaps_base_oversubscribe=1"
    assert many.error == "There are not enough slots available"


def test_variables_that_are_set_are_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**AS_ROOT, **OVERSUBSCRIBE[1]}.items():
        monkeypatch.setenv(name, value)
    assert all(result.ok for result in try_launcher(launcher(tmp_path, REFUSES_ROOT, REFUSES_MORE)))


def test_nothing_is_advised_that_does_not_help(tmp_path: Path) -> None:
    for result in try_launcher(launcher(tmp_path, "echo no daemon >&2; exit 1")):
        assert (result.ok, result.variables, result.error) == (False, {}, "no daemon")


def test_root_is_no_matter_for_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert try_launcher(launcher(tmp_path, REFUSES_ROOT))[0].variables == {}


def test_a_launcher_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.2)
    result, _ = try_launcher(launcher(tmp_path, "exec sleep 60"))
    assert (result.ok, result.error) == (False, "no answer within 0.2 s")
