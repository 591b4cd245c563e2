"""Reporters: one per output. A reporter is given what it shows and opens no file."""
