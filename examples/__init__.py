"""Examples: one of everything that can be added to allalike, whole; docs/taking-part/EXTENDING.md shows them."""
