"""Formulas that the traces do not tell from others: a result on which they differ is refused."""
