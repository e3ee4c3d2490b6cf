"""Inference of the label type, with an error that asks if labels can be read in two ways.

Texts and objects are passed to a list of recognisers (`_TEXTS`, `_OBJECTS`). The first one that recognises the labels
returns their domain with its options, or asks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import reads_as_number
from allalike._core.extraction import find_extractor
from allalike._core.lazy_imports import late_pattern, pa, pc
from allalike._core.system.json_text import parse_json
from allalike._core.text_format import count
from allalike.domains import DOMAINS, Domain
from allalike.domains.contract import spell_domain
from allalike.domains.moments import is_moment
from allalike.domains.objects.keys import are_tags, is_box, is_point, is_span
from allalike.domains.spelling import match_key, read_json, split_items
from allalike.domains.written_labels import DATE_FORMS, SHORT_DATE_FORMS, read_date
from allalike.errors import ColumnError, LabelError, Proposal
from allalike.readers.column_names import EXAMPLE
from allalike.readers.inference.numbers import MAX_CLASSES, OR_CLASSES, SAMPLE_ROWS, find_number_form, guess_numbers
from allalike.readers.rating_scales import NO_OPINION, find_scale

if TYPE_CHECKING:
    from allalike._core.columns.factors import Codes
    from allalike.answers.answers import Sample

_FIRST, _MAX_TEXTS = 20, 10_000  # distinct labels that can rule out a type, and that decide
_MAX_LEVELS = 12
_MAX_ODD = 0.1  # share of the distinct labels, or one label, that may mean "no answer" among numbers
_MIN_ANSWERS, _MAX_DISTINCT = 12, 0.9  # number of answers, and share of distinct labels above which they are ids
_MIN_TEXT_WORDS = 3  # minimum mean number of words for labels that do not recur to be texts
_SEPARATORS = (";", "|", ",")
_MAX_ITEM_WORDS, _MAX_ITEM_CHARACTERS = 4, 40
_MIN_SEVERAL = 0.2  # share of the distinct labels with at least two items, if they are sets
_MIN_AGAIN = 0.8  # share of these items that also occur in other labels
_FEWEST_DIGITS = 4  # of a date, such as 1/2/24
_DAY = late_pattern(r"\d{1,2}([/.-])\d{1,2}\1\d{4}")
_TIME = late_pattern(r"\s*(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:\s*[ap]\.?m\.?)?\s*", re.IGNORECASE)
_THOUSANDS = late_pattern(r"(?<![\d,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_ALIGNMENT = late_pattern(r"\d+[-:]\d+(?: \d+[-:]\d+)*")
_LISTED = late_pattern(r"[>\[{]")  # does not occur in plain lists of items
_MAX_LONG, _LONG_WORDS, _MAX_WITHOUT = 1000, 8, 0.1  # long texts: sample size, mean words, share without an answer
_ENDS = {
    "letter": (late_pattern(r"(?:^|[\s:(\[{*\"'])([A-Z])[)\]}*.\"'\s]*$"), ("choice", r"([A-Z])\W*$")),
    "number": (
        late_pattern(r"(?:^|[\s:=(\[{*#$€£])([-+]?\d(?:[\d.,]*\d)?)[%)\]}*.$\s]*$"),
        ("number", r"([-+]?\d(?:[\d.,]*\d)?)\W*$"),
    ),
}  # endings of long texts, and extractors for them


@dataclass(frozen=True)
class _Labels:
    """Labels of unknown type: a column, its parts with the index of the task per row, and the number of answers."""

    column: Column
    parts: Iterable[tuple[Column, Codes]]
    answers: int
    sample: Sample | None = None
    where: str = "The table"

    @cached_property
    def values(self) -> list[Any]:
        """All distinct values of a column of texts."""
        return self.column.factors[1].tolist()

    @cached_property
    def texts(self) -> list[str]:
        """The distinct texts, or a sample if there are very many."""
        return self.values[:: -(-len(self.values) // _MAX_TEXTS) or 1]

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
    """Return the domain of labels, or raise an error that asks for it.

    >>> def guess(*labels):
    ...     column = Column.of_objects("label", list(labels))
    ...     return spell_domain(guess_domain(column, [(column, np.zeros(len(labels), np.int32))], len(labels)))
    >>> guess(1, 2, 1), guess(1.5, 2.0), guess("a>b", "b>a"), guess({1}, {2}), guess("45.5 kg", "46 kg")
    ('categorical', 'real', 'ranking', 'set', 'real(form="1234.5 kg")')
    >>> guess([{"bbox": [0, 0, 2, 1]}], []), guess([[0, 4, "PER"]], []), guess(["O", "B-PER"], [])
    ('boxes', 'spans', 'spans')
    >>> guess("x17", "x18")
    Traceback (most recent call last):
    allalike.errors.LabelError: The label type is unclear: 2 different labels in 2 answers, such as 'x17'. They may be
    classes (categorical), texts (text), or another type of allalike.DOMAINS. ...
    """
    unknown = _Labels(labels, parts, answers, sample, where)
    if opened is not None or _are_records(unknown):
        return _guess_fields(opened or DOMAINS["record"](), unknown)
    if labels.kind in ("whole", "number") or (labels.kind == "text" and labels.looks_numeric()):
        return guess_numbers(labels, answers, sample)
    if labels.kind == "truth value":
        return _make("categorical")
    for recognise in _TEXTS if labels.kind == "text" else _OBJECTS:
        if (domain := recognise(unknown)) is not None:
            return domain
    return _read_classes_or_texts(unknown)


def _make(name: str, **options: Any) -> Domain:
    domain: Domain = DOMAINS[name](**options)
    return domain


def _propose(*domains: Domain | str) -> list[Proposal]:
    return [Proposal({"domain": each if isinstance(each, str) else spell_domain(each)}) for each in domains]


# Records


def _are_records(labels: _Labels) -> bool:
    """Return whether all labels are mappings that are not masks, or strings that are JSON objects."""
    text = labels.column.kind == "text"
    if labels.column.kind != "object" and not (text and all(_begins(value, "{") for value in labels.values)):
        return False
    try:
        values = map(parse_json, labels.values) if text else labels.column.data
        return all(isinstance(value, Mapping) and not _is_mask(value) for value in values)
    except json.JSONDecodeError:
        return False


def _begins(value: Any, mark: str) -> bool:
    return isinstance(value, str) and value.lstrip().startswith(mark)


def _is_mask(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 2 or (value.ndim == 3 and value.dtype == np.bool_)
    if isinstance(value, dict):
        return {"size", "counts"} <= value.keys()
    from allalike._core.masks import Mask, MaskFile

    return isinstance(value, MaskFile | Mask)


def _guess_fields(domain: Domain, labels: _Labels) -> Domain:
    """Infer the unspecified parts of a domain, treating each field as if it were the label."""
    values: list[Any] = []
    tasks: list[Any] = []
    n_tasks = 0
    for column, numbers in labels.parts or [(labels.column, np.arange(len(labels.column), dtype=np.int32))]:
        codes, distinct = column.parsed(lambda value: value)
        values += [distinct[code] for code in codes]
        tasks.append(numbers + np.int32(n_tasks))
        n_tasks += int(numbers.max(initial=-1)) + 1
        if len(values) >= SAMPLE_ROWS:
            break
    task = np.concatenate(tasks)

    def guess(column: Column, rows: Codes) -> Domain:
        return guess_domain(column, [(column, task[rows])], len(rows), lambda: (column, task[rows]))

    closed: Domain = domain.record.close(Column("label", values, text=labels.column.text), guess)
    return closed


# Numbers, dates and times


def _read_patterns(labels: _Labels) -> Domain | None:
    """Raise an error for bytes and times of day; read word alignments, such as ``0-0 1-6``, as sets."""
    first, texts = labels.values[0], labels.texts
    if isinstance(first, bytes):
        raise LabelError(f"The labels are bytes, such as {first!r}. Write them as text.", domain="categorical")
    if all(map(_TIME.fullmatch, texts)):
        raise LabelError(
            f"The labels are times of day, such as {first!r}. Choose another column, or write them as hours (23:50 as"
            f" 23.83) and use domain='circular(period=24)'. {OR_CLASSES}"
        )
    several = any(" " in text for text in texts) and all(map(_ALIGNMENT.fullmatch, texts))
    return _make("set", separator=" ") if several else None


def _read_numbers(labels: _Labels) -> Domain | None:
    """Read numbers with a unit as measurements, and other formatted numbers like plain ones."""
    if not all(any(map(str.isdigit, text)) for text in labels.texts[:_FIRST]):
        return None
    form = find_number_form(labels.texts)
    if form is None:
        return None
    if form.unit:
        return _make("real", form=str(form))

    def convert() -> tuple[Column, Codes]:
        assert labels.sample is not None
        column, tasks = labels.sample()
        codes, numbers = column.parsed(form.parse, form.parse_texts)
        return Column("label", pa.array(numbers).take(pa.array(codes))), tasks

    numbers = pc.drop_null(form.read(labels.column.factors[1].data))
    whole = pc.round(numbers)
    numbers = whole.cast(pa.int64()) if len(numbers) and pc.all(pc.equal(whole, numbers)).as_py() else numbers
    guessed = guess_numbers(Column("label", numbers), labels.answers, labels.sample and convert)
    return _make("real", form=str(form)) if guessed.name == "real" else _make("categorical")


def _read_dates(labels: _Labels) -> Domain | None:
    """Read dates in the format in which all are valid; ask if there are two such formats."""
    texts = labels.texts
    if sum(map(str.isdigit, texts[0])) < _FEWEST_DIGITS:
        return None
    forms = list(_find_date_forms(texts, DATE_FORMS))
    if not forms:  # with years of two digits: there are fewer different years than days of a month
        days = _find_date_forms(texts, SHORT_DATE_FORMS)
        years = {form: len({day[:4] for day in read}) for form, read in days.items()}
        fewest = [form for form, number in years.items() if number == min(years.values())]
        forms = fewest if len(fewest) == 1 else []
    if len(forms) == 1:
        return _take_dates(labels, _make("date", form=forms[0]))
    if forms:
        raise LabelError(
            f"Dates such as {texts[0]!r} are ambiguous: the last day of 2024 may be written as {forms[0]} or as"
            f" {forms[1]}, and all labels fit both formats.",
            proposals=_propose(*(_make("date", form=form) for form in forms)),
        )
    if all(map(_DAY.fullmatch, texts)):
        raise LabelError(
            f"The labels look like dates, such as {texts[0]!r}, but no order of day and month fits all of them. Write"
            f" all in one format. {OR_CLASSES}"
        )
    return None


def _find_date_forms(texts: Sequence[str], forms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the formats in which all texts are valid dates, with these dates; of equivalent formats, only one."""
    fitting = [form for form in forms if _are_dates(texts[:_FIRST], form)]
    read = {tuple(read_date(text, form) for text in texts): form for form in reversed(fitting)}
    return {form: days for days, form in reversed(read.items()) if all(map(is_moment, days))}


def _are_dates(texts: Sequence[str], form: str) -> bool:
    days = (read_date(text, form) for text in texts)
    return all(day != text and is_moment(day) for day, text in zip(days, texts, strict=True))


def _read_moments(labels: _Labels) -> Domain | None:
    """Read dates and times of Arrow or Python, or in ISO 8601."""
    data = labels.values if labels.column.kind == "text" else labels.column.data
    if isinstance(data, list):
        dates = all(is_moment(value) if isinstance(value, str) else isinstance(value, date) for value in data)
    else:
        dates = pa.types.is_date(data.type) or pa.types.is_timestamp(data.type)
    return _take_dates(labels, _make("date")) if dates else None


def _take_dates(labels: _Labels, domain: Domain) -> Domain:
    """Return dates for labels that rarely recur; ask about others."""
    n_values = labels.column.n_distinct()
    if n_values > labels.answers / 2:
        return domain
    raise LabelError(
        f"The labels are dates that recur: {n_values:,} different ones in {labels.answers:,} answers. If a close date"
        " is better than a distant one, use date. If a date is either correct or wrong, use categorical.",
        proposals=_propose(domain, "categorical"),
    )


# Items, levels and objects


def _read_items(labels: _Labels) -> Domain | None:
    """Read items with a separator: rankings if each label has all items of its task, sets if items combine freely."""
    texts = labels.texts
    separator = next((mark for mark in _SEPARATORS if any(mark in text for text in texts)), "")
    if not separator or any(map(_LISTED.search, texts[:_FIRST])) or any(map(_THOUSANDS.search, texts)):
        return None
    lists = [split_items(text, separator) for text in texts]
    items = [item for listed in lists for item in listed]
    if any(len(item) > _MAX_ITEM_CHARACTERS or len(item.split()) > _MAX_ITEM_WORDS for item in items):
        return None
    if not all(items and len({*items}) == len(items) for items in lists):
        return None
    several = [items for items in lists if len(items) > 1]
    if len(several) == len(lists) > len({frozenset(items) for items in lists}):
        ranking = _make("ranking", separator=separator)
        if _order_the_same(labels, ranking):
            return ranking
    sets, often = _make("set", separator=separator), Counter(items)
    again = sum(often[item] > 1 for items in several for item in items)
    combine = len(often) <= len(lists) and again >= _MIN_AGAIN * sum(map(len, several))
    few = len(several) < _MIN_SEVERAL * len(lists)
    places = {(place, item) for items in lists for place, item in enumerate(items)}
    placed = len({len(items) for items in lists}) == 1 and len(places) == len(often)  # as in "red, small"
    if combine and not few and not placed:
        return sets
    if [combine, not few, separator != ","].count(False) > 1:  # most commas belong to texts
        return None
    example = next(text for text in texts if separator in text)
    raise LabelError(
        f"Labels such as {example!r} may be sets, in which each item is correct or wrong, or classes with"
        f" {separator!r} in their names (categorical).",
        proposals=_propose(sets, "categorical"),
    )


def _order_the_same(labels: _Labels, ranking: Any) -> bool:
    """Return whether the labels of each task order the same items."""
    for column, tasks in labels.parts:
        try:
            codes, orders = column.parsed(ranking._parse)
        except LabelError:
            return False
        items: dict[int, frozenset[object]] = {}
        for code, task in zip(codes, tasks, strict=True):
            if items.setdefault(task, frozenset(orders[code])) != frozenset(orders[code]):
                return False
    return True


def _read_scales(labels: _Labels) -> Domain | None:
    """Read words that are levels of one scale; ask about words for "no opinion" among them."""
    if len(labels.texts) > _MAX_LEVELS:
        return None
    if (levels := find_scale(labels.texts)) is not None:
        return _make("ordinal", levels=levels)
    beside = [text for text in labels.texts if text.strip().casefold() in NO_OPINION]
    rest = [text for text in labels.texts if text not in beside]
    if beside and find_scale(rest) is not None:
        raise LabelError(
            f"The labels are levels of a scale, such as {rest[0]!r}, but {beside[0]!r} is not. If it means 'no answer',"
            " exclude it. If all are classes, use domain='categorical'.",
            abstain_label=beside[0] if len(beside) == 1 else tuple(beside),
        )
    return None


def _read_written_objects(labels: _Labels) -> Domain | None:
    """Read lists of objects in JSON, or tags of tokens separated by blanks."""
    texts = labels.values
    if all(_begins(text, "[") for text in texts[:MAX_CLASSES]):
        try:
            return _find_objects([read_json(text, list) for text in texts])
        except ValueError:
            return None
    tags = [text.split() for text in texts] if are_tags(texts[0].split()) else []
    several = any(len(each) > 1 for each in tags)
    return _make("spans") if several and all(map(are_tags, tags)) and any("-" in text for text in texts) else None


def _has_ends(item: Any, kind: Any) -> bool:
    """Return whether an item is a list [start, end, tag]."""
    if not isinstance(item, list | tuple) or len(item) != 3:
        return False
    return all(isinstance(end, kind) for end in item[:2]) and (item[2] is None or isinstance(item[2], str))


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


def _read_objects(labels: _Labels) -> Domain | None:
    """Read objects by type, and lists of boxes, spans or points; raise an error for other regions."""
    values = labels.column.data
    name = next((name for name, test in _TYPES.items() if all(map(test, values))), "")
    if name or not all(isinstance(value, list) for value in values):
        return _make(name) if name else None
    items = [item for value in values for item in value]
    regions = [item for item in items if isinstance(item, dict) or _has_ends(item, int | float)]
    if (domain := _find_objects(values)) is not None or not items or len(regions) < len(items):
        return domain
    raise LabelError(
        f"{labels.where}: no label type fits these regions or objects, such as {str(items[0])[:60]}. Spans need whole"
        " numbers, such as milliseconds. Compare others by your own distance (domain 'custom' in Python), or read"
        " another question of the file."
    )


def _find_objects(values: Any) -> Domain | None:
    """Return the domain of lists that contain the same type of object, or tags of tokens."""
    items = [item for value in values for item in value]
    if are_tags(items):
        return _make("spans") if any("-" in tag for tag in items) else None
    return next((_make(name) for name, test in _ITEMS.items() if items and all(map(test, items))), None)


def _read_orders(labels: _Labels) -> Domain | None:
    """Read lists, and texts such as ``a>b`` or ``["a", "b"]``, as rankings; ask if they do not order the same items."""
    text = labels.column.kind == "text"
    values = labels.values if text else labels.column.data
    if not all(">" in each[1:-1] or _begins(each, "[") if text else isinstance(each, list | tuple) for each in values):
        return None
    ranking = _make("ranking")
    if _order_the_same(labels, ranking):
        return ranking
    if text and labels.column.n_distinct() <= min(MAX_CLASSES, labels.answers - 1):
        return _make("categorical")
    orders = text and all(">" in value for value in values)
    raise LabelError(
        "The labels look like lists or rankings, but answers to the same task have different items. The label type may"
        " be ranking (if workers may omit items), set, interval, boxes, spans, points, vector, probability or bitmap.",
        domain="ranking" if orders else "set",
    )


# Classes and texts


def _read_classes_or_texts(labels: _Labels) -> Domain:
    """Return classes for labels that recur and texts for long ones; ask about others."""
    values, answers, example = labels.values, labels.answers, f"{str(labels.column.factors[1][0])[:60]!r}"
    if labels.column.text and (odd := labels.column.text_among_numbers()) is not None:
        texts = [value for value in values if not reads_as_number(value)]
        few = len(texts) <= max(1, _MAX_ODD * len(values))
        ways = [Proposal({"abstain_label": texts[0] if len(texts) == 1 else tuple(texts)})] if few else []
        raise LabelError(
            f"Most different labels are numbers, but the label in row {odd[0]} is {odd[1]!r}. Correct it, or exclude it"
            " if it means 'no answer'. If labels are either correct or wrong, they are classes (categorical).",
            proposals=[*ways, *(_propose("categorical") if labels.recur else [])],
        )
    if labels.recur:
        return _make("categorical")
    if answers == 1:
        raise ColumnError(
            f"There is only one answer, {example}, which cannot be compared. Add answers by several workers to the same"
            " tasks.",
            lines=EXAMPLE,
        )
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values) and np.mean([len(text.split()) for text in texts]) >= _MIN_TEXT_WORDS:
        _ask_extraction(texts)
        return _make("text")
    if answers >= _MIN_ANSWERS and len(values) > _MAX_DISTINCT * answers:
        raise ColumnError(
            f"The labels look like ids: {answers:,} answers have {len(values):,} different ones, such as {example}."
            " Choose another column as the label. If they are texts, use domain='text'."
        )
    raise LabelError(
        f"The label type is unclear: {count(len(values), 'different label')} in {count(answers, 'answer')}, such as"
        f" {example}. They may be classes (categorical), texts (text), or another type of allalike.DOMAINS.",
        proposals=_propose("categorical", "text"),
    )


def _ask_extraction(texts: Sequence[str]) -> None:
    """Ask whether to extract the number or letter at the end of long texts, if most of them have one."""
    texts = texts[:: -(-len(texts) // _MAX_LONG)]
    if sum(len(text.split()) for text in texts) < _LONG_WORDS * len(texts):
        return
    for what, (pattern, ways) in _ENDS.items():
        tails = [pattern.search(text.rstrip()[-_MAX_ITEM_CHARACTERS:]) for text in texts]
        ends = [(text, match_key(end[1])) for text, end in zip(texts, tails, strict=True) if end is not None]
        if len(ends) < (1 - _MAX_WITHOUT) * len(texts):
            continue
        for way in ways:  # the last always fits
            extract = find_extractor(way)
            if sum(match_key(extract(text)) == end for text, end in ends) >= (1 - _MAX_WITHOUT) * len(ends):
                break
        raise LabelError(
            f"The labels are long texts, and {len(ends):,} of {len(texts):,} end in a {what}, such as"
            f" '... {' '.join(ends[0][0].split()[-3:])}'. If it is the answer, extract it. Otherwise the label type is"
            " text.",
            domain=f"categorical(extract={way})" if way.isalpha() else f'categorical(extract="{way}")',
        )


_Recogniser = Callable[[_Labels], Domain | None]
_TEXTS: tuple[_Recogniser, ...] = (
    _read_patterns,  # 23:50  0-0 1-6
    _read_numbers,  # 46%  $11.45  45,511  45.5 kg  <46
    _read_dates,  # 31/01/2024  Jan 31, 2024
    _read_items,  # a;b  a, b
    _read_scales,  # Strongly disagree ... Strongly agree
    _read_moments,  # 2024-01-31
    _read_written_objects,  # [[0, 4, "PER"]]  O B-PER
    _read_orders,  # a>b>c
)
_OBJECTS: tuple[_Recogniser, ...] = (_read_moments, _read_objects, _read_orders)
