"""`show`: the tree of loops and events, the choice of its nodes, and its notation."""
