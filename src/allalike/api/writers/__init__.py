"""Writers: results in the forms in which other tools take them, and the registry that new ones join."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.api.writers.base import Findings, Truth, Writer

if TYPE_CHECKING:
    from allalike.api.writers.coco import CocoWriter
    from allalike.api.writers.crowd_kit import CrowdKitWriter
    from allalike.api.writers.label_studio import LabelStudioWriter

__all__ = ["WRITERS", "CocoWriter", "CrowdKitWriter", "Findings", "LabelStudioWriter", "Truth", "Writer"]

WRITERS: Registry[Writer] = Registry(
    "writer",
    Writer,
    __name__,
    {
        "label-studio": "label_studio:LabelStudioWriter",
        "coco": "coco:CocoWriter",
        "crowd-kit": "crowd_kit:CrowdKitWriter",
    },
)

if not TYPE_CHECKING:
    __getattr__ = WRITERS.find_class
