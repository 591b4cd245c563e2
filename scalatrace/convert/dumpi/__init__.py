"""Conversion of DUMPI traces (SST) into traces.

In: a metafile and a binary file of each rank. Out: the calls of each rank, for the recorder's compressor.
"""
