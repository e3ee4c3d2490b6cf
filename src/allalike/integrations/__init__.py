"""Plug-ins for other programs."""
