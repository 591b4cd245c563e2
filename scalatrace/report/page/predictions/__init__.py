"""Parts of the page that other tools compute and pass as plain data: simulations, and histories of runs."""
