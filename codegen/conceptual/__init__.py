"""The language coNCePTuaL 1.5: read, check, print, run and compile its programs."""
