"""Fields of arrays and lists: requests, neighbours, and patterns of numbers."""
