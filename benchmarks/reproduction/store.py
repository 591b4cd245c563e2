"""Files of measured studies: a CSV file each, and one JSON file of when and how they were measured."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.reproduction.figure import Figure, FigureStudy, NamedRow, NamedRows
from scalatrace.files import write_file


@dataclass(frozen=True)
class StudyRun:
    """When and how a study was measured.

    Attributes:
        settings: "quick", "full" or "real".
        seconds: duration.
        others: CPU time of other processes, as a fraction of all cores' time.
        machine: facts, by name.
    """

    date: str
    settings: str
    seconds: float
    others: float
    machine: Mapping[str, str]


class Results:
    """RESULTS.md in a folder, with CSV files and plots in results/reproduction below it.

    A study replaces its earlier one as soon as it is complete. run.json: name of the study -> `StudyRun`.

    Args:
        studies: all that the page may show.
    """

    def __init__(self, folder: Path, studies: Sequence[FigureStudy]) -> None:
        self.folder, self.studies = folder, studies
        self.files = folder / "results" / "reproduction"

    def save(self, study: FigureStudy, rows: Sequence[NamedRow], run: StudyRun) -> None:
        """Write the rows of a study, then its entry in run.json."""
        out = io.StringIO()
        table = csv.DictWriter(out, study.columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        self.files.mkdir(parents=True, exist_ok=True)
        write_file(self.csv(study), out.getvalue().encode())
        runs = self._runs() | {study.name: asdict(run)}
        write_file(self._facts, (json.dumps(runs, indent=1) + "\n").encode())

    def load(self, study: FigureStudy) -> tuple[NamedRows, StudyRun] | None:
        """Return rows and facts of a study; None if it was not measured, or with other columns."""
        facts = self._runs().get(study.name)
        if facts is None or not self.csv(study).exists():
            return None
        with self.csv(study).open(newline="") as file:
            table = csv.DictReader(file)
            if table.fieldnames != list(study.columns):
                return None
            return list(table), StudyRun(**facts)

    def csv(self, study: FigureStudy) -> Path:
        """Return the path of a study's rows."""
        return self.files / f"{study.name}.csv"

    def plot(self, study: FigureStudy, figure: Figure) -> Path:
        """Return the path of a figure's plot."""
        kind = "real_" if study.real else ""
        return self.files / f"{kind}figure_{figure.number.replace('.', '_')}.svg"

    @property
    def _facts(self) -> Path:
        return self.files / "run.json"

    def _runs(self) -> dict[str, dict[str, Any]]:
        return json.loads(self._facts.read_text()) if self._facts.exists() else {}
