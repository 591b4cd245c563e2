"""Timing: extrapolate each field of each histogram over the number of ranks (dissertation §3.2.5)."""
