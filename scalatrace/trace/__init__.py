"""The trace as data: nodes, values, ranklists; walking, reading, writing, comparing."""
