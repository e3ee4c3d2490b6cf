"""Writers: results in the forms in which other tools take them, and the registry that new ones join."""

from allalike._core.registry import Registry
from allalike.api.writers.base import Findings, Truth, Writer
from allalike.api.writers.coco import CocoWriter
from allalike.api.writers.crowd_kit import CrowdKitWriter
from allalike.api.writers.label_studio import LabelStudioWriter

__all__ = ["WRITERS", "CocoWriter", "CrowdKitWriter", "Findings", "LabelStudioWriter", "Truth", "Writer"]

WRITERS: Registry[Writer] = Registry("writer", Writer, (LabelStudioWriter, CocoWriter, CrowdKitWriter))
