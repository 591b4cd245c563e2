"""A trace in a notebook: tables as pandas DataFrames, and its description in HTML."""
