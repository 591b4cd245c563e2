"""Multiply matrices on one core and print the mean ns of each run: python multiply.py CORE.

Standard input has a line `COUNT EXTRA` per run: it multiplies COUNT times, and EXTRA more times for a core
that is slower. The mean is over COUNT.
"""

import os
import sys
import time

import numpy as np

SIDE = 300

os.sched_setaffinity(0, {int(sys.argv[1])})
matrix = np.full((SIDE, SIDE), 0.987)
for line in sys.stdin:
    count, extra = map(int, line.split())
    begin_ns = time.perf_counter_ns()
    for _ in range(count + extra):
        matrix @ matrix
    print((time.perf_counter_ns() - begin_ns) / count, flush=True)
