"""Forms of spans: what tools call the ends of a stretch of text and its tag, and tags of single tokens.

Where an answer has a tag for each token, positions are numbers of tokens. ``B-`` begins a span, ``I-`` goes on with
it, ``E-`` or ``L-`` ends it, and ``S-`` or ``U-`` is a span by itself (IOB2, BIOES, BILOU). An ``I-`` behind ``O`` or
behind another tag begins a span too: so it is written in IOB1, and so it is meant where tags are broken.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.domains.lists import json_list
from allalike.domains.things.parts import read_class, read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SPAN_KEYS", "TAG", "are_tags", "is_span", "name_form", "read_span", "read_tags", "split_tags"]

SPAN_KEYS = (("start", "end"), ("start_offset", "end_offset"))
CLASS_KEYS = ("class", "tag", "label", "type", "labels")
TAG = re.compile(r"O|([BIELSUM])(?:-(.+))?", re.DOTALL)

_LARGEST_POSITION = 1 << 53  # up to which whole numbers are exact


def is_span(value: Any) -> bool:
    """Tell whether an object has the keys of a span.

    >>> is_span({"start": 0, "end": 4, "label": "PER"}), is_span({"x": 1, "y": 2})
    (True, False)
    """
    return isinstance(value, dict) and any(set(keys) <= set(value) for keys in SPAN_KEYS)


def are_tags(values: Sequence[Any]) -> bool:
    """Tell whether these are tags of tokens.

    >>> are_tags(["O", "B-PER", "I-PER"]), are_tags(["B-PER", "cat"]), are_tags([])
    (True, False, False)
    """
    return bool(values) and all(isinstance(value, str) and TAG.fullmatch(value) for value in values)


def split_tags(text: str) -> list[Any]:
    """Return the elements of a JSON list, or tags with space between them.

    >>> split_tags("O B-PER"), split_tags('[[0, 4, "PER"]]')
    (['O', 'B-PER'], [[0, 4, 'PER']])
    """
    if text.lstrip().startswith("["):
        return json_list(text)
    if not are_tags(tags := text.split()):
        raise ValueError("it is neither a JSON list of spans, nor a tag such as O or B-PER for each token")
    return list(tags)


def read_tags(tags: Sequence[str]) -> list[list[Any]]:
    """Return the spans of tags, from token to token.

    >>> read_tags(["B-PER", "I-PER", "O", "I-LOC", "I-ORG", "B-ORG"])
    [[0, 2, 'PER'], [3, 4, 'LOC'], [4, 5, 'ORG'], [5, 6, 'ORG']]
    >>> read_tags(["U-PER", "B-LOC", "L-LOC", "E-LOC"])
    [[0, 1, 'PER'], [1, 3, 'LOC'], [3, 4, 'LOC']]
    """
    spans: list[list[Any]] = []
    going: list[Any] | None = None
    for place, tag in enumerate(tags):
        prefix, name = TAG.fullmatch(tag).groups()  # type: ignore[union-attr]
        if prefix is None:
            going = None
            continue
        if going is None or prefix in "BSU" or going[2] != name:
            going = [place, place, name]
            spans.append(going)
        going[1] = place + 1
        if prefix in "ELSU":
            going = None
    return [span if span[2] is not None else span[:2] for span in spans]


def name_form(things: Sequence[Any]) -> str:
    """Name the form in which the spans of an answer are written, or raise ValueError if there are several.

    >>> name_form([[0, 4, "PER"]]), name_form([{"start": 0, "end": 4}]), name_form(["O"]), name_form([])
    ('lists', 'objects', 'tags of tokens', '')
    """
    if are_tags(things):
        return "tags of tokens"
    names = {"objects" if isinstance(thing, dict) else "lists" for thing in things}
    if len(names) > 1:
        raise ValueError("its spans are written in different forms: lists and objects")
    return next(iter(names), "")


def read_span(value: Any) -> tuple[tuple[float, ...], Any]:
    """Return the start, the end and the tag of a span, or raise ValueError with the reason.

    >>> read_span([0, 4, "PER"]), read_span({"start_offset": 0, "end_offset": 4, "label": "PER"})
    (((0.0, 4.0), 'PER'), ((0.0, 4.0), 'PER'))
    >>> read_span([4, 4])
    Traceback (most recent call last):
    ValueError: the span from 4 to 4 ends before it has begun; the end is the position behind its last character
    """
    if isinstance(value, dict):
        start, end, name = _take_keys(value)
    else:
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(listed, list | tuple) or len(listed) not in (2, 3):
            raise ValueError(f"a span must be [start, end] or [start, end, tag], or an object, and {value!r} is not")
        start, end, *names = listed
        name = read_class(names[0]) if names and names[0] is not None else None
    begin, behind = _read_position(start), _read_position(end)
    if behind <= begin:
        raise ValueError(
            f"the span from {start} to {end} ends before it has begun; the end is the position behind its last"
            " character"
        )
    return (begin, behind), name


def _take_keys(span: dict[str, Any]) -> tuple[Any, Any, Any]:
    keys = next((keys for keys in SPAN_KEYS if set(keys) <= set(span)), None)
    if keys is None:
        raise ValueError(f"the object {span!r} has no start and end")
    name = next((span[key] for key in CLASS_KEYS if span.get(key) is not None), None)
    if isinstance(name, list | tuple):
        if len(name) != 1:
            raise ValueError(f"a span must have one tag, and this has {len(name)}: {name!r}")
        name = name[0]
    return span[keys[0]], span[keys[1]], None if name is None else read_class(name)


def _read_position(value: Any) -> float:
    number = read_number(value)
    if number != round(number) or not 0 <= number <= _LARGEST_POSITION:
        raise ValueError(f"the position {value} is not a whole number from 0 on")
    return number
