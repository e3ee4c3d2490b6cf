"""Judges: what a panel of judges is worth, who errs together, and whom to add or drop."""
