"""Predicted totals of call sites with known totals, and how often the intervals contain them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from benchmarks.extrap_timing.shapes import FACTORS, SHAPES, Shape, histogram
from scalatrace.extrap.timing.joint import mean_points
from scalatrace.extrap.timing.registry import timing_model

COLUMNS = (
    "shape",
    "noise, %",
    *(f"error at {f}x, %" for f in FACTORS),
    *(f"held at {f}x, %" for f in FACTORS),
    "form found",
    "times, %",
)
NOISES = (0.0, 0.01, 0.05, 0.10)
EXACT = 1e-5
"""Without noise an interval is what rounding leaves: so near is equal."""


def lines(trials: int, between: bool, only: str = "") -> Iterator[list[str]]:
    """A line per shape and noise. `between`: each run as a whole is faster or slower, beside its samples."""
    for shape in (s for s in SHAPES if only in s.name):
        for noise in NOISES[1 if between else 0 :]:
            print(f"{shape.name}: {noise:.0%}", file=sys.stderr, flush=True)
            yield _line(shape, noise, between, trials if noise else 1)


def _line(shape: Shape, noise: float, between: bool, trials: int) -> list[str]:
    design, found = shape.design, Counter[str]()
    targets = design.targets()
    truths = np.array([shape.time(*target) * target[1] for target in targets])
    errors, held = np.zeros((trials, len(targets))), np.zeros((trials, len(targets)))
    for trial in range(trials):
        random = np.random.default_rng((trial, int(1000 * noise), crc32(shape.name.encode())))
        slower = 1 + noise * between * random.standard_normal(len(design.runs))
        given = [
            histogram(random, shape.time(*run) * s, noise, run[1])
            for run, s in zip(design.runs, slower, strict=True)
        ]
        runs = [design.scale(run) for run in design.runs]
        points = mean_points(given, runs, run_noise=noise * between)
        curve = timing_model().fit([points])[0]  # the other fields follow the mean
        found[curve.form.text((1.0,) * len(curve.form), points.names).replace("1 * ", "")] += 1
        for i, target in enumerate(targets):
            at = design.scale(target)
            errors[trial, i] = abs(curve.predict(at) * target[1] / truths[i] - 1)
            low, high = (x * target[1] for x in curve.interval(at))
            held[trial, i] = low <= truths[i] <= high or errors[trial, i] < EXACT
    form, times = found.most_common(1)[0]
    return [
        shape.name + (" (hard)" if shape.hard else ""),
        f"{100 * noise:g}",
        *(f"{100 * e:.1f}" for e in errors.mean(axis=0)),
        *(f"{100 * h:.0f}" for h in held.mean(axis=0)),
        form,
        f"{100 * times / trials:.0f}",
    ]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """What must hold, and whether it does."""
    easy = [row for row in rows if "(hard)" not in row[0]]
    far = [f"{row[0]} at {row[1]} %" for row in easy if max(map(float, row[2:5])) > 5]
    by_noise = {
        noise: np.mean([[float(x) for x in row[5:8]] for row in easy if row[1] == noise])
        for noise in dict.fromkeys(row[1] for row in easy if row[1] != "0")
    }
    out = [
        f"{'NO' if far else 'yes'}: errors of at most 5 % on average"
        + (f", not {', '.join(far)}" * bool(far))
    ]
    for noise, share in by_noise.items():
        holds = "yes" if 90 <= share <= 99 else "NO"
        out.append(f"{holds}: {share:.1f} % of the intervals hold the truth at noise {noise} %")
    return out
