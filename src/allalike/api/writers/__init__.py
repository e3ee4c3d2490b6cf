"""Writers: results in the forms in which other tools take them, and the registry that new ones join."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.api.writers.base import Findings, Truth, Writer

if TYPE_CHECKING:
    from allalike.api.writers.doccano import DoccanoWriter
    from allalike.api.writers.label_studio import LabelStudioWriter
    from allalike.api.writers.mturk import MTurkWriter
    from allalike.api.writers.pictures import CocoWriter, CvatWriter

__all__ = [
    "WRITERS",
    "CocoWriter",
    "CvatWriter",
    "DoccanoWriter",
    "Findings",
    "LabelStudioWriter",
    "MTurkWriter",
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
        "doccano": "doccano:DoccanoWriter",
        "mturk": "mturk:MTurkWriter",
    },
)

if not TYPE_CHECKING:
    __getattr__ = WRITERS.find_class
