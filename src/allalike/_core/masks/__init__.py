"""Masks: packed pixels, and the image files that hold them."""
