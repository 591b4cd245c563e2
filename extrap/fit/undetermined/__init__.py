"""Rivals: other formulas with the same values in all traces. A result on which they differ is refused."""
