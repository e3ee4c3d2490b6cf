"""The front doors: what a user calls, and what she gets back."""
