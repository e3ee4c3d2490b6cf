"""Writers: results in the forms in which other tools take them, and the registry that new ones join."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.api.writers.base import Findings, Truth, Writer

if TYPE_CHECKING:
    from allalike.api.writers.documents import BratWriter, DoccanoWriter, ProdigyWriter
    from allalike.api.writers.label_studio import LabelStudioWriter
    from allalike.api.writers.pictures import CocoWriter, CvatWriter
    from allalike.api.writers.sheets import CrowdKitWriter, MTurkWriter

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
        "cvat": "pictures:CvatWriter",
        "coco": "pictures:CocoWriter",
        "brat": "documents:BratWriter",
        "doccano": "documents:DoccanoWriter",
        "prodigy": "documents:ProdigyWriter",
        "mturk": "sheets:MTurkWriter",
        "crowd-kit": "sheets:CrowdKitWriter",
    },
)

if not TYPE_CHECKING:
    __getattr__ = WRITERS.find_class
