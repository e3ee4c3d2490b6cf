"""Readers: from files and frames to answers."""

from allalike.readers.gold import open_gold, read_gold
from allalike.readers.reading import read, scan
from allalike.readers.scanning import Scan

__all__ = ["Scan", "open_gold", "read", "read_gold", "scan"]
