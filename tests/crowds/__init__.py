"""Crowds for tests: one of each kind of label, with good and bad workers, and crowds that copy, guess or are sparse."""
