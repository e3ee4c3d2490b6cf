"""Inference of column roles, matrices, label types and number formats from the first rows of a table."""
