"""coNCePTuaL: programs that say who communicates with whom (§4.4)."""
