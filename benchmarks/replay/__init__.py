"""How good replays are: their time against the program's, the engine's cost, and that drawn ones agree."""
