"""Distances: how far two labels are apart, and the sums of distances over a block."""
