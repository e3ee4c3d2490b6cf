"""Reshaping: from the tables that people keep to one answer in a row."""
