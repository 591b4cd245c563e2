"""Causes of refused extrapolations, and next steps."""
