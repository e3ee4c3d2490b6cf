"""Answers of an export under the older name of the frame, for readers that are no generators yet."""

from allalike.readers.tools.frame import KNOWN, REGIONS, place_files, place_in_folders
from allalike.readers.tools.frame import Export as Collection

__all__ = ["KNOWN", "REGIONS", "Collection", "place_files", "place_in_folders"]
