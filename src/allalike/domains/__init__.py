"""Domains: the kinds of label."""

from allalike._core.registry import Registry
from allalike.domains.bitmap import Bitmap
from allalike.domains.categorical import Categorical
from allalike.domains.circular import Circular
from allalike.domains.contract import Domain, Encoding, Kernels
from allalike.domains.custom import Custom
from allalike.domains.date import Date
from allalike.domains.interval import Interval
from allalike.domains.ordinal import Ordinal
from allalike.domains.place import Place
from allalike.domains.probability import Probability
from allalike.domains.rankings.ranking import Ranking
from allalike.domains.real import Real
from allalike.domains.records.record import Record
from allalike.domains.sets import Set
from allalike.domains.text import Text
from allalike.domains.things.boxes import Boxes
from allalike.domains.things.points import Points
from allalike.domains.things.spans import Spans
from allalike.domains.tree import Tree
from allalike.domains.vector import Vector
from allalike.rules import Rule

__all__ = [
    "DOMAINS",
    "RULES",
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
    (
        Categorical,
        Ordinal,
        Real,
        Ranking,
        Text,
        Bitmap,
        Set,
        Interval,
        Boxes,
        Spans,
        Points,
        Vector,
        Record,
        Circular,
        Date,
        Tree,
        Place,
        Probability,
        Custom,
    ),
)

# A rule has the same name in every domain that has it, and there may do the same in another way: keyed by both.
RULES: dict[str, dict[str, Rule]] = {}
for _domain in DOMAINS.values():
    for _rule in _domain.rules:
        RULES.setdefault(_rule.name, {})[_domain.name] = _rule
