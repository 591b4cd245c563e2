"""Mutation fuzzing of everything that reads a file: see CONTRIBUTING.md.

    corpus  ->  mutate  ->  targets (+ exercise)  ->  judge  ->  campaign
    files       bytes        read, and use what       one        child processes,
                trees        was read                 outcome    findings
                texts

`python -m fuzz` with `tests` on the path runs it; the n-th input of a target depends on the seed and n only.
"""
