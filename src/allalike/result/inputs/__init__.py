"""Inputs: what is opened, and what is remembered of it."""
