"""Method names in other libraries and papers, with the same or the most similar method.

A name selects a method only if the two methods agree up to details, which a warning reports. Case, spaces, hyphens and
underscores of a name do not matter.
"""

from allalike._core.registry import Alias

_COMPARED = "domain='ranking(rule=\"bradley terry\")', which reads the winners of comparisons."

NEAREST = {
    "BinaryRelevance": 'domain="set", which decides each element of a list separately.',
    "BradleyTerry": _COMPARED,
    "ClosestToAverage": 'domain="vector(rule=medoid)", which returns the answer closest to all others.',
    "GoldMajorityVote": 'method="OA" with gold labels, which weights workers by their errors on gold labels.',
    "HRRASA": 'domain="vector", with method="iP-TD" or "auto".',
    "MMSR": 'method="EVD", for two classes, or "auto"; both use the agreement between pairs of workers.',
    "NoisyBradleyTerry": f'method="auto" with {_COMPARED}',
    "RASA": 'domain="vector", with method="iP-TD" or "auto".',
    "ROVER": 'domain="text", which returns one of the texts unchanged.',
    "SegmentationEM": 'domain="bitmap", with method="auto" or "iP-TD".',
    "SegmentationMajorityVote": 'domain="bitmap" with method="UA".',
    "SegmentationRASA": 'domain="bitmap", with method="iP-TD" or "auto".',
    "TextHRRASA": 'domain="text", with method="iP-TD" or "auto".',
    "TextRASA": 'domain="text", with method="iP-TD" or "auto".',
    "Wawa": 'method="D-TD", which weights workers by the distance to the unweighted labels.',
    "ZeroBasedSkill": 'method="CRH", which weights workers by the distance to the weighted labels, round by round.',
}

_SAME = (
    ("UA", "", ("MajorityVote", "majority", "majority voting", "MV", "unweighted")),
    ("DS", "(with slight smoothing; DS(smoothing=0) disables it)", ("DawidSkene",)),
    ("DS-1", "(with equally frequent classes)", ("OneCoinDawidSkene", "one coin", "Dawid-Skene one coin")),
    ("IBP", "(with first messages of 1 instead of random ones)", ("KOS",)),
    ("EVD", "", ("eigenvector", "spectral meta learner", "SML")),
    ("EXP", "", ("expert core",)),
    ("MACE", "", ("multi-annotator competence estimation",)),
)

CALLED_ELSEWHERE = (
    *(Alias(other, ours, details) for ours, details, others in _SAME for other in others),
    *(Alias(other, "", f"Nearest here: {nearest}") for other, nearest in NEAREST.items()),
)
