"""Studies of predictions: simulated times, their accuracy, regression tests."""
