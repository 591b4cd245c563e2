"""Exactness and cost of extrapolated traces."""
