"""Names that other libraries and papers use, for the same or the most similar method.

A name stands for a method of ours only if both agree up to details, and these are reported. Names match in any case,
with or without spaces, hyphens and underscores.
"""

from __future__ import annotations

from allalike._core.registry import Alias

_COMPARED = "domain='ranking(rule=\"bradley terry\")', which reads winners of comparisons."

NEAREST = {
    "BinaryRelevance": 'domain="set", in which each element of a list is decided for itself.',
    "BradleyTerry": _COMPARED,
    "ClosestToAverage": 'domain="vector(rule=medoid)", which takes the answer that is closest to all.',
    "GoldMajorityVote": 'method="OA" with gold, which weighs by the errors on known truths.',
    "HRRASA": 'domain="vector", with method="iP-TD" or "auto".',
    "MMSR": 'method="EVD", for two classes, or "auto"; both look at how pairs of workers agree.',
    "NoisyBradleyTerry": f'method="auto" with {_COMPARED}',
    "RASA": 'domain="vector", with method="iP-TD" or "auto".',
    "ROVER": 'domain="text", which takes one of the texts whole.',
    "SegmentationEM": 'domain="bitmap", with method="auto" or "iP-TD".',
    "SegmentationMajorityVote": 'domain="bitmap" with method="UA".',
    "SegmentationRASA": 'domain="bitmap", with method="iP-TD" or "auto".',
    "TextHRRASA": 'domain="text", with method="iP-TD" or "auto".',
    "TextRASA": 'domain="text", with method="iP-TD" or "auto".',
    "Wawa": 'method="D-TD", where the weight is the best one for the distance to the unweighted answer.',
    "ZeroBasedSkill": 'method="CRH", which weighs by the distance to the weighted answers, round by round.',
}

_SAME = (
    ("UA", "", ("MajorityVote", "majority", "majority voting", "MV", "unweighted")),
    ("DS", "(with a little smoothing; DS(smoothing=0) has none)", ("DawidSkene",)),
    ("DS-1", "(where all classes are as frequent)", ("OneCoinDawidSkene", "one coin", "Dawid-Skene one coin")),
    ("IBP", "(whose first messages are 1, and not drawn around it)", ("KOS",)),
    ("EVD", "", ("eigenvector", "spectral meta learner", "SML")),
    ("EXP", "", ("expert core",)),
    ("MACE", "", ("multi-annotator competence estimation",)),
)

CALLED_ELSEWHERE = (
    *(Alias(other, ours, details) for ours, details, others in _SAME for other in others),
    *(Alias(other, "", f"Nearest here: {nearest}") for other, nearest in NEAREST.items()),
)
