"""The disk engine: answers in a work folder, only some of which are in memory at a time."""

from allalike.engines.disk.engine import Disk

__all__ = ["Disk"]
