"""Label types, also called domains: one module per label type, imported on first use."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.domains.contract import Domain as Domain
from allalike.domains.contract import Encoding as Encoding
from allalike.domains.contract import Kernels as Kernels

if TYPE_CHECKING:
    from allalike.domains.bitmap import Bitmap as Bitmap
    from allalike.domains.categorical import Categorical as Categorical
    from allalike.domains.custom import Custom as Custom
    from allalike.domains.date import Date as Date
    from allalike.domains.interval import Interval as Interval
    from allalike.domains.objects.boxes import Boxes as Boxes
    from allalike.domains.objects.points import Points as Points
    from allalike.domains.objects.spans import Spans as Spans
    from allalike.domains.ordinal import Ordinal as Ordinal
    from allalike.domains.probability import Probability as Probability
    from allalike.domains.rankings.ranking import Ranking as Ranking
    from allalike.domains.real import Real as Real
    from allalike.domains.records.record import Record as Record
    from allalike.domains.sets import Set as Set
    from allalike.domains.text import Text as Text
    from allalike.domains.tree import Tree as Tree
    from allalike.domains.vector import Circular as Circular
    from allalike.domains.vector import Place as Place
    from allalike.domains.vector import Vector as Vector

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
        "circular": "vector:Circular",
        "date": "date:Date",
        "tree": "tree:Tree",
        "place": "vector:Place",
        "probability": "probability:Probability",
        "custom": "custom:Custom",
    },
)

if not TYPE_CHECKING:
    __getattr__ = DOMAINS.find_class
