"""Readers: from files and frames to answers."""

from allalike.readers.gold import open_gold, read_gold
from allalike.readers.scans import Scan, read, scan

__all__ = ["Scan", "open_gold", "read", "read_gold", "scan"]
