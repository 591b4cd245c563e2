"""Run studies: python -m benchmarks [NAME ...] [--list] [--quick] [--keep] [OPTION ...].

`--list` prints all studies with what they measure and who cites it, `NAME --help` the options of a study.
Options hold for all named studies. The exit status is 1 if a required property does not hold.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.registry import NAMES, find_study


def main(words: Sequence[str]) -> int:
    """Run the studies that the first words name; go on after one that fails."""
    names = []
    for word in words:
        if word not in NAMES:
            break
        names.append(word)
    options = list(words[len(names) :])
    if not names:
        print(__doc__)
        if options[:1] not in ([], ["--list"], ["--help"], ["-h"]):
            print(f"no study {options[0]!r}; --list prints all", file=sys.stderr)
            return 2
        list_studies()
        return 0
    status = 0
    for name in names:
        try:
            status = max(status, find_study(name).measure(options))
        except Exception:
            if len(names) == 1:
                raise
            traceback.print_exc()
            status = 1
    return status


def list_studies() -> None:
    """Print the registry."""
    table = Table("study", "what it measures", "cited by", box=None)
    for study in map(find_study, NAMES):
        table.add_row(study.name, study.about, study.cited)
    Console(width=160).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
