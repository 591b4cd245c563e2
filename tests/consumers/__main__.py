"""Random MPI programs through every consumer of a trace, and a table of what agreed.

python -m consumers --programs 2000 --seed 1          # PYTHONPATH=tests
python -m consumers --programs 40 --kinds testany,restarted --consumers "generated C"
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from consumers.campaign import CONSUMERS, GROUP, Campaign, table
from consumers.outcomes import Verdict
from consumers.phases import KINDS
from support.mpis import installed


def main() -> int:
    """Run, print the table; 1 where something disagrees."""
    args = _arguments()
    campaign = Campaign(installed()[args.mpi], Path(args.folder), args.seed, _names(args.consumers), _say)
    start = time.monotonic()
    result = campaign.run(args.programs, args.first, args.group, _names(args.kinds))
    for line in table(result):
        print(line)
    print(f"{result.programs} programs with seed {args.seed} in {time.monotonic() - start:.0f} s")
    failed = any(counts[Verdict.DIFFERENT] for counts in result.outcomes.values())
    return 1 if failed else 0


def _say(text: str) -> None:
    print(text, flush=True)


def _arguments() -> argparse.Namespace:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(prog="consumers", description=__doc__, formatter_class=formatter)
    parser.add_argument("--programs", type=int, default=100, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--group", type=int, default=GROUP, help="programs that are recorded together")
    parser.add_argument("--kinds", default="", help=f"of phases: {', '.join(sorted(KINDS))}")
    parser.add_argument("--consumers", default="", help=f"of {', '.join(CONSUMERS)}")
    parser.add_argument("--mpi", default="openmpi", help="openmpi or mpich")
    parser.add_argument("--folder", default="consumers-findings", help="for reduced programs")
    return parser.parse_args()


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
