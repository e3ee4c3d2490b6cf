"""Reading: a name of scans.py."""

from allalike.readers.scans import find_frame as find_frame
