"""Readers: from files and frames to answers."""

from allalike.readers.gold import open_gold, read_gold
from allalike.readers.reading import open_stream, read, read_with
from allalike.readers.scanning import Scan, scan

__all__ = ["Scan", "open_gold", "open_stream", "read", "read_gold", "read_with", "scan"]
