"""Distances of two labels as they are defined: by plain loops, or by another library."""

from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from nltk.translate.gleu_score import sentence_gleu
from rapidfuzz.distance import Levenshtein
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cosine, dice, euclidean, sqeuclidean
from scipy.spatial.distance import jaccard as jaccard_of_scipy

from crowds import label_types

EARTH = 6371.0088  # kilometres


def jaccard(left: Any, right: Any) -> float:
    one, other = set(left), set(right)
    return 1 - len(one & other) / len(one | other) if one | other else 0.0


def interval(left: Any, right: Any) -> float:
    """Compare the unit cells that two unions of intervals cover."""
    return jaccard(*({cell for begin, end in label for cell in range(begin, end)} for label in (left, right)))


def bitmap(left: Any, right: Any, *, measure: Callable[[Any, Any], Any] = jaccard_of_scipy) -> float:
    one, other = np.ravel(left).astype(bool), np.ravel(right).astype(bool)
    return float(measure(one, other)) if one.any() or other.any() else 0.0


def tree(left: str, right: str) -> float:
    """Return Dice's distance of two sets of ancestors."""
    one, other = ({tuple(path.split("/")[:k]) for k in range(1, path.count("/") + 2)} for path in (left, right))
    return 1 - 2 * len(one & other) / (len(one) + len(other))


def kendall(left: list[Any], right: list[Any]) -> float:
    pairs = list(combinations(left, 2))
    return sum(right.index(a) > right.index(b) for a, b in pairs) / max(len(pairs), 1)


def footrule(left: list[Any], right: list[Any]) -> float:
    return sum(abs(left.index(a) - right.index(a)) for a in left) / max(len(left) ** 2 // 2, 1)


def words(text: str) -> list[str]:
    return text.split(" ") if text else []


def gleu(left: str, right: str) -> float:
    one, other = words(left), words(right)
    return 1 - float(sentence_gleu([one], other)) if one and other else float(bool(one) != bool(other))


def circular(left: float, right: float, period: float = 360.0) -> float:
    return (1 - float(np.cos(2 * np.pi * (left - right) / period))) / 2


def haversine(left: Any, right: Any) -> float:
    """Return the great-circle distance in kilometres."""
    (p, a), (q, b) = np.radians(left), np.radians(right)
    h = np.sin((p - q) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin((a - b) / 2) ** 2
    return float(2 * EARTH * np.arcsin(np.sqrt(h)))


def chord(left: Any, right: Any) -> float:
    return float(2 * EARTH * np.sin(haversine(left, right) / (2 * EARTH)))


def assign(near: Any, *, shared: str = "f1") -> float:
    """Match the objects of two labels one to one, and compare what is matched with their number."""
    size = int(sum(near.shape))
    matched = float(near[linear_sum_assignment(near, maximize=True)].sum()) if near.size else 0.0
    if not size:
        return 0.0
    return 1 - 2 * matched / size if shared == "f1" else 1 - matched / (size - matched)


def iou(a: list[Any], b: list[Any]) -> float:
    """Return the intersection over union of two boxes x1, y1, x2, y2, class."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(wide, 0) * max(high, 0)
    if not both:
        return float(a[:4] == b[:4])
    return float(both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both))


def _values(label: Any) -> list[list[Any]]:
    return [list(thing.values()) if isinstance(thing, dict) else list(thing) for thing in label]


def _table(left: Any, right: Any, compare: Callable[[list[Any], list[Any]], float]) -> Any:
    """Compare every object of one label with every object of the other; those of different classes have nothing."""
    pairs = [[compare(a, b) if a[-1] == b[-1] else 0.0 for b in right] for a in left]
    return np.array(pairs).reshape(len(left), len(right))


def boxes(left: Any, right: Any, *, least: float = 0.3, shared: str = "f1") -> float:
    def cut(a: list[Any], b: list[Any]) -> float:
        share = iou(a, b)
        return share if share >= least else 0.0

    return assign(_table(_values(left), _values(right), cut), shared=shared)


def points(left: Any, right: Any, *, radius: float = 6.0, form: str = "soft", shared: str = "f1") -> float:
    def near(a: list[Any], b: list[Any]) -> float:
        away = float(np.linalg.norm(np.subtract(a[:-1], b[:-1])))
        return max(1 - away / radius, 0.0) if form == "soft" else float(away < radius)

    return assign(_table(_values(left), _values(right), near), shared=shared)


def spans(left: Any, right: Any, *, measure: str = "overlap") -> float:
    one, other = _values(left), _values(right)
    if measure == "characters":
        return jaccard(*({(k, tag) for start, end, tag in label for k in range(start, end)} for label in (one, other)))
    if measure == "exact":
        same = (Counter(map(tuple, one)) & Counter(map(tuple, other))).total()
        return 1 - 2 * same / (len(one) + len(other)) if one or other else 0.0
    return assign(_table(one, other, lambda a, b: 1 - jaccard(range(*a[:2]), range(*b[:2]))))


def probability(left: dict[str, float], right: dict[str, float]) -> float:
    return float(sqeuclidean(list(left.values()), list(right.values())))


def days(left: str, right: str) -> float:
    return float((date.fromisoformat(left) - date.fromisoformat(right)).days) ** 2


LEVELS = "ordinal(levels=[1, 2, 3, 4, 5]"
# Label type with its options -> name of its crowd, and the distance of two of its labels.
PLAIN: dict[str, tuple[str, Callable[[Any, Any], float]]] = {
    "categorical": ("categorical", lambda a, b: float(a != b)),
    f"{LEVELS})": ("ordinal", lambda a, b: abs(a - b) / 4),
    f"{LEVELS}, distance=squared)": ("ordinal", lambda a, b: (a - b) ** 2 / 16),
    f"{LEVELS}, distance=hamming)": ("ordinal", lambda a, b: float(a != b)),
    "real": ("real", lambda a, b: (a - b) ** 2),
    "real(distance=absolute)": ("real", lambda a, b: abs(a - b)),
    "ranking": ("ranking", kendall),
    "ranking(distance=footrule)": ("ranking", footrule),
    "text": ("text", gleu),
    "text(distance=edit)": ("text", Levenshtein.normalized_distance),
    "text(distance=tokens)": ("text", lambda a, b: jaccard(words(a), words(b))),
    "bitmap": ("bitmap", bitmap),
    "bitmap(distance=dice)": ("bitmap", partial(bitmap, measure=dice)),
    "set": ("set", jaccard),
    "interval": ("interval", interval),
    "boxes": ("boxes", boxes),
    "boxes(overlap=0.6)": ("boxes", partial(boxes, least=0.6)),
    "boxes(distance=jaccard, overlap=0)": ("boxes", partial(boxes, least=0.0, shared="jaccard")),
    "spans": ("spans", spans),
    "spans(distance=exact)": ("spans", partial(spans, measure="exact")),
    "spans(distance=characters)": ("spans", partial(spans, measure="characters")),
    "points(radius=6)": ("points", points),
    "points(radius=6, form=hard)": ("points", partial(points, form="hard")),
    "points(radius=6, distance=jaccard)": ("points", partial(points, shared="jaccard")),
    "vector": ("vector", sqeuclidean),
    "vector(distance=cosine)": ("vector", cosine),
    "vector(distance=euclidean)": ("vector", euclidean),
    "circular": ("circular", circular),
    "date": ("date", days),
    "date(distance=absolute)": ("date", lambda a, b: days(a, b) ** 0.5),
    "tree": ("tree", tree),
    "place": ("place", lambda a, b: chord(a, b) ** 2),
    "place(distance=euclidean)": ("place", chord),
    "probability": ("probability", probability),
    "custom": ("custom", label_types.distance),
}
