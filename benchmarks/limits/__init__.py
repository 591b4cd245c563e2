"""Limits of use: how much of one thing a trace can hold."""
