"""Examples: one of everything that can be added to allalike, whole; docs/contributing/EXTENDING.md shows them."""
