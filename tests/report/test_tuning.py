"""The text of `tune`: with rules, and where nothing is gained."""

from __future__ import annotations

from io import StringIO
from typing import Any

from scalatrace.report.predictions.tuning import TuneReporter
from scalatrace.report.style import console

ROW = {
    "operation": "Allreduce", "ranks": 4, "bytes": 8, "calls": 50.0, "default_ns": 28e3, "algorithm": "ring",
    "best_ns": 22e3, "saving": 0.2143, "saving_low": 0.106, "saving_high": 0.335, "rule": True, "pairs": 9,
    "algorithms": 6,
}  # fmt: skip
FACTS: dict[str, Any] = {
    "trace": "app.st", "mpi": "Open MPI 5.0.11", "nprocs": 4, "seconds": 12.3, "collective_ns": 2e6,
    "saving_ns": 3e5, "saving_low_ns": 2e5, "saving_high_ns": 4e5, "level": 0.95, "points": [ROW],
    "left_out": [{"op": "Iallreduce", "reason": "nonblocking or persistent", "calls": 1200}],
    "rejected": [{"op": "allreduce", "size": 4, "algorithm": "bad", "reason": "no"}] * 3,
    "shares_cores": True, "file": "/tmp/rules", "environment": {},
    "usage": ["mpiexec -n 4 --mca x 1 PROGRAM", "export X=1"],
}  # fmt: skip


def text_of(facts: dict[str, Any]) -> str:
    stream = StringIO()
    TuneReporter(facts).render(console(stream))
    return stream.getvalue()


def test_saving_and_use_of_the_rules() -> None:
    text = text_of(FACTS)
    assert "+21.4%" in text
    assert (
        "expected saving: 300 µs of 2 ms in collectives of a rank, 15.0 % (95% interval: 10.0 % to 20.0 %)"
        in text
    )
    assert "ranks share cores here" in text
    assert "use them:  mpiexec -n 4 --mca x 1 PROGRAM\n" in text
    assert "against            mpiexec -n 4 --mca x 1 scalatrace replay app.st\n" in text
    assert "left out: 1,200 MPI_Iallreduce, nonblocking or persistent" in text
    assert text.count("bad of allreduce on 4 ranks") == 1


def test_nothing_gained_is_one_line() -> None:
    row = {**ROW, "rule": False, "algorithm": "", "best_ns": None, "saving": None}
    text = text_of({**FACTS, "points": [row], "file": None, "usage": []})
    assert "nothing is gained significantly in 2 ms of collectives: no rules written\n" in text
    assert "rules written:" not in text
    assert "mpiexec" not in text
