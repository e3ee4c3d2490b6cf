"""crowd-kit's aggregators, under their names and with their numbers, computed here.

``from allalike.compat.crowdkit import DawidSkene`` takes the place of ``from crowdkit.aggregation import DawidSkene``:
a pandas frame goes in, and ``labels_``, ``skills_``, ``probas_`` come out with the same index, names and types.
crowd-kit need not be there. Only what this library computes is here; the import of all else says what to take instead,
and `docs/guide/CROWDKIT.md` has all of it in a table.

>>> from allalike.compat.crowdkit import GLAD
Traceback (most recent call last):
ImportError: allalike.compat.crowdkit has no GLAD. Nearest here: method="GLAD", which goes on to the top of the same.
"""

from allalike.compat.crowdkit.comparisons import BradleyTerry
from allalike.compat.crowdkit.confusions import DawidSkene, OneCoinDawidSkene
from allalike.compat.crowdkit.segmentations import SegmentationMajorityVote
from allalike.compat.crowdkit.several_labels import BinaryRelevance
from allalike.compat.crowdkit.votes import GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill
from allalike.methods.aliases import NEAREST

__all__ = [
    "BinaryRelevance",
    "BradleyTerry",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "SegmentationMajorityVote",
    "Wawa",
    "ZeroBasedSkill",
]

_NEAREST = {
    "GLAD": 'method="GLAD", which goes on to the top of the same.',
    "KOS": 'method="IBP", the same with first messages that are 1, and not drawn around it.',
    "MACE": 'method="MACE", the same from starts of its own.',
    **NEAREST,
}


def __getattr__(name: str) -> object:
    """Say what to take for an aggregator of crowd-kit that is not here."""
    if name in _NEAREST:  # an AttributeError would be replaced by a message of Python's own in `from ... import ...`
        raise ImportError(f"allalike.compat.crowdkit has no {name}. Nearest here: {_NEAREST[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
