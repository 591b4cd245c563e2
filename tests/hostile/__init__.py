"""Crafted files: small ones that ask for much, or hold what no recorder writes.

`python -m hostile FOLDER` with `tests` on the path writes all of them; test_hostile.py states their outcome.
"""
