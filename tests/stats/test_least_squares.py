"""Least squares without negative coefficients."""

from __future__ import annotations

import numpy as np

from scalatrace.stats.least_squares import solve_nonnegative


def test_nonnegative_coefficients_are_the_best() -> None:
    """Compared with a fine grid."""
    random = np.random.default_rng(3)
    for _ in range(20):
        design, y, ones = random.normal(size=(8, 2)), random.normal(size=8), np.ones(8)
        best = solve_nonnegative(design, y, ones)
        assert np.all(best >= 0)
        squares = float(np.sum((y - design @ best) ** 2))
        for a in np.linspace(0, 3, 40):
            for b in np.linspace(0, 3, 40):
                assert squares <= float(np.sum((y - design @ np.array([a, b])) ** 2)) + 1e-9


def test_weights_columns_of_zeros_and_of_other_units() -> None:
    """Only the ratio of two rows that contradict each other depends on their weights."""
    design = np.array([[1e9, 0.0, 0.0], [1e9, 0.0, 0.0], [0.0, 1e-9, 0.0]])
    best = solve_nonnegative(design, np.array([1.0, 4.0, 5.0]), np.array([1.0, np.sqrt(2.0), 1.0]))
    assert np.allclose(best, [3e-9, 5e9, 0.0], rtol=1e-12, atol=0)
