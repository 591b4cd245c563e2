"""Why an extrapolation is refused, and what to do next."""
