"""Runs in which a rank is killed, and the calls recovered from them."""
