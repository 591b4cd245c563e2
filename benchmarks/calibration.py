"""Calibrate this machine, then predict ping-pongs of other sizes.

python -m benchmarks.calibration [--ranks 2] [--sizes 120] [--keep]

held out   sizes of the campaign: a platform fitted to every other one predicts those between them.
second     sizes of a second campaign, with another seed. The machine may be in another state by then.

The error of a size is |predicted - measured| / measured. Repeats that the system interrupted do not count.
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

COLUMNS = ("ping-pongs", "number", "median error", "90 % below", "interrupted repeats")
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


def split(archive: Archive) -> tuple[Archive, Archive]:
    """Give every other size of the ping-pong to the second archive; all else is in both."""
    sizes = sorted({m.nbytes for m in archive.of("pingpong")})
    held_out = set(sizes[1::2])
    parts = (
        tuple(m for m in archive.measurements if m.kind != "pingpong" or (m.nbytes in held_out) is held)
        for held in (False, True)
    )
    given, held = (Archive(archive.metadata, part) for part in parts)
    return given, held


def lines(args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (campaign(args.ranks, args.sizes, seed, Path(folder)) for seed in (1, 2))
    yield from _compared("held out", *split(first))
    yield from _compared("second", first, second)


def _compared(what: str, given: Archive, checked: Archive) -> Iterator[tuple[str, ...]]:
    for level in ("memory", "network"):
        if not checked.of("pingpong", level):
            continue
        fitted = fit_archive(given).fits[level]
        sizes, measured = series(checked.of("pingpong", level))
        for least, most in RANGES:
            errors = sorted(
                abs(one_way_ns(fitted.network, size) / ns - 1)
                for size, ns in zip(sizes, measured, strict=True)
                if least <= size <= most
            )
            middle, ninth = median(errors), errors[int(0.9 * (len(errors) - 1))]
            cells = str(len(errors)), f"{middle:.1%}", f"{ninth:.1%}", f"{fitted.disturbed:.0%}"
            yield f"{what}, {level}, {least} to {most} B", *cells


def main() -> int:
    """Measure, print, say whether what must hold does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", type=int, default=120)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/calibration.md")
    args = parser.parse_args()
    title = "Predicted ping-pongs"
    rows = [tuple(row) for row in table.printed(lines(args))]
    table.show(title, COLUMNS, rows)
    whole = [row for row in rows if row[0].startswith("held out") and row[0].endswith(f" 1 to {1 << 20} B")]
    worst = max(float(row[2].rstrip("%")) / 100 for row in whole)
    verdict = (
        f"{'yes' if worst <= WANTED else 'NO'}: sizes held out, 1 B to 1 MiB, within {worst:.1%} (median)"
    )
    print(verdict)
    if args.keep:
        table.keep("calibration", title, COLUMNS, rows, f"{args.ranks} ranks.", below=[f"- {verdict}"])
    return int(worst > WANTED)


if __name__ == "__main__":
    sys.exit(main())
