"""Distances: how far workers of any other kind of label may depart from everybody counting the same."""
