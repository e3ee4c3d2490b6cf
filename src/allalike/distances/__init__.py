"""Distances between labels, and their sums over blocks."""
