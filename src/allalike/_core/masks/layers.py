"""Label maps, whose names move to `allalike._core.masks.files`."""

from allalike._core.masks.files import Layer, split_maps

__all__ = ["Layer", "split_maps"]
