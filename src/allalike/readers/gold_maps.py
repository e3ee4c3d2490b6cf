"""Gold maps: what the labels of known truths mean among the answers, where they are written otherwise."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pa
from allalike.answers.cleaning import Cleaning
from allalike.errors import GoldError, OptionError
from allalike.readers.label_maps import read_label_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from allalike._core.columns.column import Column

__all__ = ["SAME", "is_written", "map_gold", "write_gold_map"]

SAME = "same"  # says that the labels of the gold are those of the answers, however that looks
_NUMBER = r"\d+(?:\.\d*)?(?:e[+-]?\d+)?"
_SUM = re.compile(rf"(?:\*\s*(?P<times>[+-]?{_NUMBER})|/\s*(?P<by>{_NUMBER}))?\s*(?P<plus>[+-]\s*{_NUMBER})?", re.I)
_PAIRS = re.compile(r",(?=[^,=]*=)")


def map_gold(label: Column, gold_map: Any, blank: npt.NDArray[np.bool_]) -> Column:
    """Return the labels of known truths as those of the answers that they mean, but for those that are blank.

    A gold map is a mapping, a file with the columns from and to, or a text: ``0=1,1=2`` (or JSON) for labels,
    ``+1``, ``*1000``, ``/100`` or ``*1.8+32`` for numbers, and ``same`` for labels that are right as they are.

    >>> from allalike._core.columns.column import Column
    >>> label = Column.of_objects("label", ["0", "1"])
    >>> none = np.zeros(2, bool)
    >>> [map_gold(label, each, none).data.to_pylist() for each in ("+1", "*0.1", "0=no,1=yes", {"0": "no"}, "same")]
    [[1, 2], [0.0, 0.1], ['no', 'yes'], ['no', '1'], ['0', '1']]
    """
    if isinstance(gold_map, str) and gold_map == SAME:
        return label
    if isinstance(gold_map, str) and gold_map.strip() and (found := _SUM.fullmatch(gold_map.strip())):
        return _calculate(label, found, gold_map, blank)
    return Cleaning(label_map=read_label_map(_read_pairs(gold_map))).map_labels(label)


def write_gold_map(meanings: Mapping[Any, Any]) -> str:
    """Write what labels mean as a text that is read as it was meant.

    >>> write_gold_map({0: "no", 1: "yes"}), write_gold_map({"a, b": "c"})
    ('0=no,1=yes', '{"a, b": "c"}')
    """
    pairs = [(str(label), str(meaning)) for label, meaning in meanings.items()]
    if any(mark in text for pair in pairs for text in pair for mark in ",={"):
        return json.dumps(dict(pairs), ensure_ascii=False)
    return ",".join(f"{label}={meaning}" for label, meaning in pairs)


def is_written(gold_map: Any) -> bool:
    """Tell whether a gold map is written out, and not the name of a file.

    >>> [is_written(each) for each in ("same", "+1", "0=1", '{"0": "1"}', "map.csv")]
    [True, True, True, True, False]
    """
    if not isinstance(gold_map, str) or not (text := gold_map.strip()):
        return False
    return text == SAME or "=" in text or text.startswith("{") or _SUM.fullmatch(text) is not None


def _read_pairs(gold_map: Any) -> Any:
    """Return the pairs that a text lists, and what is no such text as it is."""
    if not is_written(gold_map):
        return gold_map
    if not gold_map.lstrip().startswith("{"):
        pairs = [part.partition("=") for part in _PAIRS.split(gold_map)]
        return [(label.strip(), meaning.strip()) for label, _, meaning in pairs]
    try:
        return dict(json.loads(gold_map))
    except (ValueError, TypeError) as error:
        raise OptionError(f"gold_map is {gold_map!r}, which is no JSON object of labels.") from error


def _calculate(label: Column, found: re.Match[str], gold_map: str, blank: npt.NDArray[np.bool_]) -> Column:
    """Multiply numbers and add to them, to the digit."""
    times, by, plus = (Decimal((found[name] or default).replace(" ", "")) for name, default in _NEUTRAL.items())
    if not by:
        raise OptionError(f"gold_map is {gold_map!r}, which divides by 0.")
    values = label.data if isinstance(label.data, list) else label.data.to_pylist()
    texts = [None if none else str(value).strip() for value, none in zip(values, blank, strict=True)]
    try:
        meant = [None if text is None else _plain(Decimal(text) * times / by + plus) for text in texts]
    except InvalidOperation:
        wrong = next(text for text in texts if text is not None and not _is_number(text))
        raise GoldError(f"gold_map is {gold_map!r}, but the label {wrong!r} of the gold is no number.") from None
    whole = all(isinstance(number, int | None) for number in meant)
    data = pa.array(meant, pa.int64() if whole else pa.float64())
    return label.replaced(data, np.arange(len(values)))


_NEUTRAL = {"times": "1", "by": "1", "plus": "0"}


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False
