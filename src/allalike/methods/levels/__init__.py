"""Levels: the most accurate truths for classes that agreement alone can give."""
