"""Readers of answers and gold labels from files, data frames and other sources."""

from allalike.readers.column_names import COLUMN
from allalike.readers.formats.files import NA, READ_OPTIONS, ReadOptions, check_read_options
from allalike.readers.gold import EXPORT, gather_gold, is_within, open_gold, read_gold
from allalike.readers.scans import Scan, find_unusual, read, scan

__all__ = [
    "COLUMN",
    "EXPORT",
    "NA",
    "READ_OPTIONS",
    "ReadOptions",
    "Scan",
    "check_read_options",
    "find_unusual",
    "gather_gold",
    "is_within",
    "open_gold",
    "read",
    "read_gold",
    "scan",
]
