"""Label types: which domain labels belong to, where that is clear, and a question where it is not.

Texts and objects are shown to one recogniser after the other (`_TEXTS`, `_OBJECTS`). The first that knows the labels
wins: it returns the domain with the options by which they are read, or asks where they can be read in two ways.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import reads_as_number
from allalike._core.extraction import find_extractor
from allalike._core.late import pa, pc
from allalike._core.system.json_text import parse_json
from allalike._core.words import count
from allalike.domains import DOMAINS, Domain
from allalike.domains.contract import spell_domain
from allalike.domains.moments import is_moment
from allalike.domains.spelling import json_list, match_key, split_items
from allalike.domains.things.keys import are_tags, is_box, is_point, is_span
from allalike.domains.written_labels import DATE_FORMS, SHORT_DATE_FORMS, read_date
from allalike.errors import ColumnError, LabelError, Proposal
from allalike.readers.guessing.candidates import EXAMPLE
from allalike.readers.guessing.numbers import MAX_CLASSES, SAMPLE_ROWS, find_number_form, guess_numbers
from allalike.readers.rating_scales import NO_OPINION, find_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike._core.columns.factors import Codes
    from allalike.answers.stream import Sample

_FIRST, _MOST = 20, 10_000  # different labels: the first tell what they are not, and so many what they are
_MAX_LEVELS = 12
_MOST_TEXTS = 0.1  # of the different labels, or one, may mean that there is no answer, where the others are numbers
_MANY_ANSWERS, _MOST_DIFFERENT = 12, 0.9  # short labels of so many answers are ids if a larger share of them differ
_MIN_TEXT_WORDS = 3  # strings that do not repeat are texts if they have this many on average
_SEPARATORS = (";", "|", ",")
_MAX_ITEM_WORDS, _MAX_ITEM_CHARACTERS = 4, 40
_MIN_SEVERAL = 0.2  # of the different labels of sets have two items or more,
_MIN_AGAIN = 0.8  # and of these items so many occur in other labels, too
_DAY = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{4}")
_TIME = re.compile(r"\s*(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:\s*[ap]\.?m\.?)?\s*", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_PAIRS = re.compile(r"\d+[-:]\d+(?: \d+[-:]\d+)*")
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
class _Labels:
    """Labels whose type is looked for: a column, its parts with the tasks' numbers, and how many answers there are."""

    column: Column
    parts: Iterable[tuple[Column, Codes]]
    answers: int
    sample: Sample | None = None
    where: str = "The table"

    @cached_property
    def values(self) -> list[Any]:
        """All different values of a column of texts."""
        return self.column.factors[1].tolist()

    @cached_property
    def texts(self) -> list[str]:
        """Different texts, many at most."""
        return self.values[:: -(-len(self.values) // _MOST) or 1]

    @property
    def recur(self) -> bool:
        """Whether the labels are few enough for classes."""
        n_values = self.column.n_distinct()
        return n_values < self.answers and n_values <= max(MAX_CLASSES, self.answers / 2)


def guess_domain(
    labels: Column,
    parts: Iterable[tuple[Column, Codes]],
    answers: int,
    sample: Sample | None = None,
    *,
    where: str = "The table",
    opened: Domain | None = None,
) -> Domain:
    """Return the domain of labels, or ask.

    >>> def guess(*labels):
    ...     column = Column.of_objects("label", list(labels))
    ...     return spell_domain(guess_domain(column, [(column, np.zeros(len(labels), np.int32))], len(labels)))
    >>> guess(1, 2, 1), guess(1.5, 2.0), guess("a>b", "b>a"), guess({1}, {2}), guess("45.5 kg", "46 kg")
    ('categorical', 'real', 'ranking', 'set', 'real(form="1234.5 kg")')
    >>> guess([{"bbox": [0, 0, 2, 1]}], []), guess([[0, 4, "PER"]], []), guess(["O", "B-PER"], [])
    ('boxes', 'spans', 'spans')
    >>> guess("x17", "x18")
    Traceback (most recent call last):
    allalike.errors.LabelError: It is unclear what kind of labels these are: 2 different ones in 2 answers, such as
    'x17'. They may be classes (categorical), texts (text), or of another kind that allalike.DOMAINS lists. ...
    """
    found = _Labels(labels, parts, answers, sample, where)
    if opened is not None or _are_records(found):
        return _guess_fields(opened or DOMAINS["record"](), found)
    if labels.kind in ("whole", "number") or (labels.kind == "text" and labels.looks_numeric()):
        return guess_numbers(labels, answers, sample)
    if labels.kind == "truth value":
        return DOMAINS["categorical"]()
    for recognise in _TEXTS if labels.kind == "text" else _OBJECTS:
        if (domain := recognise(found)) is not None:
            return domain
    return _guess_words(found)


# Records


def _are_records(labels: _Labels) -> bool:
    """Return whether all labels are mappings that are no masks, or strings that are JSON objects."""
    if labels.column.kind == "object":
        return all(isinstance(value, Mapping) and not _is_mask(value) for value in labels.column.data)
    return labels.column.kind == "text" and all(map(_is_json_object, labels.values))


def _is_json_object(value: Any) -> bool:
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return False
    try:
        found = parse_json(value)
    except json.JSONDecodeError:
        return False
    return isinstance(found, dict) and not _is_mask(found)


def _is_mask(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 2 or (value.ndim == 3 and value.dtype == np.bool_)
    if isinstance(value, dict):
        return {"size", "counts"} <= value.keys()
    from allalike._core.masks import Mask, MaskFile

    return isinstance(value, MaskFile | Mask)


def _guess_fields(domain: Domain, labels: _Labels) -> Domain:
    """Guess what is open of a domain, each field as if it were the label."""
    said: list[Any] = []
    tasks: list[Any] = []
    n_tasks = 0
    for column, numbers in labels.parts:
        said += _list(column)
        tasks.append(numbers + np.int32(n_tasks))
        n_tasks += int(numbers.max(initial=-1)) + 1
        if len(said) >= SAMPLE_ROWS:
            break
    if not said:
        said, tasks = _list(labels.column), [np.arange(len(labels.column), dtype=np.int32)]
    task = np.concatenate(tasks)

    def guess(column: Column, rows: Codes) -> Domain:
        return guess_domain(column, [(column, task[rows])], len(rows), lambda: (column, task[rows]))

    assert domain.record is not None
    return domain.record.close(Column("label", said, text=labels.column.text), guess)


def _list(column: Column) -> list[Any]:
    codes, values = column.parsed(lambda value: value)
    return [values[code] for code in codes]


# Texts


def _make(name: str, **options: Any) -> Domain:
    kind: Any = DOMAINS[name]
    made: Domain = kind(**options)
    return made


def _or_classes(domain: Domain) -> list[Proposal]:
    """Propose a domain, and behind it that labels are right or wrong."""
    return [Proposal({"domain": name}) for name in (spell_domain(domain), "categorical")]


def _refuse_bytes(labels: _Labels) -> None:
    first = labels.values[0]
    if isinstance(first, bytes):
        raise LabelError(f"The labels are bytes, such as {first!r}. Write them as text.", domain="categorical")


def _read_numbers(labels: _Labels) -> Domain | None:
    """Read numbers with a unit, which measure something, and others as plain numbers are read."""
    if not all(any(map(str.isdigit, text)) for text in labels.texts[:_FIRST]):
        return None
    form = find_number_form(labels.texts)
    if form is None:
        return None
    domain = _make("real", form=str(form))
    if form.unit:
        return domain

    def convert() -> tuple[Column, Codes]:
        assert labels.sample is not None
        column, tasks = labels.sample()
        codes, numbers = column.parsed(form.parse, form.parse_texts)
        return Column("label", pa.array(numbers).take(pa.array(codes))), tasks

    numbers = pc.drop_null(form.read(labels.column.factors[1].data))
    whole = pc.round(numbers)
    numbers = whole.cast(pa.int64()) if len(numbers) and pc.all(pc.equal(whole, numbers)).as_py() else numbers
    guessed = guess_numbers(Column("label", numbers), labels.answers, labels.sample and convert)
    return domain if guessed.name == "real" else DOMAINS["categorical"]()


def _read_dates(labels: _Labels) -> Domain | None:
    """Read dates in the form in which all of them are days that there are; ask if there are two such forms."""
    texts = labels.texts
    forms = list(_find_date_forms(texts, DATE_FORMS))
    if not forms:  # years of two digits: there are fewer different years than days of a month
        days = _find_date_forms(texts, SHORT_DATE_FORMS)
        years = {form: len({day[:4] for day in read}) for form, read in days.items()}
        fewest = [form for form, number in years.items() if number == min(years.values())]
        forms = fewest if len(fewest) == 1 else []
    if len(forms) > 1:
        raise LabelError(
            f"Dates such as {texts[0]!r} can be read in two ways, and no label tells which: the last day of 2024 is"
            f" written as {forms[0]}, or as {forms[1]}.",
            proposals=[Proposal({"domain": spell_domain(_make("date", form=form))}) for form in forms],
        )
    if forms:
        return _take_dates(labels, _make("date", form=forms[0]))
    if all(map(_DAY.fullmatch, texts)):
        odd = [next((text for text in texts if not _are_dates([text], form)), texts[0]) for form in DATE_FORMS[:2]]
        raise LabelError(
            "The labels look like dates, but no order of day and month fits all of them: not"
            f" {odd[0]!r} and {odd[1]!r}. Write them alike. If they are right or wrong, and not near or far, say"
            " domain='categorical'."
        )
    return None


def _take_dates(labels: _Labels, domain: Domain) -> Domain:
    """Take dates that hardly recur for moments, which are near or far; others may be right or wrong."""
    n_values = labels.column.n_distinct()
    if n_values > labels.answers / 2:
        return domain
    raise LabelError(
        f"The labels are dates that recur, {n_values:,} different ones in {labels.answers:,} answers. If one that is"
        " near is better than one that is far, they are date; if they are right or wrong, categorical.",
        proposals=_or_classes(domain),
    )


def _find_date_forms(texts: Sequence[str], forms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the forms in which all texts are days that there are, with these days; each reading once."""
    fitting = [form for form in forms if _are_dates(texts[:_FIRST], form)]
    read = {tuple(read_date(text, form) for text in texts): form for form in reversed(fitting)}
    return {form: days for days, form in reversed(read.items()) if all(map(is_moment, days))}


def _are_dates(texts: Sequence[str], form: str) -> bool:
    found = (read_date(text, form) for text in texts)
    return all(iso != text and is_moment(iso) for iso, text in zip(found, texts, strict=True))


def _refuse_times(labels: _Labels) -> None:
    """Stop at times of day: they tell when somebody answered, or are numbers on a circle."""
    if all(map(_TIME.fullmatch, labels.texts)):
        raise LabelError(
            f"The labels are times of day, such as {labels.texts[0]!r}. Take another column as the label; or if they"
            " are the answers, write them as hours, 23:50 as 23.83, and say domain='circular(period=24)'. If they are"
            " right or wrong, and not near or far, say domain='categorical'."
        )


def _read_alignments(labels: _Labels) -> Domain | None:
    """Read lists of pairs of places, such as ``0-0 1-6``, by which words are aligned."""
    several = any(" " in text for text in labels.texts) and all(map(_PAIRS.fullmatch, labels.texts))
    return _make("set", separator=" ") if several else None


def _read_items(labels: _Labels) -> Domain | None:
    """Read items with something between them: rankings if each has all items of its task, sets if items combine."""
    texts = labels.texts
    separator = next((mark for mark in _SEPARATORS if any(mark in text for text in texts)), None)
    if separator is None or any(map(_LISTED.search, texts[:_FIRST])):
        return None
    lists = [split_items(text, separator) for text in texts]
    if not all(map(_are_items, lists)) or any(map(_THOUSANDS.search, texts)):
        return None
    several = [items for items in lists if len(items) > 1]
    if len(several) == len(lists) > len({frozenset(items) for items in lists}):
        ranking = _make("ranking", separator=separator)
        if all(_order_the_same(*part, ranking) for part in labels.parts):
            return ranking
    often = Counter(item for items in lists for item in items)
    again = sum(often[item] > 1 for items in several for item in items)
    combine = len(often) <= len(lists) and again >= _MIN_AGAIN * sum(map(len, several))
    few, sets = len(several) < _MIN_SEVERAL * len(lists), _make("set", separator=separator)
    if combine and not few and not _have_places(lists):
        return sets
    if [combine, not few, separator != ","].count(False) > 1:  # most commas belong to texts
        return None
    example = next(text for text in texts if separator in text)
    raise LabelError(
        f"Labels such as {example!r} may be sets of items, of which each can be right or wrong, or classes with"
        f" {separator!r} in their names (categorical).",
        proposals=_or_classes(sets),
    )


def _are_items(items: Sequence[str]) -> bool:
    """Return whether the pieces of a text may be items: different ones, and short."""
    short = all(len(item) <= _MAX_ITEM_CHARACTERS and len(item.split()) <= _MAX_ITEM_WORDS for item in items)
    return bool(items) and short and len(set(items)) == len(items)


def _have_places(lists: Sequence[Sequence[str]]) -> bool:
    """Return whether all lists are equally long, and each item has its place, as in ``red, small``."""
    places = {(place, item) for items in lists for place, item in enumerate(items)}
    return len({len(items) for items in lists}) == 1 and len(places) == len({item for _, item in places})


def _order_the_same(labels: Column, tasks: Codes, ranking: Any) -> bool:
    """Return whether the labels of each task order the same items."""
    try:
        codes, orders = ranking.read(labels)
    except LabelError:
        return False
    items: dict[int, frozenset[object]] = {}
    ordered = ((task, frozenset(orders[code])) for code, task in zip(codes, tasks, strict=True))
    return all(items.setdefault(task, own) == own for task, own in ordered)


def _read_scales(labels: _Labels) -> Domain | None:
    """Read words that all are levels of one scale; what stands beside a scale and means nothing is asked about."""
    if len(labels.texts) > _MAX_LEVELS:
        return None
    if (levels := find_scale(labels.texts)) is not None:
        return _make("ordinal", levels=levels)
    beside = [text for text in labels.texts if text.strip().casefold() in NO_OPINION]
    rest = [text for text in labels.texts if text not in beside]
    if beside and find_scale(rest) is not None:
        raise LabelError(
            f"The labels are levels of a scale, such as {rest[0]!r}, but {beside[0]!r} is none. If it means that there"
            " is no answer, leave it out; or say that they are classes: domain='categorical'.",
            abstain=beside[0] if len(beside) == 1 else tuple(beside),
        )
    return None


def _read_words(labels: _Labels) -> Domain | None:
    """Read labels of which one is a word, so that they are no dates, lists, or tags of tokens, of which one is O."""
    return _guess_words(labels) if any(len(text) > 1 and text.isalpha() for text in labels.values) else None


def _read_written_objects(labels: _Labels) -> Domain | None:
    """Read lists of objects in JSON, or tags with space between them."""
    texts = labels.values
    if all(text.lstrip().startswith("[") for text in texts[:MAX_CLASSES]):
        try:
            return _find_objects([json_list(text) for text in texts])
        except ValueError:
            return None
    tags = [text.split() for text in texts] if are_tags(texts[0].split()) else []
    several = any(len(each) > 1 for each in tags)
    return DOMAINS["spans"]() if several and all(map(are_tags, tags)) and any("-" in text for text in texts) else None


# Objects of Python


def _read_moments(labels: _Labels) -> Domain | None:
    """Read dates and times by their type, or as ISO 8601 writes them."""
    if labels.column.kind == "text":
        dates = all(map(is_moment, labels.values))
    elif isinstance(labels.column.data, list):
        dates = all(isinstance(value, date) for value in labels.column.data)
    else:
        dates = pa.types.is_date(labels.column.data.type) or pa.types.is_timestamp(labels.column.data.type)
    return _take_dates(labels, DOMAINS["date"]()) if dates else None


_TYPES: dict[str, Callable[[Any], bool]] = {
    "set": lambda value: isinstance(value, set | frozenset),
    "bitmap": _is_mask,
    "vector": lambda value: isinstance(value, np.ndarray) and value.ndim == 1,
}
_ITEMS: dict[str, Callable[[Any], bool]] = {
    "boxes": is_box,
    "spans": lambda item: is_span(item) or (_has_ends(item, int) and 0 <= item[0] < item[1]),
    "points": is_point,
}


def _has_ends(item: Any, kind: Any) -> bool:
    """Return whether something is a list [start, end, tag]."""
    if not isinstance(item, list | tuple) or len(item) != 3:
        return False
    return all(isinstance(end, kind) for end in item[:2]) and (item[2] is None or isinstance(item[2], str))


def _read_objects(labels: _Labels) -> Domain | None:
    """Read objects whose type says what they are, and lists of boxes, spans or points; refuse other regions."""
    values = labels.column.data
    typed = next((DOMAINS[name]() for name, test in _TYPES.items() if all(map(test, values))), None)
    found = typed or _find_objects(values)
    if found is not None or not all(isinstance(value, list) for value in values):
        return found
    items = [item for value in values for item in value]
    if items and all(_has_ends(item, int | float) for item in items):
        raise LabelError(
            f"{labels.where}: spans such as {items[0]} need whole numbers: write milliseconds, not seconds."
        )
    if items and all(isinstance(item, dict) or _has_ends(item, int | float) for item in items):
        raise LabelError(
            f"{labels.where}: the labels are regions or objects that are not weighed, such as {str(items[0])[:60]}."
            " Compare them by a distance of your own (domain 'custom' in Python), or read another question of the file."
        )
    return None


def _find_objects(values: Any) -> Domain | None:
    """Return the domain of labels that all are lists of the same kind of object, or of tags of tokens."""
    if not all(isinstance(value, list) for value in values):
        return None
    items = [item for value in values for item in value]
    if are_tags(items):
        return DOMAINS["spans"]() if any("-" in tag for tag in items) else None
    return next((DOMAINS[name]() for name, test in _ITEMS.items() if items and all(map(test, items))), None)


def _read_orders(labels: _Labels) -> Domain | None:
    """Read lists, and texts that look like lists or orders, as rankings; ask where they do not order the same items."""
    text = labels.column.kind == "text"
    if text:
        lists = all(">" in value[1:-1] or value.lstrip().startswith("[") for value in labels.values)
    else:
        lists = all(isinstance(value, list | tuple) for value in labels.column.data)
    if not lists:
        return None
    ranking = DOMAINS["ranking"]()
    if all(_order_the_same(*part, ranking) for part in labels.parts):
        return ranking
    if text and labels.column.n_distinct() <= MAX_CLASSES and labels.column.n_distinct() < labels.answers:
        return DOMAINS["categorical"]()
    orders = text and all(">" in value for value in labels.values)
    raise LabelError(
        "The labels look like lists or orders, but those of a task do not order the same items. They may be ranking,"
        " set, interval, boxes, spans, points, vector, probability or bitmap; rankings have gaps if some workers left"
        " items out.",
        domain="ranking" if orders else "set",
    )


_Recogniser = Callable[[_Labels], Domain | None]
_TEXTS: tuple[_Recogniser, ...] = (
    _refuse_bytes,
    _read_numbers,  # 46%  $11.45  45,511  45.5 kg  <46
    _read_dates,  # 31/01/2024  Jan 31, 2024
    _refuse_times,  # 23:50
    _read_alignments,  # 0-0 1-6
    _read_items,  # a;b  a, b
    _read_scales,  # Strongly disagree ... Strongly agree
    _read_words,
    _read_moments,  # 2024-01-31
    _read_written_objects,  # [[0, 4, "PER"]]  O B-PER
    _read_orders,  # a>b>c
)
_OBJECTS: tuple[_Recogniser, ...] = (_read_moments, _read_objects, _read_orders)


# Words: classes, or texts


def _guess_words(labels: _Labels) -> Domain:
    """Take labels that recur for classes and long ones for texts; ask about others."""
    values, answers = labels.column.factors[1], labels.answers
    odd = labels.column.text_among_numbers() if labels.column.text else None
    if odd is not None:
        texts = [value for value in labels.values if not reads_as_number(value)]
        few = len(texts) <= max(1, _MOST_TEXTS * len(values))
        proposals = [Proposal({"abstain": texts[0] if len(texts) == 1 else tuple(texts)})] if few else []
        raise LabelError(
            f"Most different labels are numbers, but that in row {odd[0]} is {odd[1]!r}. Correct it, or leave it out if"
            " it means that there is no answer. If the labels are right or wrong, and not near or far, they are classes"
            " (categorical).",
            proposals=[*proposals, *([Proposal({"domain": "categorical"})] if labels.recur else [])],
        )
    if labels.recur:
        return DOMAINS["categorical"]()
    example = f"{str(values[0])[:60]!r}"
    if answers == 1:
        raise ColumnError(
            f"There is one answer only, {example}, with which nothing can be compared. Give answers by several workers"
            " to the same tasks.",
            lines=EXAMPLE,
        )
    texts = [value for value in labels.values if isinstance(value, str)]
    if len(texts) == len(values) and np.mean([len(text.split()) for text in texts]) >= _MIN_TEXT_WORDS:
        _ask_extraction(texts)
        return DOMAINS["text"]()
    if answers >= _MANY_ANSWERS and len(values) > _MOST_DIFFERENT * answers:
        raise ColumnError(
            f"Labels hardly recur: {answers:,} answers have {len(values):,} different ones, such as {example}, as ids"
            " are. Take another column as the label; if they are texts, say domain='text'."
        )
    raise LabelError(
        f"It is unclear what kind of labels these are: {count(len(values), 'different one')} in"
        f" {count(answers, 'answer')}, such as {example}. They may be classes (categorical), texts (text), or of"
        " another kind that allalike.DOMAINS lists.",
        proposals=[Proposal({"domain": name}) for name in ("categorical", "text")],
    )


def _ask_extraction(texts: Sequence[str]) -> None:
    """Ask whether long texts shall be read by the number or the letter in which they end, if most of them do."""
    texts = texts[:: -(-len(texts) // _MOST_LONG)]
    if sum(len(text.split()) for text in texts) < _LONG_WORDS * len(texts):
        return
    for what, (pattern, ways) in _ENDS.items():
        tails = [pattern.search(text.rstrip()[-_MAX_ITEM_CHARACTERS:]) for text in texts]
        ends = [(text, match_key(end[1])) for text, end in zip(texts, tails, strict=True) if end is not None]
        if len(ends) < (1 - _MOST_WITHOUT) * len(texts):
            continue
        for way in ways:  # of which the last fits always
            extract = find_extractor(way)
            if sum(match_key(extract(text)) == end for text, end in ends) >= (1 - _MOST_WITHOUT) * len(ends):
                break
        raise LabelError(
            f"The labels are long texts, of which {len(ends):,} of {len(texts):,} end in a {what}, such as"
            f" '... {' '.join(ends[0][0].split()[-3:])}'. If that is the answer, it can be extracted; else they are"
            " text.",
            domain=f"categorical(extract={way})" if way.isalpha() else f'categorical(extract="{way}")',
        )
