"""Calibrate this machine, then predict the ping-pongs of a second campaign with other sizes.

python -m benchmarks.calibration [--ranks 2] [--sizes 80] [--keep]

The error of a size is |predicted - measured| / measured. The second campaign has another seed and another
order; repeats that the system interrupted do not count in either.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks import table
from scalatrace.predict.calibrate import Archive, fit_archive, read_archive
from scalatrace.predict.calibrate.loggops import one_way_ns
from scalatrace.predict.calibrate.typical import series

COLUMNS = ("sizes", "number", "median error", "90 % below", "interrupted repeats")
RANGES = ((1, 1024), (1025, 65536), (65537, 1 << 20), (1, 1 << 20))
WANTED = 0.10


def campaign(ranks: int, sizes: int, seed: int, folder: Path) -> Archive:
    """Measure."""
    archive = folder / f"{seed}.jsonl"
    command = [
        str(Path(sys.executable).with_name("mpiexec")),
        "-n",
        str(ranks),
        sys.executable,
        "-m",
        "scalatrace",
    ]
    command += ["calibrate", "-o", str(folder / f"{seed}.toml"), "--archive", str(archive)]
    command += ["--seed", str(seed), "--sizes", str(sizes), "--max-bytes", str(1 << 20)]
    command += ["--collectives", "0", "--kernel-calls", "0"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read_archive(archive)


def lines(args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (campaign(args.ranks, args.sizes, seed, Path(folder)) for seed in (1, 2))
    for level in ("memory", "network"):
        if not second.of("pingpong", level):
            continue
        fitted, check = (fit_archive(archive).fits[level] for archive in (first, second))
        sizes, measured = series(second.of("pingpong", level))
        for least, most in RANGES:
            errors = sorted(
                abs(one_way_ns(fitted.network, size) / ns - 1)
                for size, ns in zip(sizes, measured, strict=True)
                if least <= size <= most
            )
            cells = (
                f"{median(errors):.1%}",
                f"{errors[int(0.9 * (len(errors) - 1))]:.1%}",
                f"{check.disturbed:.0%}",
            )
            yield f"{level} {least} to {most} B", str(len(errors)), *cells


def main() -> int:
    """Measure, print, say whether what must hold does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", type=int, default=80)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/calibration.md")
    args = parser.parse_args()
    title = "Ping-pongs of a second campaign, predicted from the first"
    rows = [tuple(row) for row in table.printed(lines(args))]
    table.show(title, COLUMNS, rows)
    worst = max(float(row[2].rstrip("%")) / 100 for row in rows if row[0].endswith(f" 1 to {1 << 20} B"))
    verdict = f"{'yes' if worst <= WANTED else 'NO'}: predicted within {worst:.1%} (median) from 1 B to 1 MiB"
    print(verdict)
    if args.keep:
        table.keep("calibration", title, COLUMNS, rows, f"{args.ranks} ranks.", below=[f"- {verdict}"])
    return int(worst > WANTED)


if __name__ == "__main__":
    sys.exit(main())
