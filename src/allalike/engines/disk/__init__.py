"""The disk engine: answers in a work folder, some of them in memory at a time."""

from allalike.engines.disk.engine import Disk

__all__ = ["Disk"]
