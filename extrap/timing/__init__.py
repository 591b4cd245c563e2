"""Timing: how each field of each histogram goes on with the number of ranks (dissertation §3.2.5)."""
