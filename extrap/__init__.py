"""Extrapolation: from traces of few ranks to the trace of many (dissertation, chapter 3)."""
