"""Who sends how much to whom: messages and collectives of all ranks, and their matrix."""
