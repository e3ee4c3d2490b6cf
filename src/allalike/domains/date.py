"""Dates and times, represented as numbers of days or seconds.

Estimates of the date of a letter, a photograph or an event are usually a few days off, and the best estimate lies
between the answers. Dates are therefore treated as numbers (`allalike.domains.real`), in days for dates and in seconds
for times:

    squared:   d = (x - y)^2    with the weighted mean: 1 and 3 January 2024 give 2 January
    absolute:  d = |x - y|      with the weighted median, if some answers are far off, such as a wrong century

Errors are in days or seconds, or in their squares. Estimates are rounded to whole days or milliseconds, and halves are
rounded up. The module `allalike.domains.moments` describes the accepted forms and which of them are comparable.

This type works for estimated dates and inaccurate clocks. It fails if a date is either right or wrong: 5 June instead
of 6 May is as wrong as a date a year off, and their mean occurs in no answer. Use ``categorical`` then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values
from allalike._core.options import option
from allalike.domains.contract import check_forms
from allalike.domains.moments import DateForm, read_moment
from allalike.domains.offsets import Offsets
from allalike.domains.real import Real, RealEncoding, RealKernels
from allalike.domains.spelling import Spelling
from allalike.domains.written_labels import check_date_form, read_date, write_date


@dataclass(frozen=True, kw_only=True)
class Date(Real):
    """Dates and times, compared by squared or absolute distance in days or seconds.

    A label is an ISO date or time as text, or a date or time object from Python, pandas or Arrow. Either all labels
    have a time of day or none has, and likewise a UTC offset. Estimates have the form of the labels.

    Parameters
    ----------
    distance
        ``squared``, or ``absolute``, which reduces the influence of outliers.
    rule
        Aggregation rule: weighted ``mean`` or ``median``. Default: the one that fits the distance.
    bias
        Whether to estimate and subtract each worker's mean deviation (too early or too late).
    form
        Format of dates, if not ISO 8601: the last day of 2024 written like the labels, such as ``31/12/2024``,
        ``12/31/2024`` or ``31 Dec 2024``.

    >>> import allalike
    >>> rows = [("ada", 1, "2024-01-01"), ("bob", 1, "2024-01-03"), ("ada", 2, "2024-02-28"), ("bob", 2, "2024-03-01")]
    >>> allalike.discover(rows, domain=Date(), method="UA").truth["label"].tolist()
    ['2024-01-02', '2024-02-29']
    >>> rows = [("ada", 1, "30/01/2024"), ("bob", 1, "01/02/2024")]
    >>> allalike.discover(rows, domain=Date(form="31/12/2024"), method="UA").truth["label"].tolist()
    ['31/01/2024']
    """

    name: ClassVar[str] = "date"
    summary: ClassVar[str] = "dates and times; squared or absolute distance in days or seconds"
    form: str | None = option(None, check_date_form)

    @property
    def spelling(self) -> Spelling:
        return Spelling(strip=False)

    def read(self, value: Any) -> tuple[int, DateForm]:
        """Return the microseconds and the form of a moment, as `read_moment` does."""
        return read_moment(read_date(value, self.form) if self.form is not None and isinstance(value, str) else value)

    def learn(self, labels: Column) -> DateEncoding:
        first, *others = dict.fromkeys(form for _, form in labels.parsed(self.read)[1]) or [DateForm()]
        return DateEncoding(domain=self, offsets=Offsets() if self.bias else None, form=first.join(others))


@dataclass(frozen=True, kw_only=True)
class DateEncoding(RealEncoding):
    """Moments that share one form; a code is the number of days or seconds since 1970."""

    domain: Date
    form: DateForm = field(default_factory=DateForm)

    @property
    def kernels(self) -> DateKernels:
        return DateKernels(domain=self.domain, form=self.form)

    @property
    def vocabulary(self) -> list[Any]:
        return [self.form.unit]

    def merge(self, others: Sequence[Self]) -> Self:
        return replace(self, form=self.form.join(other.form for other in others))

    def encode(self, labels: Column) -> Floats:
        codes, moments = labels.parsed(self.domain.read)
        forms = ["" if self.form.fits(form) else str(form) for _, form in moments]
        check_forms(labels, codes, forms, str(self.form))
        return self.form.number(np.array([found for found, _ in moments], np.int64))[codes]

    def remap(self, codes: Array, known: Self) -> Floats:
        return self.form.number(np.rint(codes * (1e6 if known.form.times else 86_400e6)).astype(np.int64))

    def decode(self, codes: Array) -> Values:
        shown, form = self.form.show(np.asarray(codes, np.float64)), self.domain.form
        if form is None or self.form.typed:
            return shown
        return Values([text if text is None else write_date(text, form) for text in shown.tolist()])

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        return {name: self.decode(found[name]) for name in ("low", "high") if name in found}

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "labels": f"{self.form}, in {self.form.unit}"}


@dataclass(frozen=True, kw_only=True)
class DateKernels(RealKernels):
    """Sums of distances between moments; estimates are whole days or milliseconds."""

    domain: Date
    form: DateForm = field(default_factory=DateForm)

    def restore(self, block: Block, label: Array) -> Array:
        return self.form.round(super().restore(block, label))

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        return np.asarray(self.form.round(left) != self.form.round(right))
