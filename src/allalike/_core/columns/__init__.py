"""Columns: raw ids and labels, typed, hashed and numbered."""
