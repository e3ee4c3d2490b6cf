"""Extraction: from what somebody wrote around an answer to the answer alone."""

from allalike._core.extraction.extractors import Extract, find_extractor

__all__ = ["Extract", "find_extractor"]
