"""Reports of predictions and of what they rest on."""
