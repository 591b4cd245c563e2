"""Benchmarks of any size: programs made of a symbolic trace's formulas (§4.4.5)."""
