"""Gold maps: mappings from gold labels to the labels of the answers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from allalike.answers.cleaning import Cleaning
from allalike.errors import OptionError
from allalike.readers.label_maps import read_label_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.columns.column import Column

__all__ = ["SAME", "is_written", "map_gold", "write_gold_map"]

SAME = "same"  # gold labels are correct as they are
_PAIRS = re.compile(r",(?=[^,=]*=)")


def map_gold(label: Column, gold_map: Any) -> Column:
    """Return gold labels in the spelling of the answers.

    A gold map is a mapping, a file with the columns from and to, a text such as ``0=no,1=yes`` (or JSON), or ``same``
    for labels that are correct as they are.

    >>> from allalike._core.columns.column import Column
    >>> label = Column.of_objects("label", ["0", "1"])
    >>> [map_gold(label, each).data.to_pylist() for each in ("0=no,1=yes", {"0": "no"}, "same")]
    [['no', 'yes'], ['no', '1'], ['0', '1']]
    """
    if isinstance(gold_map, str) and gold_map == SAME:
        return label
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
    """Return whether a gold map is written out, and not the name of a file.

    >>> [is_written(each) for each in ("same", "0=1", '{"0": "1"}', "map.csv")]
    [True, True, True, False]
    """
    if not isinstance(gold_map, str) or not (text := gold_map.strip()):
        return False
    return text == SAME or "=" in text or text.startswith("{")


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
