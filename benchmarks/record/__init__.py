"""Studies of recording: sizes of traces, costs, limits, recovery."""
