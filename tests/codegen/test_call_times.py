"""The C runtime's times of calls, of which it measures some, with a clock of the test's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scalatrace.codegen.emit import emitter

HARNESS = """
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MPI_SUCCESS 0
#define MPI_MAX_ERROR_STRING 9
#define COMMS 1
static int PMPI_Error_string(int code, char *text, int *n) { return code + *n + text[0]; }
static void stop(const char *what) { exit(what[0]); }
static double clock_s = 1;
static long nreadings;
static double now(void) { nreadings++; return clock_s += 20e-9; }
$pieces
static void Call(double seconds) { NOTE(Call, 8, clock_s += seconds); }
/* n times a call that takes no time, and a computation; prints seconds of the clock, and of computation */
static void compute_often(int n, double us) {
    double start = clock_s;
    if (n < 0) {
        for (int i = 0; i < -n; i++) Call(0);
        compute(us);
    }
    for (int i = 0; i < n; i++) Call(0), compute(us);
    if (us < 0.003) compute(7);
    printf("%.9g %.9g %d 0\\n", clock_s - start, computed, n);
}
int main(int argc, char **argv) {
    double true_s = 0;
    if (argv[1][0] == 'c') {
        step = 20e-9, noting = atof(argv[4]);
        compute_often(atoi(argv[2]), atof(argv[3]));
        return 0;
    }
    step = 20e-9, measures = argv[1][0] == '1';
    for (int i = 2; i + 1 < argc; i += 2)
        for (int j = 0; j < atoi(argv[i]); j++) Call(atof(argv[i + 1])), true_s += atof(argv[i + 1]);
    printf("%.9g %.9g %ld %ld\\n", all_seconds(tallies), true_s, tallies->calls, nreadings);
}
"""
LONG, SHORT = "1e-3", "1e-7"


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harness")
    pieces = emitter("c").library.pieces
    source = folder / "harness.c"
    source.write_text(
        HARNESS.replace(
            "$pieces", "\n".join(pieces[name].text for name in ("random", "base", "tally", "compute"))
        )
    )
    subprocess.run(["cc", "-O1", "-w", "-o", folder / "harness", source], check=True)
    return folder / "harness"


def measured(harness: Path, measures: int | str, *calls: str) -> tuple[float, float, int, int]:
    """Seconds by the runtime and true ones, calls, readings of the clock."""
    done = subprocess.run([harness, str(measures), *calls], check=True, capture_output=True, text=True)
    seconds, true_s, ncalls, nreadings = done.stdout.split()
    return float(seconds), float(true_s), int(ncalls), int(nreadings)


@pytest.mark.parametrize(
    "calls",
    [
        ("5000", SHORT), ("500", LONG), ("1", LONG, "20000", SHORT), ("1000", "1e-4", "200000", SHORT),
        ("100000", SHORT, "1000", LONG), ("3", SHORT),
    ],
)  # fmt: skip
def test_times_of_all_calls_follow_from_the_timed_ones(harness: Path, calls: tuple[str, ...]) -> None:
    seconds, true_s, ncalls, _ = measured(harness, 1, *calls)
    assert ncalls == sum(map(int, calls[::2]))
    assert seconds == pytest.approx(true_s, rel=0.02)


def test_few_short_calls_are_timed_and_all_long_ones(harness: Path) -> None:
    assert measured(harness, 1, "8000", SHORT)[3] < 2 * 8000 / 7
    assert measured(harness, 1, "8000", LONG)[3] == 2 * 8000


def test_no_call_is_timed_without_profile(harness: Path) -> None:
    seconds, _, ncalls, nreadings = measured(harness, 0, "100", LONG)
    assert (seconds, ncalls, nreadings) == (0, 100, 0)


@pytest.mark.parametrize("us", ["0.004", "0.025", "0.333", "7"])
def test_computations_take_their_time_however_short(harness: Path, us: str) -> None:
    """The runtime's time for a call, 3 ns, is part of them."""
    passed_s, computed_s, ncalls, _ = measured(harness, "c", "10000", us, "3e-9")
    assert computed_s == pytest.approx(ncalls * 1e-6 * float(us))
    assert passed_s == pytest.approx(computed_s - ncalls * 3e-9, abs=1e-7)


def test_calls_that_cost_more_than_computations_shorten_the_next_by_a_microsecond(harness: Path) -> None:
    """10,000 calls with 1 ns of computation or none, each of which costs 3 ns, then a computation of 7 us."""
    for us in ("0.001", "0"):
        assert measured(harness, "c", "10000", us, "3e-9")[0] == pytest.approx(6e-6, abs=5e-8)


def test_calls_without_computation_shorten_the_next_by_a_microsecond(harness: Path) -> None:
    assert measured(harness, "c", "-10000", "7", "3e-9")[0] == pytest.approx(6e-6, abs=5e-8)
