"""Exchanged data: messages and collectives of all ranks, and their matrix."""
