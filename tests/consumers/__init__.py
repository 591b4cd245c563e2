"""Random MPI programs through every consumer of a trace, and the comparison of their results.

`phases/` draws pieces of programs, `program.py` joins them to C, `recording.py` compiles and records them,
`executors.py` and `readers.py` hold the consumers, `campaign.py` runs them, `shrink.py` reduces what fails.
"""
