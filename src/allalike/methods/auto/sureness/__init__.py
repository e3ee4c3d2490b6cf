"""Sureness: how far faults, truths and the next answers can be relied upon."""
