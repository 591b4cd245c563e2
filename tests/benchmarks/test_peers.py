"""Other tools are built from copies of their sources, and measured beside this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.record.peers import PEERS, PeerBench, build_peer
from benchmarks.running import compile_c
from benchmarks.study import SkippedError
from support.mpis import Mpi

MPIP = next(peer for peer in PEERS if peer.name == "mpiP")

CONFIGURE = '#!/bin/sh\necho "CC = ${2#CC=}" > config.mk\n'
MAKEFILE = """include config.mk
libmpiP.so: tool.c
\t$(CC) -shared -fPIC -o $@ tool.c
"""
TOOL = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int MPI_Finalize(void) {
    const char *folder = getenv("MPIP");
    char name[4096];
    snprintf(name, sizeof name, "%s/report", strchr(folder, '/'));
    FILE *file = fopen(name, "w");
    fputs("12345", file);
    fclose(file);
    return PMPI_Finalize();
}
"""


def _sources(folder: Path) -> Path:
    """A tool with mpiP's way of building; it writes five bytes."""
    folder.mkdir()
    for name, text in (("configure", CONFIGURE), ("Makefile", MAKEFILE), ("tool.c", TOOL)):
        (folder / name).write_text(text)
    (folder / "configure").chmod(0o755)
    return folder


def test_a_missing_folder_is_named(mpi: Mpi, tmp_path: Path) -> None:
    with pytest.raises(SkippedError, match="--mpip: no folder"):
        build_peer(MPIP, tmp_path / "nothing", mpi, tmp_path)


def test_a_failed_build_says_what_is_needed(mpi: Mpi, tmp_path: Path) -> None:
    sources = _sources(tmp_path / "mpiP")
    (sources / "configure").write_text("#!/bin/sh\necho no libunwind >&2\nexit 1\n")
    with pytest.raises(SkippedError, match=r"not built: ./configure .*: no libunwind .*libunwind-dev"):
        build_peer(MPIP, sources, mpi, tmp_path)
    assert not (sources / "config.mk").exists()


def test_bytes_of_a_built_tool(mpi: Mpi, tmp_path: Path) -> None:
    library = build_peer(MPIP, _sources(tmp_path / "mpiP"), mpi, tmp_path)
    assert library.is_relative_to(tmp_path / "mpip")  # a copy: the sources stay as they are
    bench = PeerBench(mpi, tmp_path, {"mpip": library})
    assert [peer.name for peer in bench.peers] == ["mpiP"]
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text(
        "#include <mpi.h>\nint main(int n, char **v) { MPI_Init(&n, &v); MPI_Finalize(); }\n"
    )
    compile_c(mpi, tmp_path / "program.c", program)
    assert bench.nbytes(MPIP, 1, [program]) == "5"
    assert bench.nbytes(MPIP, 1, ["false"]) == "fails"


def test_without_sources_it_says_where_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peers"]) == 0
    assert "github.com/pmodels/pilgrim" in capsys.readouterr().out
