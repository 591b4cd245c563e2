"""Traces of the workloads: sizes, effect of each compression step, time per event."""
