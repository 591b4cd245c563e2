"""How exact extrapolated traces are, and what they cost."""
