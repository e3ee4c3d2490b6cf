"""Writers: results in the forms in which other tools take them, and the registry that new ones join."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.api.writers.base import Findings, Truth, Writer

if TYPE_CHECKING:
    from allalike.api.writers.brat import BratWriter
    from allalike.api.writers.coco import CocoWriter
    from allalike.api.writers.crowd_kit import CrowdKitWriter
    from allalike.api.writers.cvat import CvatWriter
    from allalike.api.writers.doccano import DoccanoWriter
    from allalike.api.writers.label_studio import LabelStudioWriter
    from allalike.api.writers.mturk import MTurkWriter
    from allalike.api.writers.prodigy import ProdigyWriter

__all__ = [
    "WRITERS",
    "BratWriter",
    "CocoWriter",
    "CrowdKitWriter",
    "CvatWriter",
    "DoccanoWriter",
    "Findings",
    "LabelStudioWriter",
    "MTurkWriter",
    "ProdigyWriter",
    "Truth",
    "Writer",
]

WRITERS: Registry[Writer] = Registry(
    "writer",
    Writer,
    __name__,
    {
        "label-studio": "label_studio:LabelStudioWriter",
        "cvat": "cvat:CvatWriter",
        "coco": "coco:CocoWriter",
        "brat": "brat:BratWriter",
        "doccano": "doccano:DoccanoWriter",
        "prodigy": "prodigy:ProdigyWriter",
        "mturk": "mturk:MTurkWriter",
        "crowd-kit": "crowd_kit:CrowdKitWriter",
    },
)

if not TYPE_CHECKING:
    __getattr__ = WRITERS.find_class
