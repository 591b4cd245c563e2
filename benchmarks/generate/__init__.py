"""Benchmarks made of traces, against the applications that the traces are of."""
