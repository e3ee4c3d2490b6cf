"""Near duplicates: labels and ids that are probably the same but spelled differently.

Two labels are probably the same if they differ only in case, blanks and punctuation, or in the notation of a number or
choice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from allalike._core.lazy_imports import late_pattern
from allalike.domains.spelling import match_key

_MAX_LABELS = 5000  # that are compared
_MAX_CHARACTERS = 200  # of a label that is compared
_MAX_TWINS = 0.5  # of all ids: if more have a twin, case is meaningful
_MAX_SHOWN = 5
_MIN_LETTERS = 3  # of a label in which punctuation is ignored: C and C. may differ
_MIN_SHARE = 0.9  # of the labels that an option must be able to read
_CHOICE_PATTERN = late_pattern(r"[A-Z](?:[<>=~]+[A-Z])?|tie")
_NUMBER_PATTERN = late_pattern(r"\d(?:[\d.,]*\d)?")
_BOUNDS = late_pattern(r"[<>≤≥~±%]")
_MARKS = late_pattern(r"[\s\-_'\u2019.,;:!()\[\]\"/]")
_TRUTH_WORDS = {
    **dict.fromkeys(("true", "yes", "y", "1"), "true"),
    **dict.fromkeys(("false", "no", "n", "0"), "false"),
}
_ABSTENTION_WORDS = """
    ? ?? - -- -1 unknown unsure unclear undecided skip skipped ignore abstain idk not_sure don't_know dont_know
    do_not_know can't_tell cannot_tell no_answer not_applicable
"""
_ABSTENTIONS = frozenset(word.replace("_", " ") for word in _ABSTENTION_WORDS.split())


@dataclass(frozen=True)
class Spellings:
    """Labels that are probably the same: examples of pairs, the number of labels, and the option that merges them."""

    pairs: tuple[tuple[Any, Any], ...]
    labels: int
    option: str


def find_spellings(values: Iterable[Any]) -> Spellings | None:
    """Find labels that differ only in case, blanks, punctuation, or the notation of a number or choice.

    >>> find_spellings(["cat", "Cat", "dog"])
    Spellings(pairs=(('cat', 'Cat'),), labels=2, option='categorical(lower=True)')
    >>> find_spellings(["A", "B", "[[A]]", "Answer: B"]).option, find_spellings(["1", "1.0", "2"]).option
    ("categorical(extract='choice')", "categorical(extract='number')")
    >>> find_spellings(["True", "yes", "no"]).option, find_spellings(["cat", "dog"])
    ('', None)
    """
    texts = {value: str(value) for value in islice(values, _MAX_LABELS) if isinstance(value, str | int | float)}
    texts = {value: text for value, text in texts.items() if len(text) <= _MAX_CHARACTERS}
    keys: tuple[tuple[str, Callable[[str], Any]], ...] = (
        ("categorical", str.strip),
        ("categorical(lower=True)", lambda text: text.strip().casefold()),
        ("categorical(extract='choice')", _as_choice),
        ("categorical(extract='number')", _as_number),
        ("", lambda text: _TRUTH_WORDS.get(text.strip().casefold())),
        ("", _without_marks),
    )
    best = max((_group(texts, key, option) for option, key in keys), key=lambda each: each.labels)
    return best if best.labels else None


def _group(texts: dict[Any, str], key: Callable[[str], Any], option: str) -> Spellings:
    """Group labels by a key; no option is proposed if many labels have no key."""
    groups: dict[Any, list[Any]] = {}
    for value, text in texts.items():
        if (meant := key(text)) is not None:
            groups.setdefault(meant, []).append(value)
    several = [group for group in groups.values() if len(group) > 1]
    pairs = tuple((group[0], other) for group in several for other in group[1:])
    n_labels, n_keys = sum(map(len, several)), sum(map(len, groups.values()))
    return Spellings(pairs[:_MAX_SHOWN], n_labels, option if n_keys >= _MIN_SHARE * len(texts) else "")


def _as_choice(text: str) -> str | None:
    """Return the choice in a short label: its letter or "tie", or None for words and other labels."""
    word = text.strip().casefold()
    if word.isalpha():
        return word if word == "tie" else word.upper() if len(word) == 1 and word.isascii() else None
    if word.isalnum():
        return None
    from allalike._core.extraction import extract_choice

    choice = extract_choice(text)
    return choice if choice is not None and _CHOICE_PATTERN.fullmatch(choice) else None


def _as_number(text: str) -> str | None:
    """Return the number in a label, or None if it is a code such as 007 or has further words."""
    bare = text.strip()
    if re.match(r"[-+]?0\d", bare) or _BOUNDS.search(bare) or len(_NUMBER_PATTERN.findall(bare)) != 1:
        return None
    if bare.isdecimal() and bare.isascii():
        return bare
    words = re.sub(r"\\(?:boxed|text|frac)|answer|final|the|is", "", bare, flags=re.IGNORECASE)
    if re.search(r"[^\W\d_]", words) and match_key(bare) == bare:
        return None
    from allalike._core.extraction import extract_number

    number = extract_number(bare)
    return number if number is not None and re.fullmatch(r"-?[\d.]+", number) else None


def _without_marks(text: str) -> str | None:
    """Return a label without case, accents, blanks and punctuation, or None if it is short or has digits."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    letters = _MARKS.sub("", plain.casefold())
    return letters if len(letters) >= _MIN_LETTERS and not any(map(str.isdecimal, letters)) else None


def find_same_ids(ids: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Find ids that differ only in case and blanks, unless case seems meaningful because it distinguishes most ids."""
    known = [each for each in ids if isinstance(each, str) and len(each.strip()) > 1]
    first: dict[str, str] = {}
    pairs = [(one, each) for each in known if (one := first.setdefault("".join(each.split()).casefold(), each)) != each]
    words = all(each == each.casefold() or each.isupper() or each.istitle() for pair in pairs for each in pair)
    return pairs if words or 2 * len(pairs) <= _MAX_TWINS * len(known) else []


def find_abstentions(labels: Iterable[Any]) -> list[Any]:
    """List labels that may mean "no answer": words such as "unknown", and -1 unless it is the opposite of 1.

    >>> find_abstentions([-1, 0, 1]), find_abstentions([-1, 1]), find_abstentions(["cat", "dog", "Not sure"])
    ([-1], [], ['Not sure'])
    """
    known = list(labels)
    written = [str(match_key(label)).casefold() for label in known]
    sign = {"-1", "1"} <= set(written) and "0" not in written
    meant = _ABSTENTIONS - {"-1"} if sign else _ABSTENTIONS
    return [label for label, text in zip(known, written, strict=True) if text in meant]
