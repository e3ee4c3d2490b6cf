"""Kinds: which domain labels belong to, where that is clear."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import reads_as_number
from allalike._core.masks.files import MaskFile
from allalike._core.masks.packed import Mask
from allalike._core.system.json_text import parse_json
from allalike._core.words import count
from allalike.domains import DOMAINS, Domain
from allalike.domains.moments import is_moment
from allalike.domains.spelling import json_list
from allalike.domains.things.boxes import is_box
from allalike.domains.things.points import is_point
from allalike.domains.things.spans import are_tags, is_span
from allalike.errors import ColumnError, LabelError, Proposal
from allalike.readers.guessing.candidates import EXAMPLE
from allalike.readers.guessing.readings import (
    MAX_CLASSES,
    SAMPLE_ROWS,
    ask_extraction,
    guess_numbers,
    order_the_same,
    read_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike._core.columns.factors import Codes
    from allalike.answers.stream import Sample

_REGIONS = {"lines, or outlines without the size of their picture": {"points"}}
_MOST_TEXTS = 0.1  # of the different labels, or one, may mean that there is no answer, where the others are numbers
_MANY_ANSWERS, _MOST_DIFFERENT = 12, 0.9  # short labels of so many answers are ids if a larger share of them differ
_MIN_TEXT_WORDS = 3  # strings that do not repeat are texts if they have this many on average


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

    >>> from allalike._core.columns.column import Column
    >>> def guess(labels):
    ...     column = Column.of_objects("label", labels)
    ...     return guess_domain(column, [(column, np.zeros(len(labels), np.int32))], len(labels)).name
    >>> for labels in ([1, 2, 1], [1.5, 2.0], ["a>b", "b>a"], ["a long text", "another text here"], [{1}, {2}]):
    ...     print(guess(labels))
    categorical
    real
    ranking
    text
    set
    >>> guess([0.0, 1.0, 1.0, 0.0]), guess(["007", "007", "012"])
    ('categorical', 'categorical')
    >>> guess(["x17", "x18"])
    Traceback (most recent call last):
    allalike.errors.LabelError: It is unclear what kind of labels these are: 2 different ones in 2 answers, such as
    'x17'. They may be classes (categorical), texts (text), or of another kind that allalike.DOMAINS lists.
    Say it with one of these, the best first:
      domain='categorical'
      domain='text'
    """
    kind = labels.kind
    if opened is not None or _are_records(labels):
        return _guess_fields(opened or DOMAINS["record"](), labels, parts)
    if kind in ("whole", "number") or (kind == "text" and labels.looks_numeric()):
        return guess_numbers(labels, answers, sample)
    if kind == "truth value":
        return DOMAINS["categorical"]()
    if kind == "text" and (written := _guess_texts(labels, parts, answers, sample)) is not None:
        return written
    if _are_dates(labels):
        return _guess_dates(labels, answers)
    if kind == "object" and (clear := _by_type(labels.data) or _guess_objects(labels.data)) is not None:
        return clear
    if kind == "text" and (objects := _guess_written_objects(labels)) is not None:
        return objects
    if kind == "object" and (regions := _name_regions(labels.data)):
        raise LabelError(
            f"{where}: the labels are {regions}, which are not weighed. Compare them by a distance of your own"
            " (domain 'custom' in Python), or read another question of the file."
        )
    if _may_be_lists(labels):
        return _guess_lists(labels, parts, answers)
    return _guess_words(labels, answers)


def _are_records(labels: Column) -> bool:
    """Tell whether all labels are mappings that are no masks, or strings that are JSON objects."""
    if labels.kind == "object":
        return all(isinstance(value, Mapping) and not _is_mask(value) for value in labels.data)
    return labels.kind == "text" and all(map(_is_json_object, labels.factors[1].tolist()))


def _is_json_object(value: Any) -> bool:
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return False
    try:
        found = parse_json(value)
    except json.JSONDecodeError:
        return False
    return isinstance(found, dict) and not _is_mask(found)


def _guess_texts(
    labels: Column, parts: Iterable[tuple[Column, Codes]], answers: int, sample: Sample | None
) -> Domain | None:
    """Return the domain of texts that a reading knows, or of words; nothing if they may still be anything."""
    if (written := read_texts(labels, parts, answers, sample)) is not None:
        return written
    return _guess_words(labels, answers) if any(map(_is_word, labels.factors[1].tolist())) else None


def _is_word(value: Any) -> bool:
    """Tell whether a label is one word, so that labels are no dates, lists, or tags of tokens, of which one is O."""
    return isinstance(value, str) and len(value) > 1 and value.isalpha()


def _guess_fields(domain: Domain, labels: Column, parts: Iterable[tuple[Column, Codes]]) -> Domain:
    """Guess what is open of a domain, each field as if it were the label."""
    said: list[Any] = []
    tasks = [np.empty(0, np.int32)]
    for column, numbers in parts:
        tasks.append(numbers + np.int32(sum(int(part.max(initial=-1)) + 1 for part in tasks)))
        said += _listed(column)
        if len(said) >= SAMPLE_ROWS:
            break
    if not said:
        said, tasks = _listed(labels), [np.arange(len(labels), dtype=np.int32)]
    task = np.concatenate(tasks)

    def guess(column: Column, rows: Codes) -> Domain:
        return guess_domain(column, [(column, task[rows])], len(rows), lambda: (column, task[rows]))

    assert domain.record is not None
    return domain.record.close(Column("label", said, text=labels.text), guess)


def _listed(labels: Column) -> list[Any]:
    codes, values = labels.parsed(lambda value: value)
    return [values[code] for code in codes]


def _are_dates(labels: Column) -> bool:
    """Tell whether all labels are dates or times by their type, or texts of such."""
    import pyarrow as pa

    if labels.kind == "text":
        return all(map(is_moment, labels.factors[1].tolist()))
    if labels.kind != "object" or isinstance(labels.data, list):
        return labels.kind == "object" and all(isinstance(value, date) for value in labels.data)
    return bool(pa.types.is_date(labels.data.type) or pa.types.is_timestamp(labels.data.type))


def _guess_dates(labels: Column, answers: int) -> Domain:
    """Take dates that hardly recur for moments, which are near or far; others may be right or wrong."""
    different = labels.n_distinct()
    if different > answers / 2:
        return DOMAINS["date"]()
    raise LabelError(
        f"The labels are dates that recur, {different:,} different ones in {answers:,} answers. If one that is near is"
        " better than one that is far, they are date; if they are right or wrong, categorical.",
        domain="date",
    )


def _by_type(values: Any) -> Domain | None:
    """Recognise objects whose type says what they are."""
    tests: dict[str, Any] = {
        "set": lambda value: isinstance(value, set | frozenset),
        "bitmap": _is_mask,
        "vector": lambda value: isinstance(value, np.ndarray) and value.ndim == 1,
    }
    return next((DOMAINS[name]() for name, test in tests.items() if all(map(test, values))), None)


def _is_mask(value: Any) -> bool:
    if isinstance(value, dict):
        return {"size", "counts"} <= value.keys()
    return isinstance(value, MaskFile | Mask) or _is_picture(value)


def _is_picture(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (value.ndim == 2 or (value.ndim == 3 and value.dtype == np.bool_))


def _guess_objects(values: Any) -> Domain | None:
    """Return the domain of labels that all are lists of the same kind of object, or of tags of tokens.

    >>> _guess_objects([[{"bbox": [0, 0, 2, 1]}], []]).name, _guess_objects([[[0, 4, "PER"]], []]).name
    ('boxes', 'spans')
    >>> _guess_objects([["O", "B-PER"], []]).name, _guess_objects([[[0, 0, 2, 1]]]) is None
    ('spans', True)
    """
    if not all(isinstance(value, list) for value in values):
        return None
    things = [item for value in values for item in value]
    if are_tags(things):
        return DOMAINS["spans"]() if any("-" in tag for tag in things) else None
    tests: dict[str, Any] = {"boxes": is_box, "spans": _is_any_span, "points": is_point}
    return next((DOMAINS[name]() for name, test in tests.items() if things and all(map(test, things))), None)


def _is_any_span(item: Any) -> bool:
    """Tell whether something is a span, also as a list [start, end, tag]."""
    if is_span(item):
        return True
    if not isinstance(item, list | tuple) or len(item) != 3:
        return False
    start, end, tag = item
    tagged = tag is None or isinstance(tag, str)
    return tagged and all(isinstance(place, int) for place in (start, end)) and 0 <= start < end


def _guess_written_objects(labels: Column) -> Domain | None:
    """Return the domain of lists of objects in JSON, or of tags with space between them."""
    texts = labels.factors[1].tolist()
    if isinstance(texts[0], bytes):
        raise LabelError(f"The labels are bytes, such as {texts[0]!r}. Write them as text.", domain="categorical")
    if all(text.lstrip().startswith("[") for text in texts[:MAX_CLASSES]):
        try:
            return _guess_objects([json_list(text) for text in texts])
        except ValueError:
            return None
    tags = [text.split() for text in texts] if are_tags(texts[0].split()) else []
    several = any(len(each) > 1 for each in tags)
    return DOMAINS["spans"]() if several and all(map(are_tags, tags)) and any("-" in text for text in texts) else None


def _name_regions(values: Any) -> str:
    """Return what lists of regions are that are not weighed, such as polygons; nothing if they are something else.

    >>> _name_regions([[{"points": [[2, 1]]}], []]), _name_regions([["a", "b"]])
    ('lines, or outlines without the size of their picture', '')
    >>> _name_regions([[[0.5, 5, "bark"]]])
    'stretches that do not begin and end at whole numbers'
    """
    if not all(isinstance(value, list) for value in values):
        return ""
    items = [item for value in values for item in value]
    if items and all(isinstance(item, dict) for item in items):
        return next((name for name, keys in _REGIONS.items() if all(keys <= set(item) for item in items)), "objects")
    spans = bool(items) and all(isinstance(item, list | tuple) and len(item) == 3 for item in items)
    tagged = spans and all(item[2] is None or isinstance(item[2], str) for item in items)
    numbers = tagged and all(isinstance(end, int | float) for item in items for end in item[:2])
    return "stretches that do not begin and end at whole numbers" if numbers else ""


def _may_be_lists(labels: Column) -> bool:
    """Tell whether all labels are lists, or strings that look like lists or orders."""
    if labels.kind == "object":
        return all(isinstance(value, list | tuple) for value in labels.data)
    if labels.kind != "text":
        return False
    return all(">" in value[1:-1] or value.lstrip().startswith("[") for value in map(str, labels.factors[1].tolist()))


def _guess_lists(labels: Column, parts: Iterable[tuple[Column, Codes]], answers: int) -> Domain:
    ranking = DOMAINS["ranking"]()
    if all(order_the_same(*part, ranking) for part in parts):
        return ranking
    if labels.kind == "text" and labels.n_distinct() <= MAX_CLASSES and labels.n_distinct() < answers:
        return DOMAINS["categorical"]()
    if labels.kind == "text" and all(">" in str(value) for value in labels.factors[1].tolist()):
        raise LabelError(
            "The labels look like orders, but those of a task do not order the same items. If some workers left items"
            " out, they are rankings with gaps.",
            domain="ranking",
        )
    raise LabelError(
        "The labels look like lists, but those of a task do not order the same items. They may be ranking, set,"
        " interval, boxes, spans, points, vector, probability or bitmap.",
        domain="set",
    )


def _guess_words(labels: Column, answers: int) -> Domain:
    odd = labels.text_among_numbers() if labels.text else None
    values = labels.factors[1]
    recur = len(values) < answers and len(values) <= max(MAX_CLASSES, answers / 2)
    if odd is not None:
        classes = " Or say that they are classes (categorical)." if recur else ""
        raise LabelError(
            f"Most different labels are numbers, but that in row {odd[0]} is {odd[1]!r}. Correct it, or leave it out if"
            f" it means that there is no answer.{classes}",
            proposals=[*_without_texts(values.tolist()), *([Proposal({"domain": "categorical"})] if recur else [])],
        )
    if recur:
        return DOMAINS["categorical"]()
    texts = values.tolist()
    if answers == 1:
        raise ColumnError(
            f"There is one answer only, {str(values[0])[:60]!r}, with which nothing can be compared. Give answers by"
            " several workers to the same tasks.",
            lines=EXAMPLE,
        )
    if (
        all(isinstance(text, str) for text in texts)
        and np.mean([len(text.split()) for text in texts]) >= _MIN_TEXT_WORDS
    ):
        ask_extraction(texts)
        return DOMAINS["text"]()
    if answers >= _MANY_ANSWERS and len(values) > _MOST_DIFFERENT * answers:
        raise ColumnError(
            f"Labels hardly recur: {answers:,} answers have {len(values):,} different ones, such as"
            f" {str(values[0])[:60]!r}, as ids are. Take another column as the label; if they are texts, say"
            " domain='text'."
        )
    raise LabelError(
        f"It is unclear what kind of labels these are: {count(len(values), 'different one')} in"
        f" {count(answers, 'answer')}, such as {str(values[0])[:60]!r}. They may be classes (categorical), texts"
        " (text), or of another kind that allalike.DOMAINS lists.",
        proposals=[Proposal({"domain": name}) for name in ("categorical", "text")],
    )


def _without_texts(values: Sequence[Any]) -> list[Proposal]:
    """Propose to leave out what is no number, if that is little.

    >>> [str(each) for each in _without_texts(["1.5", "2", "?"])], _without_texts(["1", "cat", "dog"])
    (["abstain='?'"], [])
    """
    texts = [value for value in values if not reads_as_number(value)]
    if len(texts) > max(1, _MOST_TEXTS * len(values)):
        return []
    return [Proposal({"abstain": texts[0] if len(texts) == 1 else tuple(texts)})]
