"""Domains: the kinds of label, each in a file of its own, which is imported when its kind is asked for."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.domains.contract import Domain, Encoding, Kernels

if TYPE_CHECKING:
    from allalike.domains.bitmap import Bitmap
    from allalike.domains.categorical import Categorical
    from allalike.domains.circular import Circular
    from allalike.domains.custom import Custom
    from allalike.domains.date import Date
    from allalike.domains.interval import Interval
    from allalike.domains.objects.boxes import Boxes
    from allalike.domains.objects.points import Points
    from allalike.domains.objects.spans import Spans
    from allalike.domains.ordinal import Ordinal
    from allalike.domains.place import Place
    from allalike.domains.probability import Probability
    from allalike.domains.rankings.ranking import Ranking
    from allalike.domains.real import Real
    from allalike.domains.records.record import Record
    from allalike.domains.sets import Set
    from allalike.domains.text import Text
    from allalike.domains.tree import Tree
    from allalike.domains.vector import Vector

__all__ = [
    "DOMAINS",
    "Bitmap",
    "Boxes",
    "Categorical",
    "Circular",
    "Custom",
    "Date",
    "Domain",
    "Encoding",
    "Interval",
    "Kernels",
    "Ordinal",
    "Place",
    "Points",
    "Probability",
    "Ranking",
    "Real",
    "Record",
    "Set",
    "Spans",
    "Text",
    "Tree",
    "Vector",
]

DOMAINS: Registry[Domain] = Registry(
    "domain",
    Domain,
    __name__,
    {
        "categorical": "categorical:Categorical",
        "ordinal": "ordinal:Ordinal",
        "real": "real:Real",
        "ranking": "rankings.ranking:Ranking",
        "text": "text:Text",
        "bitmap": "bitmap:Bitmap",
        "set": "sets:Set",
        "interval": "interval:Interval",
        "boxes": "objects.boxes:Boxes",
        "spans": "objects.spans:Spans",
        "points": "objects.points:Points",
        "vector": "vector:Vector",
        "record": "records.record:Record",
        "circular": "circular:Circular",
        "date": "date:Date",
        "tree": "tree:Tree",
        "place": "place:Place",
        "probability": "probability:Probability",
        "custom": "custom:Custom",
    },
)

if not TYPE_CHECKING:
    __getattr__ = DOMAINS.find_class
