"""Timing models against known functions of (n, P) with noise."""
