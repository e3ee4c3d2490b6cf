"""Readers: from files and frames to answers."""

from allalike.readers.gold import COLUMN, gather_gold, open_gold, read_gold
from allalike.readers.scans import NA, Scan, read, scan

__all__ = ["COLUMN", "NA", "Scan", "gather_gold", "open_gold", "read", "read_gold", "scan"]
