"""Readings: kinds of label that are known from how the values of a column are written.

A reading looks at the different labels of a column of texts. It returns the domain with the options by which they are
read, or nothing if they are something else; and where they can be read in two ways it asks, with the better one in the
command. They are asked one after the other, and the first that knows the labels wins:

    46%  $11.45  45,511  45.5 kg  <46                 numbers            real(form="1234.5 kg")
    31/01/2024  Jan 31, 2024                          dates              date(form="31/12/2024")
    0-0 1-6                                           index lists        set(separator=" ")
    a;b  a, b                                         sets, rankings     set(separator=";"), ranking(separator=";")
    Strongly disagree ... Strongly agree              scales in words    ordinal(levels=(...))

Times of day such as 23:50 stop it: they are no labels, or numbers on a circle.

Long texts that end in a number or a letter are looked at last, where nothing else knows the labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.extraction import find_extractor
from allalike._core.late import pa, pc
from allalike.domains import DOMAINS, Domain
from allalike.domains.contract import spell_domain
from allalike.domains.moments import is_moment
from allalike.domains.spelling import match_key, split_items
from allalike.domains.written_labels import DATE_FORMS, SHORT_DATE_FORMS, read_date
from allalike.errors import LabelError, Proposal
from allalike.readers.guessing.units import find_number_form
from allalike.readers.rating_scales import NO_OPINION, find_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike._core.columns.factors import Codes
    from allalike.answers.stream import Sample
    from allalike.domains.written_labels import NumberForm


# Kinds of numbers: whether they are classes, levels of a scale, or numbers.


SAMPLE_ROWS = 1 << 16
MAX_CLASSES = 20  # if more numbers differ, they are no classes, unless they are final answers
_MIN_RECURRENCE = 2  # floats are classes if each different number without a fraction has this many answers on average,
_MIN_FRACTION_RECURRENCE = 3  # and each with a fraction this many
_MIN_EQUAL_SHARE = 0.15  # answers are final answers if this share of the pairs of a task's answers is equal,
_MIN_EQUAL_RATIO = 8  # if that is this many times the share among all pairs,
_MIN_MEDIAN_GAP = 0.15  # and if others are this far from the middle of their task, relative to the numbers;
_CLEAR_EQUAL_SHARE, _CLEAR_MEDIAN_GAP = 0.3, 0.05  # where this many are equal, others may be nearer
_MIN_PAIRS = 20
_LEVELS = (5, 11)  # a scale that is known by its answers has so few and so many levels,
_MIN_ORDER = 0.7  # nearness of levels and how often a task has both have this rank correlation,
_CODES = (-9, -99, -999, -9999, -99999, 77, 88, 99, 888, 999, 8888, 9999, 99999)  # which often stand for no answer,
_FAR = 3  # where they are so many times as far from other numbers as these are from each other
_MIN_MIXED = 5  # and each two levels have this many pairs of different answers to a task


def guess_numbers(labels: Column, answers: int, sample: Sample | None) -> Domain:
    """Return the domain of numbers: classes, levels of a scale, or real; ask about codes such as -999 among them.

    >>> from allalike._core.columns.column import Column
    >>> said = Column.of_objects("label", [1, 2, 2, 3, 3, 4, 4, 5] * 20)
    >>> tasks = np.arange(160) // 2
    >>> guess_numbers(said, 160, None).name, guess_numbers(said, 160, lambda: (said, tasks)).name
    ('categorical', 'ordinal')
    """
    _ask_codes(labels.numbers)
    if labels.n_distinct(SAMPLE_ROWS) <= MAX_CLASSES and labels.n_distinct() <= MAX_CLASSES:
        values = labels.factors[1]
        numbers = Column("label", values.data).numbers
        written_whole = not any(mark in str(value) for value in values.tolist() for mark in ".eE")
        least = _MIN_RECURRENCE if np.all(numbers == np.round(numbers)) else _MIN_FRACTION_RECURRENCE
        if sample is not None and _are_in_a_row(numbers) and _are_levels(*sample()):
            return DOMAINS["ordinal"]()
        return DOMAINS["categorical"]() if written_whole or answers >= least * len(values) else DOMAINS["real"]()
    if sample is None:
        return DOMAINS["real"]()
    first, tasks = sample()
    _ask_codes(first.numbers)
    return DOMAINS["categorical"]() if _are_final_answers(first, tasks) else DOMAINS["real"]()


def _ask_codes(numbers: Any) -> None:
    """Ask about numbers that often stand for no answer, where they are far from all others.

    >>> _ask_codes(np.array([1, 5, 3, 99]))
    Traceback (most recent call last):
    allalike.errors.LabelError: Among the labels stands 99, far from all others, which are from 1 to 5. If that means
    'no answer', leave it out; if it is an answer, say domain='real' or domain='categorical'. Say it with abstain=99.
    >>> _ask_codes(np.array([97, 98, 99]))
    """
    codes = [code for code in _CODES if (numbers == code).any()]
    others = numbers[~np.isin(numbers, codes)] if codes else numbers[:0]
    if not len(others):
        return
    low, high = float(others.min()), float(others.max())
    far = [code for code in codes if _is_far(code, low, high)]
    if far and high > low:
        raise LabelError(
            f"Among the labels stands {' and '.join(map(str, far))}, far from all others, which are from {low:g} to"
            f" {high:g}. If that means 'no answer', leave it out; if it is an answer, say domain='real' or"
            " domain='categorical'.",
            abstain=far[0] if len(far) == 1 else tuple(far),
        )


def _is_far(code: int, low: float, high: float) -> bool:
    gap = max(low - code, code - high)
    return gap >= (1 if code < 0 <= low else _FAR) * (high - low)


def _are_in_a_row(numbers: Any) -> bool:
    """Tell whether different numbers are all whole ones from the smallest to the largest, a few."""
    steps = np.diff(np.sort(numbers))
    return _LEVELS[0] <= len(numbers) <= _LEVELS[1] and bool(
        np.all(steps == 1) and np.all(numbers == np.round(numbers))
    )


def _are_levels(labels: Column, tasks: Codes) -> bool:
    """Tell whether numbers are levels: the nearer two of them are, the more often a task has both, beyond chance.

    Numbers of classes are in any order, so that one which is confused with 2 is as often 5 as 3.
    """
    levels, place = np.unique(labels.numbers, return_inverse=True)
    counts = np.zeros((int(tasks.max(initial=0)) + 1, len(levels)))
    np.add.at(counts, (tasks, place), 1.0)
    low, high = np.triu_indices(len(levels), 1)
    both, said = (counts.T @ counts)[low, high], counts.sum(axis=0)
    if len(low) < 2 or both.sum() < _MIN_MIXED * len(low):
        return False
    near, often = (_ranks(each) for each in (levels[low] - levels[high], both / (said[low] * said[high])))
    return bool(near @ often >= _MIN_ORDER * np.sqrt((near @ near) * (often @ often)) > 0)


def _ranks(values: Any) -> Any:
    """Return the ranks of values less their mean; those that are the same share theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place] - len(values) / 2


def _are_final_answers(labels: Column, tasks: Codes) -> bool:
    """Tell whether numbers are right or wrong: often the same as others of their task, and else far from them.

    Measurements of a thing are close to each other and seldom the same; ratings are the same in all tasks.
    """
    numbers = labels.numbers
    order = np.lexsort((numbers, tasks))
    numbers, tasks = numbers[order], tasks[order]
    begins = np.flatnonzero(np.append(True, tasks[1:] != tasks[:-1]))
    sizes = np.diff(np.append(begins, len(tasks)))
    same = np.append(True, (tasks[1:] != tasks[:-1]) | (numbers[1:] != numbers[:-1]))
    pairs, equal = _count_pairs(sizes), _count_pairs(np.bincount(np.cumsum(same) - 1))
    everywhere = _count_pairs(np.unique(numbers, return_counts=True)[1]) / max(_count_pairs(len(numbers)), 1)
    if pairs < _MIN_PAIRS or equal < _MIN_EQUAL_SHARE * pairs or equal < _MIN_EQUAL_RATIO * everywhere * pairs:
        return False
    middle = np.repeat(numbers[begins + (sizes - 1) // 2], sizes)
    far = numbers != middle
    gaps = np.abs(numbers - middle)[far] / np.maximum(np.abs(numbers), np.abs(middle))[far]
    least = _CLEAR_MEDIAN_GAP if equal >= _CLEAR_EQUAL_SHARE * pairs else _MIN_MEDIAN_GAP
    return not len(gaps) or bool(np.median(gaps) >= least)


def _count_pairs(sizes: Any) -> float:
    """Count the pairs within groups of these sizes."""
    sizes = np.asarray(sizes, np.float64)
    return float((sizes * (sizes - 1) / 2).sum())


_FIRST, _MOST = 20, 10_000  # different labels: the first tell what they are not, and so many what they are
_SEPARATORS = (";", "|", ",")
_MAX_ITEM_WORDS, _MAX_ITEM_CHARACTERS = 4, 40
_MIN_SEVERAL = 0.2  # of the different labels of sets have two items or more,
_MIN_AGAIN = 0.8  # and of these items so many occur in other labels, too
_MAX_LEVELS = 12
_DAY = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{4}")
_TIME = re.compile(r"\s*(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:\s*[ap]\.?m\.?)?\s*", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_PAIR = re.compile(r"\d+[-:]\d+(?: \d+[-:]\d+)*")
_LISTED = re.compile(r"[>\[{]")  # what is written so is no plain list of items
_MOST_LONG = 1000  # long texts are looked at
_LONG_WORDS = 8  # of texts in which an answer is looked for, on average
_MOST_WITHOUT = 0.1  # of long texts may not end in an answer
_ENDS = {
    "letter": (re.compile(r"(?:^|[\s:(\[{*\"'])([A-Z])[)\]}*.\"'\s]*$"), ("choice", r"([A-Z])\W*$")),
    "number": (
        re.compile(r"(?:^|[\s:=(\[{*#$€£])([-+]?\d(?:[\d.,]*\d)?)[%)\]}*.$\s]*$"),
        ("number", r"([-+]?\d(?:[\d.,]*\d)?)\W*$"),
    ),
}  # how texts end, and the ways to extract that


@dataclass(frozen=True)
class Written:
    """Labels that are texts: different ones, many at most, and what tells more of them, as for `guess_domain`."""

    texts: Sequence[str]
    labels: Column
    parts: Iterable[tuple[Column, Codes]]
    answers: int
    sample: Sample | None

    @property
    def n_different(self) -> int:
        """How many different labels there are."""
        return len(self.labels.factors[1])


Reading = Callable[[Written], Domain | None]


def read_texts(
    labels: Column, parts: Iterable[tuple[Column, Codes]], answers: int, sample: Sample | None
) -> Domain | None:
    """Return the domain of texts that are written in a way that tells it, or nothing; ask if there are two.

    >>> def read(*texts):
    ...     column = Column.of_objects("label", list(texts))
    ...     found = read_texts(column, [(column, list(range(len(texts))))], len(texts), None)
    ...     return found and spell_domain(found)
    >>> read("45.5 kg", "46 kg"), read("31/01/2024", "01/02/2024"), read("cat", "dog")
    ('real(form="1234.5 kg")', 'date(form="31/12/2024")', None)
    >>> read("cat;dog", "dog", "cat"), read("never", "always", "often"), read("0-0 1-6", "0-1")
    ('set(separator=";")', 'ordinal(levels=("never", "often", "always"))', 'set(separator=" ")')
    """
    values = labels.factors[1]
    texts = values.take(np.arange(0, len(values), -(-len(values) // _MOST) or 1)).tolist()
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    written = Written(texts, labels, parts, answers, sample)
    return next((found for reading in READINGS if (found := reading(written)) is not None), None)


def _make(name: str, **options: Any) -> Domain:
    kind: Any = DOMAINS[name]
    made: Domain = kind(**options)
    return made


def _read_numbers(written: Written) -> Domain | None:
    """Read numbers with a unit, which measure something, and others as plain numbers are read."""
    if not all(any(map(str.isdigit, text)) for text in written.texts[:_FIRST]):
        return None
    form = find_number_form(written.texts)
    if form is None:
        return None
    if not form.unit:
        numbers = form.read(written.labels.factors[1].data)
        plain = Column("label", _whole_if_possible(pc.drop_null(numbers)))
        sample = None if written.sample is None else partial(_convert, written.sample, form)
        if guess_numbers(plain, written.answers, sample).name != "real":
            return DOMAINS["categorical"]()
    return _make("real", form=str(form))


def _convert(sample: Sample, form: NumberForm) -> tuple[Column, Codes]:
    """Return a sample with its labels as numbers."""
    labels, tasks = sample()
    codes, numbers = labels.parsed(form.parse, form.parse_texts)
    return Column("label", pa.array(numbers).take(pa.array(codes))), tasks


def _whole_if_possible(numbers: pa.Array) -> pa.Array:
    whole = pc.round(numbers)
    return whole.cast(pa.int64()) if pc.all(pc.equal(whole, numbers)).as_py() and len(numbers) else numbers


def _read_dates(written: Written) -> Domain | None:
    """Read dates in the form in which all of them are days that there are; ask if there are two such forms."""
    fitting = list(_find_date_forms(written.texts, DATE_FORMS)) or _find_short_forms(written.texts)
    if not fitting:
        _refuse_mixed(written.texts)
        return None
    date = _make("date", form=fitting[0])
    if len(fitting) > 1:
        raise LabelError(
            f"Dates such as {written.texts[0]!r} can be read in two ways, and no label tells which: the last day of"
            f" 2024 is written as {fitting[0]}, or as {fitting[1]}.",
            proposals=[Proposal({"domain": spell_domain(_make("date", form=form))}) for form in fitting],
        )
    if written.n_different <= written.answers / 2:
        raise LabelError(
            f"The labels are dates that recur, {written.n_different:,} different ones in {written.answers:,} answers."
            " If one that is near is better than one that is far, they are date; if they are right or wrong,"
            " categorical.",
            proposals=_or_classes(date),
        )
    return date


def _or_classes(domain: Domain) -> list[Proposal]:
    """Propose a domain, and behind it that labels are right or wrong."""
    return [Proposal({"domain": name}) for name in (spell_domain(domain), "categorical")]


def _find_date_forms(texts: Sequence[str], forms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return forms in which all texts are days that there are, each with these; of those that read the same, the first.

    >>> list(_find_date_forms(["31/01/24"], SHORT_DATE_FORMS)), list(_find_date_forms(["01/02/2024"], DATE_FORMS))
    (['31/12/24', '24/12/31'], ['31/12/2024', '12/31/2024'])
    """
    fitting = [form for form in forms if _are_dates(texts[:_FIRST], form)]
    read = {tuple(read_date(text, form) for text in texts): form for form in reversed(fitting)}
    return {form: days for days, form in reversed(read.items()) if all(map(is_moment, days))}


def _find_short_forms(texts: Sequence[str]) -> list[str]:
    """Return the form with years of two digits that alone fits; there are fewer different years than days of a month.

    >>> _find_short_forms(["31/01/24", "28/02/24"]), _find_short_forms(["24-01-31", "24-02-28"])
    (['31/12/24'], ['24-12-31'])
    >>> _find_short_forms(["01/02/24", "03/04/24"])
    []
    """
    years = {form: len({day[:4] for day in days}) for form, days in _find_date_forms(texts, SHORT_DATE_FORMS).items()}
    fitting = [form for form, number in years.items() if number == min(years.values())]
    return fitting if len(fitting) == 1 else []


def _are_dates(texts: Sequence[str], form: str) -> bool:
    found = (read_date(text, form) for text in texts)
    return all(iso != text and is_moment(iso) for iso, text in zip(found, texts, strict=True))


def _refuse_mixed(texts: Sequence[str]) -> None:
    """Ask where all labels look like dates, but some have the day first and others the month."""
    if not all(map(_DAY.fullmatch, texts)):
        return
    odd = [next((text for text in texts if not _are_dates([text], form)), texts[0]) for form in DATE_FORMS[:2]]
    raise LabelError(
        f"The labels look like dates, but no order of day and month fits all of them: not {odd[0]!r} and {odd[1]!r}."
        " Write them alike. If they are right or wrong, and not near or far, say domain='categorical'."
    )


def _refuse_times(written: Written) -> Domain | None:
    """Stop at times of day: they tell when somebody answered, or are numbers on a circle."""
    if not all(map(_TIME.fullmatch, written.texts)):
        return None
    raise LabelError(
        f"The labels are times of day, such as {written.texts[0]!r}. Take another column as the label; or if they are"
        " the answers, write them as hours, 23:50 as 23.83, and say domain='circular(period=24)'. If they are right or"
        " wrong, and not near or far, say domain='categorical'."
    )


def _read_index_lists(written: Written) -> Domain | None:
    """Read lists of pairs of places, such as ``0-0 1-6``, by which words are aligned."""
    texts = written.texts
    several = any(" " in text for text in texts) and all(_PAIR.fullmatch(text) for text in texts)
    return _make("set", separator=" ") if several else None


def _read_lists(written: Written) -> Domain | None:
    """Read items with something between them: rankings if each has all items of its task, sets if items combine."""
    if any(map(_LISTED.search, written.texts[:_FIRST])):
        return None
    separator = next((mark for mark in _SEPARATORS if any(mark in text for text in written.texts)), None)
    if separator is None:
        return None
    lists = [split_items(text, separator) for text in written.texts]
    if not all(map(_are_items, lists)) or any(map(_THOUSANDS.search, written.texts)):
        return None
    ranking, several = _make("ranking", separator=separator), [items for items in lists if len(items) > 1]
    orders = len(several) == len(lists) > len({frozenset(items) for items in lists})
    if orders and all(order_the_same(*part, ranking) for part in written.parts):
        return ranking
    return _tell_sets(written, separator, lists)


def _are_items(items: Sequence[str]) -> bool:
    """Tell whether the pieces of a text may be items: different ones, and short."""
    short = all(len(item) <= _MAX_ITEM_CHARACTERS and len(item.split()) <= _MAX_ITEM_WORDS for item in items)
    return bool(items) and short and len(set(items)) == len(items)


def _tell_sets(written: Written, separator: str, lists: Sequence[Sequence[str]]) -> Domain | None:
    """Take lists for sets if few items make many labels; where they do not, commas belong to texts and others ask."""
    several = [each for each in lists if len(each) > 1]
    often = Counter(item for each in lists for item in each)
    again = sum(often[item] > 1 for each in several for item in each)
    combine = len(often) <= len(lists) and again >= _MIN_AGAIN * sum(map(len, several))
    few, comma = len(several) < _MIN_SEVERAL * len(lists), separator == ","
    sets = _make("set", separator=separator)
    if combine and not few and not _have_places(lists):
        return sets
    if (comma and (few or not combine)) or (few and not combine):
        return None
    example = next(text for text in written.texts if separator in text)
    raise LabelError(
        f"Labels such as {example!r} may be sets of items, of which each can be right or wrong, or classes with"
        f" {separator!r} in their names (categorical).",
        proposals=_or_classes(sets),
    )


def _have_places(lists: Sequence[Sequence[str]]) -> bool:
    """Tell whether all lists are equally long, and each item has its place, as in ``red, small``."""
    if len({len(items) for items in lists}) > 1:
        return False
    places = {(place, item) for items in lists for place, item in enumerate(items)}
    return len(places) == len({item for _, item in places})


def order_the_same(labels: Column, tasks: Codes, ranking: Any) -> bool:
    """Tell whether the labels of each task order the same items.

    >>> labels = Column.of_objects("label", ["a>b", "b>a", "c>d"])
    >>> order_the_same(labels, [0, 0, 1], DOMAINS["ranking"]()), order_the_same(labels, [0, 0, 0], DOMAINS["ranking"]())
    (True, False)
    """
    try:
        codes, orders = ranking.read(labels)
    except LabelError:
        return False
    items: dict[int, frozenset[object]] = {}
    ordered = ((task, frozenset(orders[code])) for code, task in zip(codes, tasks, strict=True))
    return all(items.setdefault(task, own) == own for task, own in ordered)


def _read_scales(written: Written) -> Domain | None:
    """Read words that all are levels of one scale; what stands beside a scale and means nothing is asked about."""
    if len(written.texts) > _MAX_LEVELS:
        return None
    if (levels := find_scale(written.texts)) is not None:
        return _make("ordinal", levels=levels)
    beside = [text for text in written.texts if text.strip().casefold() in NO_OPINION]
    rest = [text for text in written.texts if text not in beside]
    if beside and find_scale(rest) is not None:
        raise LabelError(
            f"The labels are levels of a scale, such as {rest[0]!r}, but {beside[0]!r} is none. If it means that there"
            " is no answer, leave it out; or say that they are classes: domain='categorical'.",
            abstain=beside[0] if len(beside) == 1 else tuple(beside),
        )
    return None


READINGS: tuple[Reading, ...] = (
    _read_numbers,
    _read_dates,
    _refuse_times,
    _read_index_lists,
    _read_lists,
    _read_scales,
)


def ask_extraction(texts: Sequence[str]) -> None:
    r"""Ask whether long texts shall be read by the number or the letter in which they end, if most of them do.

    >>> ask_extraction(["I have looked at it for long, and say:\nA", "After all that I would choose\nAnswer: B"])
    Traceback (most recent call last):
    allalike.errors.LabelError: The labels are long texts, of which 2 of 2 end in a letter, such as '... and say: A'. If
    that is the answer, it can be extracted; else they are text. Say it with domain='categorical(extract=choice)'.
    """
    texts = texts[:: -(-len(texts) // _MOST_LONG)]
    if sum(len(text.split()) for text in texts) < _LONG_WORDS * len(texts):
        return
    for what, (pattern, ways) in _ENDS.items():
        ends = [pattern.search(text.rstrip()[-_MAX_ITEM_CHARACTERS:]) for text in texts]
        number = sum(end is not None for end in ends)
        if number < (1 - _MOST_WITHOUT) * len(texts):
            continue
        way = next(way for way in ways if _finds(way, texts, ends) >= (1 - _MOST_WITHOUT) * number)
        shown = next(" ".join(text.split()[-3:]) for text, end in zip(texts, ends, strict=True) if end)
        raise LabelError(
            f"The labels are long texts, of which {number:,} of {len(texts):,} end in a {what}, such as '... {shown}'."
            " If that is the answer, it can be extracted; else they are text.",
            domain=f"categorical(extract={way})" if way.isalpha() else f'categorical(extract="{way}")',
        )


def _finds(way: str, texts: Sequence[str], ends: Sequence[re.Match[str] | None]) -> int:
    """Count the texts in which a way to extract answers finds the one that stands at the end."""
    find = find_extractor(way)
    return sum(
        end is not None and match_key(find(text)) == match_key(end[1]) for text, end in zip(texts, ends, strict=True)
    )
