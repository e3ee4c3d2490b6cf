"""Formats: from bytes and data frames to tables of columns."""
