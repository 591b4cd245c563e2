"""Benchmarks from traces (dissertation chapter 4)."""
