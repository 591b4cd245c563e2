"""Benchmarks from traces (dissertation chapter 4): the program tree, and an emitter for each language."""
