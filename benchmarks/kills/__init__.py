"""Runs that end by the death of a rank, and what is recovered of them."""
