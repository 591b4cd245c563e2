"""Emitter of coNCePTuaL: programs of tasks that communicate (§4.4)."""
