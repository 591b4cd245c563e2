"""Times of each rank and efficiencies: what `stats` and `info` print against timers of the program."""
