"""Lossy."""
