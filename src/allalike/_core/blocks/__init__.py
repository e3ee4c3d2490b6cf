"""Blocks: whole tasks as arrays, and the arithmetic that kernels are made of."""
