"""Benchmarks from traces, and the languages they are written in."""
