"""Reports of predictions and of what goes to other tools."""
