"""Moments: dates and times in ISO 8601 or as Python objects, converted to numbers and back.

    2024-02-29    2024-02-29T10:30    2024-02-29 10:30:15.25    2024-02-29T10:30Z    2024-02-29T10:30+02:00

A moment is a date, a time without a UTC offset, or a time with one. These three forms are not comparable: the distance
between a date and a time, or between a local time of unknown zone and 10:00 in Paris, is undefined. Dates become
numbers of days since 1 January 1970, and times become numbers of seconds since then. Years 1 to 9999 of the Gregorian
calendar are supported, and days have 24 hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.values import Values, arrow_of
from allalike._core.lazy_imports import late_pattern

_WRITTEN = late_pattern(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?P<time>[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400  # seconds
_FIRST, _LAST = np.datetime64("0001-01-01", "ms"), np.datetime64("9999-12-31T23:59:59.999", "ms")
_WANTED = "an ISO date such as 2024-02-29, or a time such as 2024-02-29T10:30 or 2024-02-29T10:30+02:00"


@dataclass(frozen=True)
class DateForm:
    """The written form of dates and times, and the conversion to numbers."""

    times: bool | None = None
    zone: int | None = None
    typed: str = ""

    @property
    def unit(self) -> str:
        """The unit of the numbers."""
        return "seconds" if self.times else "days"

    def fits(self, other: DateForm) -> bool:
        """Return whether moments of another form are comparable with these."""
        either = self.times is None or other.times is None
        return (either or self.times == other.times) and (self.zone is None) == (other.zone is None)

    def join(self, others: Iterable[DateForm]) -> DateForm:
        """Return the common form of these moments and of all others that are comparable."""
        found = self
        for other in others:
            if found.fits(other):
                zone = found.zone if found.zone == other.zone else 0
                times = other.times if found.times is None else found.times
                found = DateForm(times, zone, found.typed or other.typed)
        return found

    def number(self, microseconds: Array) -> Floats:
        """Convert microseconds to days or seconds."""
        return np.asarray(microseconds / 1e6 if self.times else microseconds / (1e6 * _DAY), np.float64)

    def round(self, numbers: Floats) -> Floats:
        """Round numbers to whole days or milliseconds; halves are rounded up, with a tolerance for rounding errors.

        >>> DateForm(False).round(np.array([0.4, 1.5 - 1e-9, 2.5]))
        array([0., 2., 3.])
        """
        if self.times:
            return np.asarray(np.floor(np.round(numbers * 1000, 1) + 0.5) / 1000)
        return np.asarray(np.floor(np.round(numbers, 6) + 0.5))

    def show(self, numbers: Floats) -> Values:
        """Convert numbers to moments in their original form: texts, dates or times; NaN becomes missing.

        >>> DateForm(times=False).show(np.array([19782.0, np.nan])).tolist()
        ['2024-02-29', None]
        """
        missing = np.isnan(numbers)
        seconds = self.round(np.where(missing, 0.0, numbers)) * (1 if self.times else _DAY)
        shift = 1000 * (self.zone or 0)  # keeps local times within the calendar
        first, last = _FIRST.astype(np.int64) - min(shift, 0), _LAST.astype(np.int64) - max(shift, 0)
        thousandths = np.clip(np.rint(seconds * 1000), first, last).astype(np.int64)
        found = self._typed(thousandths) if self.typed else Values(self._texts(thousandths).tolist())
        return found.without(missing) if missing.any() else found

    def _texts(self, thousandths: Array) -> Array:
        shift = 1000 * (self.zone or 0)
        moments = (thousandths + shift).astype("datetime64[ms]")
        if not self.times:
            return np.asarray(np.datetime_as_string(moments.astype("datetime64[D]")), np.str_)
        short = np.datetime_as_string(moments.astype("datetime64[s]"))
        return np.char.add(np.where(thousandths % 1000 == 0, short, np.datetime_as_string(moments)), self._suffix)

    def _typed(self, thousandths: Array) -> Values:
        import pyarrow as pa

        if self.typed == "date" and not self.times:
            return Values(arrow_of((thousandths // (1000 * _DAY)).astype(np.int32)).cast(pa.date32()))
        zone = None if self.zone is None else "UTC" if self.zone == 0 else self._suffix
        return Values(arrow_of(1000 * thousandths).cast(pa.timestamp("us", zone)))

    @property
    def _suffix(self) -> str:
        """The written UTC offset."""
        if not self.zone:
            return "" if self.zone is None else "Z"
        hours, minutes = divmod(abs(self.zone) // 60, 60)
        return f"{'-' if self.zone < 0 else '+'}{hours:02d}:{minutes:02d}"

    def __str__(self) -> str:
        if self.zone is not None:
            return "times with an offset from UTC"
        return "times without an offset" if self.times else "dates without a time"


def is_moment(value: Any) -> bool:
    """Return whether a value is a date or a time, or text in the form of one.

    >>> is_moment("2024-02-29"), is_moment("2023-02-29"), is_moment("20240229"), is_moment(date(2024, 2, 29))
    (True, False, False, True)
    """
    try:
        read_moment(value)
    except ValueError:
        return False
    return True


def read_moment(value: Any) -> tuple[int, DateForm]:
    """Return the microseconds since the start of 1970 and the form, or raise ValueError with the reason.

    >>> read_moment("1970-01-02"), read_moment("1970-01-01T01:00+01:00")
    ((86400000000, DateForm(times=False, zone=None, typed='')), (0, DateForm(times=True, zone=3600, typed='')))
    """
    if isinstance(value, str):
        return _read_text(value.strip())
    if not isinstance(value, date) or value != value:  # NaT differs from itself
        raise ValueError(f"a moment is {_WANTED}")
    if not isinstance(value, datetime):
        return (value.toordinal() - _EPOCH.toordinal()) * _DAY * 10**6, _form(False, None, "date")
    found, zone = _place(value)
    midnight = zone is None and found % (_DAY * 10**6) == 0
    return found, _form(None if midnight else True, zone, "time")


def _read_text(text: str) -> tuple[int, DateForm]:
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise ValueError(f"a moment is {_WANTED}, in the years 0001 to 9999")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        reason = "an offset from UTC is less than 24 hours" if "offset" in str(error) else error
        raise ValueError(f"this date or time does not exist: {reason}") from None
    found, zone = _place(moment)
    return found, _form(written["time"] is not None, zone, "")


def _place(moment: datetime) -> tuple[int, int | None]:
    """Return the microseconds of a moment, and its UTC offset in seconds, if any."""
    offset = moment.utcoffset()
    found = (moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    if offset is None:
        return found, None
    found -= offset // _MICROSECOND
    if not _FIRST.astype(np.int64) <= found // 1000 <= _LAST.astype(np.int64):
        raise ValueError("in UTC it is outside of the calendar, which covers the years 1 to 9999")
    return found, int(offset.total_seconds())


_form = cache(DateForm)  # there are few different forms, but many moments
