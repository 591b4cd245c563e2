"""Errors before the program starts: printed once, and no rank waits in MPI_Init for one that refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from record.conftest import Builder
from support.mpis import Mpi
from support.running import Argument, Finished, run

pytestmark = pytest.mark.mpi

AS_SRUN = """\
#!/bin/bash
# srun gives each task its number.
export SLURM_PROCID=${PMI_RANK:-$PMIX_RANK} SLURM_STEP_NUM_TASKS=3
unset MPI_LOCALNRANKS OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_SIZE
exec "$@"
"""
PER_RANK = """\
#!/bin/bash
[ "$SLURM_PROCID" = "$1" ] && output=/nonexistent/a.st || output=$2
shift 2
exec "$@" -o $output -- $PROGRAM
"""


def launched(mpi: Mpi, folder: Path, *words: Argument, as_srun: bool = True, **env: str) -> Finished:
    script = folder / "as_srun"
    script.write_text(AS_SRUN)
    script.chmod(0o755)
    start = [script] if as_srun else []
    command = [mpi.mpiexec, "-n", "3", *start, *words]
    return run(command, env={**mpi.environment(), **env}, cwd=folder, timeout=60)


@pytest.mark.parametrize("as_srun", [True, False])
def test_a_path_that_cannot_be_written(mpi: Mpi, build: Builder, tmp_path: Path, as_srun: bool) -> None:
    record: list[Argument] = [*mpi.recorder(), "-o", "/nonexistent/a.st", "--", build(mpi, "hello.c")]
    done = launched(mpi, tmp_path, *record, as_srun=as_srun)
    assert done.returncode
    assert done.stderr.count("there is no folder /nonexistent") == 1


def test_only_rank_0_refuses(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    """The others wait in MPI_Init, since they cannot look at the folders of its node."""
    script = tmp_path / "per_rank"
    script.write_text(PER_RANK)
    script.chmod(0o755)
    words: list[Argument] = [script, "0", tmp_path / "a.st", *mpi.recorder()]
    done = launched(mpi, tmp_path, *words, PROGRAM=str(build(mpi, "hello.c")))
    assert done.returncode
    assert done.stderr.count("there is no folder /nonexistent") == 1
    assert not (tmp_path / "a.st").exists()


def test_another_rank_refuses(mpi: Mpi, build: Builder, tmp_path: Path) -> None:
    program = tmp_path / "program"
    os.symlink(build(mpi, "hello.c"), program)
    script = tmp_path / "per_rank"
    script.write_text('#!/bin/bash\n[ $SLURM_PROCID = 2 ] && set -- "$@" --flat-log /proc/none\n'
                      'exec "$@" -- $PROGRAM\n')  # fmt: skip
    script.chmod(0o755)
    done = launched(mpi, tmp_path, script, *mpi.recorder(), PROGRAM=str(program))
    assert done.returncode
    assert done.stderr.count("rank 2 on ") == 1
    assert done.stderr.count("--flat-log /proc/none") == 1


@pytest.mark.parametrize("option", ["--foo", "--checkpoint=-1"])
def test_a_wrong_option_is_reported_once(mpi: Mpi, build: Builder, tmp_path: Path, option: str) -> None:
    done = launched(mpi, tmp_path, *mpi.recorder(), option, "--", build(mpi, "hello.c"))
    assert done.returncode
    assert done.stderr.count("scalatrace: ") == 1
