"""Replays of one trace with one seed after the other, in one MPI job: python many.py TRACE N.

Rank 0 prints a JSON line per seed: what differs from the trace, messages received, seconds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import scalatrace
from scalatrace.replay import ComputeMode, RankResult, ReplayOptions, ReplaySummary, check, run
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.compare import compare, compare_totals
from scalatrace.replay.probabilistic.sampled_calls import is_probabilistic
from scalatrace.replay.start import start_mpi


def main(path: str, times: int) -> None:
    """Replay and print."""
    trace = scalatrace.load(path)
    transport = start_mpi(trace, 0)
    check(trace, transport.size)
    drawn = is_probabilistic(trace)
    for seed in range(times):
        options = ReplayOptions(ComputeMode.NONE, seed=seed)
        result = run(trace, transport, options)
        if not drawn:  # all values follow rules: the trace is exact
            result = replace(result, unequal=compare(trace, result, options))
        packed = transport.gather(result.pack())
        if packed is None:
            continue
        summary = ReplaySummary.over([RankResult.unpack(data) for data in packed])
        unequal = compare_totals(trace, summary, WhatIf(())) if drawn else summary.unequal
        line = {
            "seed": seed,
            "unequal": len(unequal or ()),
            "received": summary.received,
            "wall_s": summary.wall_s,
        }
        print(json.dumps(line), flush=True)
    transport.finish()


main(sys.argv[1], int(sys.argv[2]))
