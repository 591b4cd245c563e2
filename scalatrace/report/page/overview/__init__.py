"""The overview of a page: facts, costs, what to look at next, and who waits for whom."""
