"""Conversion of tables of other shapes into tables with one answer per row."""
