"""Files of traces: the binary container, the text form, the flat log, and their checks.

In: bytes or text. Out: a trace, and back.
"""
