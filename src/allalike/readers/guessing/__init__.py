"""Guessing: which column is which, and what kind of label it holds."""
