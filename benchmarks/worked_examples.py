"""Numbers that publications work out by hand, beside those of the functions here.

python -m benchmarks.worked_examples [--keep]

Hoefler, Gropp, Thakur, Träff (2010) on Blue Gene/P; examples 4.2.1 and 4.3.1 of Dominguez-Trujillo (2021);
the two points and the two sets of figures 11.2 and 11.3 of Cornebize (2021), whose reference set has exactly
the means, deviations and correlation of the text. A number is equal if it agrees in all printed digits,
rounded or cut off. The thesis calls MiB/s what is MB/s of a buffer in MiB.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.table import keep, printed, show
from scalatrace.predict.models import MESSAGE, bluegene, levels, times
from scalatrace.predict.models.congestion import alltoall_congestion, alltoall_links
from scalatrace.predict.models.symbols import P, S
from scalatrace.predict.platform import read_platform
from scalatrace.predict.variability import ThreadTimes, partitioned_send, postal, single_send
from scalatrace.stats.mean_test import mean_test

TITLE = "Worked examples of publications"
COLUMNS = ("source", "quantity", "published", "computed", "equal")

Row = tuple[str, str, float | str, float | str]
CONFIDENCE = 0.995


def hoefler() -> Iterator[Row]:
    """Yield the models of Blue Gene/P; times in us."""
    machine, source = read_platform("bluegene-p"), "Hoefler"
    for start, nbytes in ((4.5, 256), (5.7, 1024), (9.8, 1_000_000)):
        value = times(machine, MESSAGE, nbytes, 2).exact_ns / 1000
        yield source, f"T({nbytes:,}) = {start} us + 2.67 ns/B S", start + 0.00267 * nbytes, value
    empty, full = (times(machine, MESSAGE, 0, 2, queue=entries).upper_ns for entries in (0, 13))
    yield source, "T_match(13)", 1.3, (full - empty) / 1000
    upper = times(machine, MESSAGE, 1_000_000, 4096).upper_ns / 1000
    yield source, "bound of T(10^6, 4096): factor 3/2 P^(1/3) = 24", 9.8 + 2670 * 24, upper
    yield source, "small Bcast, 1024 ranks: 13 + 0.31 log2(P)", 16.1, _us(bluegene.small_bcast(), 1024)
    slope = _us(bluegene.small_allreduce(0), 2048) - _us(bluegene.small_allreduce(0), 1024)
    yield source, "small Allreduce, per doubling", 0.37, slope
    yield source, "large Bcast of 10^6 B: + 2.67/6 ns/B S", 16.1 + 445, _us(bluegene.bcast(), 1024)
    yield source, "N(9) = k^3 12 d (d + 1)^3", 9**3 * 12 * 4 * 5**3, alltoall_links(9)
    yield source, "C(4096) = P^(1/3) (P^(1/3)/2 + 1)^3", 11664, float(alltoall_congestion().subs(P, 4096))
    good = levels(machine, "bcast", "scatter_allgather")
    yield source, "dominant term of a good Bcast", "2*S*beta", str(good.dominant.terms)
    growth = str(levels(machine, "allreduce", "rabenseifner").asymptotic)
    yield source, "growth of a good Allreduce", "S + log(P)", growth


def _us(formula: object, nranks: int) -> float:
    return float(formula.subs({P: nranks, S: 10**6})) / 1000  # type: ignore[attr-defined]


def dominguez_trujillo() -> Iterator[Row]:
    """Yield the two examples of partitioned communication; times in us, rates in MB/s."""
    threads, message = ThreadTimes.of_variability(4, 1e8, 0.1), postal(5e3, 1e10)
    single, parts = single_send(16e6, threads, message), partitioned_send(16e6, threads, message)
    first, second = "Dominguez-Trujillo 4.2.1", "Dominguez-Trujillo 4.3.1"
    yield first, "slowest thread", 101_121, threads.slowest_ns / 1000
    yield first, "fastest thread", 98_878, threads.fastest_ns / 1000
    yield first, "spread", 2_243, (threads.slowest_ns - threads.fastest_ns) / 1000
    yield first, "time of the single message", 1_605, single.elapsed_ns / 1000
    yield first, "end of the single send", 102_726, single.end_ns / 1000
    yield first, "effective bandwidth", 9_969, single.bandwidth / 1e6
    yield first, "the same, 16 MiB", 10_453, round(single.bandwidth / 1e6) * 1.048576
    yield second, "time of a message", 405, parts.message_ns / 1000
    yield second, "messages that overlap", 3, parts.overlapped
    yield second, "T_extra", 405, parts.elapsed_ns / 1000
    yield second, "end of the partitioned send", 101_526, parts.end_ns / 1000
    yield second, "effective bandwidth", 39_506, parts.bandwidth / 1e6
    yield second, "the same, 16 MiB", 41_425, parts.bandwidth / 1e6 * 1.048576


def cornebize() -> Iterator[Row]:
    """Yield whether points and means of five lie in the region of 99.5 %; correlation -0.7."""
    raw = np.random.default_rng(1).standard_normal((2000, 2))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw.T))).T
    reference = white @ np.linalg.cholesky(np.array([[1.0, -0.7], [-0.7, 1.0]])).T
    spread = np.array([[0, 0], [0.3, -0.2], [-0.3, 0.2], [0.2, 0.3], [-0.2, -0.3]])

    def region(rows: np.ndarray) -> str:
        return "outside" if mean_test(reference, rows).is_anomaly(CONFIDENCE) else "inside"

    source = "Cornebize 11.2"
    yield source, "point (+2 sigma, +2 sigma)", "outside", region(np.array([[2.0, 2.0]]))
    yield source, "point (+2 sigma, -2 sigma)", "inside", region(np.array([[2.0, -2.0]]))
    source = "Cornebize 11.3"
    for name, centre, published in (("orange", (0.8, 0.8), "outside"), ("green", (0.8, -0.8), "inside")):
        rows = spread + np.array(centre)
        single = {region(row[None]) for row in rows}
        yield source, f"each of five {name} points", "inside", " ".join(sorted(single))
        yield source, f"mean of five {name} points", published, region(rows)


def rows() -> Iterator[Sequence[str]]:
    """Yield the lines of the table."""
    for part in (hoefler, dominguez_trujillo, cornebize):
        for source, quantity, published, computed in part():
            yield [
                source,
                quantity,
                _text(published),
                _text(computed),
                "yes" if _equal(published, computed) else "NO",
            ]


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.10g}"


def _equal(published: float | str, computed: float | str) -> bool:
    """Whether a number agrees in the printed digits: integers are rounded or cut off."""
    if isinstance(published, str) or isinstance(computed, str):
        return published == computed
    if isinstance(published, int):
        return published in (round(computed), int(computed))
    return abs(published - computed) <= 1e-9 * abs(published)


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/worked_examples.md")
    args = parser.parse_args()
    lines = list(printed(rows()))
    show(TITLE, COLUMNS, lines)
    if args.keep:
        keep("worked_examples", TITLE, COLUMNS, lines)
    return int(any(line[-1] == "NO" for line in lines))


if __name__ == "__main__":
    sys.exit(main())
