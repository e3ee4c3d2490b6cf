"""Writers of results in the formats of other tools, and their registry."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.result.writers.base import DoccanoWriter, Findings, MTurkWriter, Truth, Writer

if TYPE_CHECKING:
    from allalike.result.writers.label_studio import LabelStudioWriter
    from allalike.result.writers.pictures import CocoWriter, CvatWriter

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
        "doccano": "base:DoccanoWriter",
        "mturk": "base:MTurkWriter",
    },
)

if not TYPE_CHECKING:
    __getattr__ = WRITERS.find_class
