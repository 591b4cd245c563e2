"""The table of launchers' variables: read by Python as C reads it, and the only list of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scalatrace import launched
from scalatrace.launched import batch_variables, launched_rank, launcher_variables, on_one_node

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "scalatrace/launchers.def"

PRINT = """
#include <stdio.h>
static const char *const names[] = {
#define ST_LAUNCHER(rank, nranks, ranks_here, nnodes, run) rank, nranks, ranks_here, nnodes, run,
#define ST_BATCH(job, array_task, no_task, nrestarts) job, array_task, nrestarts,
#include "launchers.def"
};
int main(void) {
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (*names[i]) puts(names[i]);
}
"""


def test_c_and_python_read_the_same_table(tmp_path: Path) -> None:
    source = tmp_path / "names.c"
    source.write_text(PRINT)
    subprocess.run(["cc", f"-I{TABLE.parent}", "-o", tmp_path / "names", source], check=True, timeout=60)
    shown = subprocess.run([tmp_path / "names"], capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout.split() == [*launcher_variables(), *batch_variables()]


def test_no_other_file_lists_them() -> None:
    """Sources that name two ranks' variables have a list of their own."""
    ranks = {row.rank for row in launched._LAUNCHERS}
    for folder in ("scalatrace", "replay", "extrap", "codegen", "predict"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".c", ".h", ".cpp", ".hpp"):
                named = ranks & set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
                assert len(named) < 2, path


@pytest.mark.parametrize(
    ("variables", "rank", "one_node"),
    [
        ({}, None, True),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_NODES": "1"}, 3, True),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_NODES": "2"}, 3, False),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4", "SLURM_PROCID": "0"}, 1, True),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"}, 1, False),
        ({"PMIX_RANK": "2"}, 2, False),
        ({"MV2_COMM_WORLD_RANK": "5"}, 5, False),
    ],
)
def test_launchers(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], rank: int | None, one_node: bool
) -> None:
    for name in launcher_variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched_rank() == rank
    assert on_one_node() == one_node
