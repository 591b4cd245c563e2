"""Run the terminal sessions of the documentation, and compare their output with the output shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.mpis import Mpi
from support.sessions import Block, blocks_of, difference, page_environment, run_page

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SETUPS = HERE / "setups"
"""A script for each page that needs files before its first command."""

SHARED = SETUPS / "shared.sh"
"""Makes the files that several pages need."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LIMIT_S = 300
"""Of a command; ranks share few cores."""


def blocks(path: Path) -> list[Block]:
    return list(blocks_of(path.read_text()))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT).with_suffix(""))


def setup_of(path: Path) -> Path:
    """Return the script that makes the files for a page, such as guide-replay.sh."""
    return SETUPS / f"{name(path).removeprefix('docs/').replace('/', '-')}.sh"


WITH_SESSIONS = [path for path in PAGES if any(b.commands and b.reason is None for b in blocks(path))]


@pytest.fixture(scope="module")
def environment(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of sessions; its variable TRACES names a folder with traces of a stencil."""
    folder = tmp_path_factory.mktemp("traces")
    result = page_environment(openmpi.environment())
    result |= {"PATH": f"{HERE / 'bin'}{os.pathsep}{result['PATH']}", "TRACES": str(folder)}
    prepare(SHARED, folder, result)
    return result


def prepare(script: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run a script that makes files in a folder, beside the samples."""
    (folder / "samples").symlink_to(ROOT / "samples")
    subprocess.run(["bash", "-e", script], cwd=folder, env=environment, check=True, timeout=3 * LIMIT_S)


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("path", WITH_SESSIONS, ids=name)
def test_sessions(environment: dict[str, str], path: Path, tmp_path: Path) -> None:
    prepare(setup_of(path) if setup_of(path).exists() else Path("/dev/null"), tmp_path, environment)
    failures = run_page(path.read_text(), tmp_path, environment, seconds=LIMIT_S)
    assert not failures, "\n".join(failures)


def test_setups_belong_to_pages() -> None:
    assert set(SETUPS.glob("*.sh")) == {SHARED} | {s for s in map(setup_of, WITH_SESSIONS) if s.exists()}


def test_blocks_are_found() -> None:
    page = """Text.

    $ scalatrace info a.st
    ranks  4

    events 8

<!-- not run: no network -->

    pip install scalatrace

<!-- file: job.sh -->
```bash
#!/bin/bash
srun true
```

    for (int i = 0; i < 3; i++) {
        Send();

<!-- status 1 -->

    python a.py \\
        --option
    scalatrace diff a.st b.st

- In a list:

      scalatrace show a.st
"""
    first, skipped, file, other, plain, listed = blocks_of(page)
    assert [(c.line, c.output) for c in first.commands] == [
        ("scalatrace info a.st", ["ranks  4", "", "events 8"])
    ]
    assert skipped.reason == "no network"
    assert (file.file, file.commands) == ("job.sh", [])
    assert other.commands == []
    assert [(c.line.split(), c.status) for c in plain.commands] == [
        (["python", "a.py", "--option"], 0),
        (["scalatrace", "diff", "a.st", "b.st"], 1),
    ]
    assert [c.line for c in listed.commands] == ["scalatrace show a.st"]


def test_blocks_that_need_a_program_of_the_same_installation(tmp_path: Path) -> None:
    """A compiler of another MPI makes programs that this mpiexec does not start."""
    page = "<!-- needs: {} -->\n\n    $ false\n"
    for folder, names in (("one", ("compiler", "starter")), ("two", ("other",))):
        for name in names:
            program = tmp_path / folder / name
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two"), os.environ["PATH"]])

    def is_run(needs: str) -> bool:
        return bool(run_page(page.format(needs), tmp_path, {"PATH": path}))  # its command fails

    assert is_run("compiler")
    assert is_run("compiler beside starter")
    assert not is_run("missing")
    assert not is_run("other beside starter")
    assert not is_run("compiler beside missing")


@pytest.mark.parametrize(
    ("expected", "printed", "problem"),
    [
        (["a  1", "b"], ["a 1", "", "b"], None),
        (["a 1"], ["a 2"], "not printed: a 1\nprinted: a 2"),
        (["a"], ["a", "b"], "not shown: b"),
        (["a", "..."], ["a", "b"], None),
        (["...", "c"], ["a", "b"], "not printed: c"),
        (["...", "b", "..."], ["a", "b", "c"], None),
        (["x ... y"], ["x 1 y"], None),
        (["x ... y"], ["x 1 z"], "not printed: x ... y\nprinted: x 1 z"),
        (["wrote a.st: 10 bytes, 8 events"], ["wrote a.st: 12 bytes, 8 events"], None),
        (["wrote a.st: 10 bytes, 8 events"], ["wrote a.st: 10 bytes, 9 events"], "not printed"),
        (["wrote a.st: 8560 bytes, 8 events"], ["wrote a.st: 5228 bytes, 8 events"], "not printed"),
        (["a.st: 4 ranks, 5 nodes, 1,638 bytes"], ["a.st: 4 ranks, 5 nodes, 1,700 bytes"], None),
        (["a.st: 4 ranks, 5 nodes, 1,638 bytes"], ["a.st: 4 ranks, 5 nodes, 638 bytes"], "not printed"),
        (["file  1,000 bytes, 3.1 events per byte"], ["file 1,100 bytes, 2.8 events per byte"], None),
        (["file  1,000 bytes, 3.1 events per byte"], ["file 3,000 bytes, 1 events per byte"], "not printed"),
        (["took 1.2 s, 3 %"], ["took 900 ms, 4.5 %"], None),
        (["took 1.2 s"], ["took 3 %"], "not printed"),
        (["took 50%, x2%"], ["took 9 %, x2%"], None),
        (["format v1%d"], ["format v2%d"], "not printed"),
    ],
)
def test_difference(expected: list[str], printed: list[str], problem: str | None) -> None:
    result = difference(expected, printed)
    assert result is None if problem is None else (result or "").startswith(problem)


@pytest.mark.parametrize("block", ["<!-- stauts 1 -->\n\n    cp a b\n", "<!-- status 1 -->\n\n    int i;\n"])
def test_wrong_marks_are_errors(block: str) -> None:
    with pytest.raises(ValueError, match="unknown mark of a block"):
        list(blocks_of(f"Text.\n\n{block}"))


def test_a_wrong_page_fails(tmp_path: Path) -> None:
    page = "Text.\n\n    $ cp a b\n\nText.\n\n    $ cat c\n    no\n"
    (tmp_path / "a").write_text("")
    (tmp_path / "c").write_text("yes\n")
    assert run_page(page, tmp_path, page_environment(os.environ)) == [
        "$ cat c\nnot printed: no\nprinted: yes\n--- output:\nyes\n"
    ]
    assert run_page("Text.\n\n    $ cp x y\n", tmp_path, page_environment(os.environ))[0].startswith(
        "$ cp x y\nexit status 1, expected 0"
    )


@pytest.mark.slow
def test_documentation_is_built_without_warnings(tmp_path: Path) -> None:
    """No link is broken, no page is left out of the index; no network is used."""
    pytest.importorskip("sphinx")
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    offline = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    built = subprocess.run(
        [*command, "-d", tmp_path / "trees", ROOT / "docs", tmp_path / "html"],
        capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **offline},
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "html" / "reference" / "commands.html").read_text()
    assert "--flat-log DIR" in page
    assert "scalatrace.extrap.extrapolate" in (tmp_path / "html" / "reference" / "python.html").read_text()
