"""Volumes, whose names move to `allalike._core.masks.files` and `allalike._core.masks.packed`."""

from allalike._core.masks.files import is_volume, read_grid
from allalike._core.masks.packed import Grid

__all__ = ["Grid", "is_volume", "read_grid"]
