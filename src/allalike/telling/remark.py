"""Remark: a sentence on a result, before a face dresses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_N_NAMED = 5


@dataclass(frozen=True)
class Remark:
    """A sentence, and what a face needs to dress it."""

    sentence: str
    option: str = ""
    value: Any = ""
    names: Sequence[Any] = ()
    words: Sequence[Any] = ()


def name_some(ids: Sequence[Any], number: int, most: int = _N_NAMED) -> str:
    """Name the first of so many workers; one more is named, too.

    >>> name_some(["ada", "bob"], 2, 1), name_some(list("abcdefg"), 9)
    ('ada, bob', 'a, b, c, d, e and 4 more')
    """
    more = f" and {number - most:,} more" if number > most + 1 else ""
    return ", ".join(map(str, ids[:most] if more else ids)) + more


def percent(probability: float) -> str:
    """Write how probable something is; nothing that is estimated is certain.

    >>> percent(0.934), percent(0.9999)
    ('93 %', 'over 99 %')
    """
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def share(part: int, whole: int) -> str:
    """Write a share in percent.

    >>> share(1, 8)
    '12.5 %'
    """
    return f"{100 * part / whole:.1f} %"


def two_digits(number: float) -> str:
    """Write a number with two digits that count, and never with an exponent where it is large.

    >>> two_digits(0.0353), two_digits(2.96), two_digits(99.7), two_digits(1786.0), two_digits(1.2e6)
    ('0.035', '3', '100', '1,800', '1,200,000')
    """
    short = float(f"{number:.2g}")
    return f"{short:,.0f}" if abs(short) >= 10 else f"{short:g}"


# Coefficients of agreement by the names that textbooks have for them, with what each is and when to use it.


COEFFICIENTS = {  # by name: of which labels it is, and what it is
    "Krippendorff's alpha": (
        "all labels",
        "1 - observed/expected distance; any number of workers, gaps allowed; the first choice",
    ),
    "nominal alpha": (
        "classes",
        "Krippendorff's alpha where labels are the same or not; what 'alpha' is there",
    ),
    "ordinal alpha": (
        "levels",
        "Krippendorff's alpha of ranks, as in his book: levels are apart by the answers between them",
    ),
    "linear alpha": (
        "levels",
        "Krippendorff's alpha by steps of the scale, the distance that weights go by here",
    ),
    "interval alpha": (
        "levels that are numbers, numbers",
        "Krippendorff's alpha by squared differences; for equal steps, such as degrees",
    ),
    "percent agreement": (
        "classes, levels",
        "the share of equal pairs of answers to a task; says nothing of chance",
    ),
    "Fleiss' kappa": (
        "classes",
        "beyond chance, if all used the classes equally often; Scott's pi where two workers answer all tasks",
    ),
    "Cohen's kappa": (
        "classes",
        "beyond chance, each worker with her own shares of classes; of many, the mean over pairs",
    ),
    "Cohen's weighted kappa (linear)": (
        "levels",
        "Cohen's kappa in which near levels agree a little, by steps",
    ),
    "Cohen's weighted kappa (quadratic)": (
        "levels",
        "the same by squared steps; close to a correlation",
    ),
    "Gwet's AC1": (
        "classes",
        "beyond chance, also where nearly all tasks have one class",
    ),
    "Gwet's AC2 (linear)": (
        "levels",
        "AC1 in which near levels agree a little, by steps",
    ),
    "Gwet's AC2 (quadratic)": (
        "levels",
        "the same by squared steps",
    ),
}
_OF_LEVELS = {"linear": "linear alpha", "squared": "interval alpha", "hamming": "nominal alpha"}


def name_alpha(domain: str, distance: str) -> str:
    """Name the alpha that goes by the distance of these labels.

    >>> name_alpha("ordinal", "linear"), name_alpha("text", "gleu")
    ('linear alpha', "Krippendorff's alpha")
    """
    return _OF_LEVELS.get(distance, "Krippendorff's alpha") if domain == "ordinal" else "Krippendorff's alpha"
