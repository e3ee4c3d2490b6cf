"""Distances: how far two labels are apart, and the sums of distances over a block."""

from allalike.distances import euclidean, hamming

__all__ = ["euclidean", "hamming"]
