"""Conversion: flat logs and OTF2 archives into traces, by the recorder's own compressor.

In: the calls of each rank. Out: a trace file.
"""
