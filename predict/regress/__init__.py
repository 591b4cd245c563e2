"""Performance regression: does a new run fit into the history of earlier ones? (Cornebize 2021, chapter 11).

In: a table of runs, with a time per call site or other factors. Out: tests, their likelihoods and a verdict.
"""

from scalatrace.predict.regress.evolution import Evolution, evolution
from scalatrace.predict.regress.runs import Runs, read_table, write_table
from scalatrace.predict.regress.verdict import Finding, Verdict, judge

__all__ = ["Evolution", "Finding", "Runs", "Verdict", "evolution", "judge", "read_table", "write_table"]
