"""Fuzz for some time, and keep the inputs of all findings: `python -m fuzz --help`."""

from __future__ import annotations

import argparse
import sys
import time
from hashlib import sha1
from pathlib import Path

from fuzz.campaign import FINDING, Report, fuzz, judged_apart
from fuzz.exercise import QUICK, THOROUGH, USUAL, Effort
from fuzz.steps import printed
from fuzz.targets import TARGETS, Target

ROUND_SECONDS = 60.0
"""Time of a target before the next one has its turn."""


def main() -> int:
    """Parse arguments; 1 when there are findings."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="time in all (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices (default: 1)")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument(
        "--findings", type=Path, default=Path("fuzz-findings"), help="folder for their inputs"
    )
    parser.add_argument(
        "--run",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="only run these inputs; of several targets, that whose name is a folder of the path",
    )
    parser.add_argument(
        "--quick", action="store_true", help="try fewer commands on each trace, to read more of them"
    )
    parser.add_argument("--trace-errors", action="store_true", help="with --run: raise instead of judging")
    args = parser.parse_args()
    targets = [TARGETS[name] for name in args.targets]
    if args.run:
        return max(run_file(target_of(path, targets), path, args.trace_errors) for path in args.run)
    reports = campaign(targets, args.seconds, args.seed, args.findings, QUICK if args.quick else USUAL)
    return int(any(report.findings for report in reports))


def target_of(path: Path, targets: list[Target]) -> Target:
    """Return the target of an input."""
    return next((target for target in targets if target.name in path.parts), targets[0])


def run_file(target: Target, path: Path, raising: bool) -> int:
    """Print the outcome of one input."""
    data = path.read_bytes()
    if raising:
        target.run(data, THOROUGH)
    result = judged_apart(target, data)
    print(f"{path}: {' '.join(filter(None, result[:3]))}")
    return int(result.outcome == FINDING)


def campaign(
    targets: list[Target], seconds: float, seed: int, folder: Path, effort: Effort = USUAL
) -> list[Report]:
    """Give each target its turn until the time is over; print and keep findings when they come."""
    reports = {target.name: Report(target.name) for target in targets}
    turn = min(ROUND_SECONDS, seconds / len(targets))
    end = time.monotonic() + seconds
    while time.monotonic() < end - turn / 2:
        for target in targets:
            report = reports[target.name]
            before = set(report.findings)
            fuzz(target, seed, min(turn, max(1.0, end - time.monotonic())), report.inputs, report, effort)
            for key in report.findings.keys() - before:
                number, text = report.findings[key]
                path = keep(target, target.make(seed, number), folder)
                print(f"FINDING {key}: {text}\n        {path}", flush=True)
    print("\n".join(map(str, reports.values())), flush=True)
    print(printed((name, report.table) for name, report in reports.items()), flush=True)
    return list(reports.values())


def keep(target: Target, data: bytes, folder: Path) -> Path:
    """Write the input of a finding."""
    path = folder / target.name / f"{sha1(data).hexdigest()[:10]}{target.ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    sys.exit(main())
