"""Cleaning: labels that mean "no answer" are excluded, and spellings of the same label are unified.

Each distinct label is examined once, however many rows have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import distinct
from allalike._core.columns.values import arrow_of, has_blank_edges, is_text, shorten
from allalike._core.lazy_imports import pa, pc
from allalike.domains.spelling import Spelling, match_key
from allalike.errors import ColumnError, InputError, LabelError

Mask = npt.NDArray[np.bool_]
_KEPT, _ABSTAINED, _UNPARSED = 0, 1, 2
_MAX_SHOWN = 80  # characters of a label


@dataclass(frozen=True)
class Dropped:
    """Numbers of excluded rows: without a label, with a label that means "no answer", or that cannot be parsed.

    ``example`` is the row and text of the first label that cannot be parsed.
    """

    missing: int = 0
    abstained: int = 0
    unparsed: int = 0
    example: tuple[int, str] | None = None

    def __add__(self, other: Dropped) -> Dropped:
        first = min((each.example for each in (self, other) if each.example is not None), default=None)
        unparsed = self.unparsed + other.unparsed
        return Dropped(self.missing + other.missing, self.abstained + other.abstained, unparsed, first)

    @property
    def total(self) -> int:
        """The number of excluded rows."""
        return self.missing + self.abstained + self.unparsed

    def check(self, rows: int, steps: tuple[str, ...] = ()) -> None:
        """Raise an error if no rows are left."""
        if not rows:
            raise ColumnError("There are no answers: the table has no rows, or only a header.")
        if self.total < rows:
            return
        if self.example is not None:
            raise LabelError(
                f"No label could be parsed with extract={' and then '.join(map(repr, steps))}: {self.unparsed:,}"
                f" labels, such as {shorten(self.example[1])} in row {self.example[0] + 1}. Check the labels, and"
                " choose another extractor."
            )
        reason = "labels that mean 'no answer'" if self.abstained else "empty or missing labels"
        raise InputError(f"No row has a label: all {rows:,} rows have {reason}.")

    def notes(self, rows: int) -> dict[str, Any]:
        """Return the summary's entries about excluded rows."""
        counts = {"missing_dropped": self.missing, "abstained_dropped": self.abstained}
        notes: dict[str, Any] = {name: number for name, number in counts.items() if number}
        if self.unparsed:
            example, tried = self.example[1][:_MAX_SHOWN] if self.example else "", rows - self.missing - self.abstained
            notes["unparsed"] = {"labels": self.unparsed, "of": tried, "example": example}
        return notes


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """Rules for labels before they become answers."""

    missing: str = "error"
    abstain: tuple[Any, ...] = ()
    label_map: Mapping[Any, str] = field(default_factory=dict)
    spelling: Spelling = field(default_factory=Spelling)

    def clean(self, columns: dict[str, Column]) -> tuple[dict[str, Column], Mask, Dropped]:
        """Return the rows with cleaned labels, a mask of these rows, and the numbers of excluded rows."""
        label = self.map_labels(columns["label"].compacted())
        blank = label.missing()
        if blank.any() and self.missing == "error" and not blank.all():
            raise _find_blank(columns["label"], blank)
        kept, dropped = ~blank, Dropped(int(blank.sum()))
        label = label.keep(kept) if dropped.missing else label
        if self.spelling.is_plain and not self.abstain:
            label = self._strip(label)
        else:
            codes, values, meant, why = self._understand(label)
            unparsed, example = why == _UNPARSED, None
            if unparsed.any():
                row = int(np.argmax(unparsed))
                example = label.row(row) - 1, str(values[codes[row]])
            dropped += Dropped(0, int((why == _ABSTAINED).sum()), int(unparsed.sum()), example)
            kept[kept] = why == _KEPT
            label = _put(label, codes, meant, why == _KEPT)
        if not kept.all():
            columns = {role: column.keep(kept) for role, column in columns.items() if role != "label"}
        return {**columns, "label": label}, kept, dropped

    def find_unreadable(self, label: Column) -> tuple[Mask, Mask]:
        """Mark the rows without a label, and those whose label cannot be parsed."""
        label = self.map_labels(label.compacted())
        blank = label.missing()
        unparsed = np.zeros(len(blank), np.bool_)
        if not self.spelling.is_plain:
            unparsed[~blank] = self._understand(label.keep(~blank))[-1] == _UNPARSED
        return blank, unparsed

    def _understand(self, label: Column) -> tuple[Any, list[Any], list[Any], npt.NDArray[np.int8]]:
        """Return the code of each row, the distinct values, their meanings, and whether each row is kept."""
        if label.form is None:
            codes, values = np.arange(len(label.data)), label.data
        else:
            codes, distinct_values = distinct(label.data)
            values = distinct_values.tolist()
        meant: list[Any] = []
        fates = np.zeros(len(values), np.int8)
        for place, value in enumerate(values):
            text = isinstance(value, str) and not self._abstains(value)
            meant.append(self.spelling(value) if text else value)
            if text and not meant[-1] and (meant[-1] is None or self.spelling.extract is not None):
                fates[place] = _UNPARSED
            elif self._abstains(value) or self._abstains(meant[-1]):
                fates[place] = _ABSTAINED
        return codes, values, meant, fates[codes]

    def _abstains(self, value: Any) -> bool:
        return isinstance(value, str | int | float) and match_key(value) in self.abstain

    def map_labels(self, label: Column) -> Column:
        """Replace spellings by their meanings; all labels become texts."""
        if not self.label_map:
            return label
        if label.form is None:
            data = [None if v is None else self._mapped(v) for v in label.data]
            return label.replaced(data, np.arange(len(data)))
        present = ~Column(label.name, label.data).missing()
        codes, values = distinct(label.data.filter(arrow_of(present)))
        texts = [self._mapped(value) for value in values.tolist()]
        column = label.replaced(_dictionary(codes, texts, present), np.arange(len(present)))
        column.text = True
        return column

    def _mapped(self, value: Any) -> Any:
        try:
            meaning = self.label_map.get(match_key(value))
        except TypeError:  # unhashable
            return value
        return meaning if meaning is not None else value if isinstance(value, str) else str(value)

    def _strip(self, label: Column) -> Column:
        if not self.spelling.strip or label.kind not in ("text", "object"):
            return label
        data, kind = label.data, label.form
        if kind is None:
            return label.replaced([v.strip() if isinstance(v, str) else v for v in data], np.arange(len(data)))
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if is_text(kind) and has_blank_edges(data):
            label = label.replaced(pc.utf8_trim_whitespace(data.cast(kind)), np.arange(len(data)))
        label.trimmed = is_text(kind)
        return label


def _put(label: Column, codes: Any, values: list[Any], stays: Mask) -> Column:
    """Return some rows of a column, with texts replaced."""
    rows, kind = np.flatnonzero(stays), label.form
    if kind is None:
        return label.replaced([values[row] for row in rows], rows)
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not is_text(kind):
        return label.keep(stays)
    return label.replaced(_dictionary(codes[stays], values, np.ones(len(rows), np.bool_), kind), rows)


def _dictionary(codes: Any, values: list[Any], present: Mask, kind: Any = None) -> Any:
    """Encode strings as a dictionary column, with null in the rows that are not present."""
    place = {value: number for number, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    among = np.array([place.get(value, 0) for value in values], np.int32)
    numbers = np.zeros(len(present), np.int32)
    numbers[present] = among[codes] if len(among) else 0
    indices = pa.array(numbers, mask=~present)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array(list(place), kind or pa.string()))])


def check_ids(column: Column) -> None:
    """Raise an error if a row has no id or an id with a zero byte."""
    blank = column.missing()
    if blank.any():
        raise _find_blank(column, blank)
    zeros = column.zeros()
    if zeros.any():
        place = int(np.argmax(zeros))
        raise zero_error(column.name, column.row(place), column.value(place))


def _find_blank(column: Column, blank: Mask) -> InputError:
    """Return the error for the first blank row."""
    place = int(np.argmax(blank))
    value = column.value(place) if column.name == "label" else None
    return blank_error(column.name, column.row(place), (int(blank.sum()), len(blank)), value)


def zero_error(role: str, row: int, value: Any) -> InputError:
    """Return the error for an id with a zero byte, which programs read in different ways."""
    return InputError(f"The {role} in row {row} contains a zero byte: {value!r}. Remove the byte.")


def blank_error(role: str, row: int, counted: tuple[int, int], value: Any = None) -> InputError:
    """Return the error for a row without a worker, task or label; ``counted`` has the numbers of these and all rows."""
    number, total = counted
    what = f"Row {row} has no {role}{f' (it contains {value!r})' if isinstance(value, str) and value else ''}."
    what += f" {number:,} of {total:,} {'rows have' if number > 1 else 'rows has'} none."
    if role != "label":
        return InputError(f"{what} Add the {role}, or remove these rows.")
    return InputError(f"{what} A missing answer needs no row: remove these rows, or exclude them.", missing="drop")


_MAX_REPEATS = 0.2  # of all rows
_MIN_UNLIKE = 6  # from this many answers on, it is no coincidence that all of them differ


def find_misreadings(answers: Any) -> set[str]:
    """Return the signs that columns were mixed up, which would make every result worthless.

    - ``repeats``: many repeated answers by a worker to a task, except in samples
    - ``worker``, ``task``, ``label``: there is only one, except for a single task of rankings
    - ``apart``: no task has two answers
    - ``unlike``: there are as many classes as answers
    """
    number, labels = int(answers.answer_counts.sum()), answers.encoding
    aside = answers.notes.get("duplicates_removed", 0)
    same = answers.only_number is not None if labels.numeric else labels.n_labels == 1
    signs = {
        "repeats": aside > _MAX_REPEATS * (number + aside) and "samples" not in answers.notes,
        "worker": len(answers.workers) == 1,
        "task": answers.n_tasks == 1 and answers.domain.name != "ranking",
        "label": number > 1 and same,
        "apart": answers.n_single == answers.n_tasks > 1,
        "unlike": labels.nominal and _MIN_UNLIKE <= number <= labels.n_labels,
    }
    return {name for name, is_so in signs.items() if is_so}
