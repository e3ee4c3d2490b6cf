"""The default."""
