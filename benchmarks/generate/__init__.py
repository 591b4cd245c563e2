"""Comparison of generated benchmarks with the applications of their traces."""
