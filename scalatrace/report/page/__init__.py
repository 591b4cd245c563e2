"""`report`: one HTML page of a trace. Typed aggregates of its parts, and the page that holds them."""
