"""Readers: from files and frames to answers."""

from allalike.readers.gold import read_gold
from allalike.readers.reading import read, read_with

__all__ = ["read", "read_gold", "read_with"]
