"""Writers: results in the forms in which other tools take them, and the registry that new ones join."""

from allalike._core.registry import Registry
from allalike.writers.base import Findings, Truth, Writer
from allalike.writers.coco import Coco
from allalike.writers.crowd_kit import CrowdKit
from allalike.writers.label_studio import LabelStudio

__all__ = ["WRITERS", "Coco", "CrowdKit", "Findings", "LabelStudio", "Truth", "Writer"]

WRITERS: Registry[Writer] = Registry("writer", Writer, (LabelStudio, Coco, CrowdKit))
