"""Reports of predictions: performance models, variability, and tests of new runs."""
