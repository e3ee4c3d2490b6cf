"""Records: flight times on web sites (Li et al. 2012), as selected by Raha (Mahdavi et al. 2019)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.domains import Record
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FIELDS = ("sched_dep_time", "act_dep_time", "sched_arr_time", "act_arr_time")
_TIME = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])")

Times = dict[str, int]


def _flights(folder: Path) -> Parsed:
    """Read times as minutes of the day; other text, such as "Not Available", is missing."""
    rows = [row for row in _rows(folder / "datasets" / "flights" / "dirty.csv") if row[2]]
    gold = {flight: times for _, flight, times in _rows(folder / "datasets" / "flights" / "clean.csv")}
    note = "Many sites copy from each other. Times are minutes of the day, and right or wrong: a minute off is a miss."
    return Parsed(read(rows, domain=Record(dict.fromkeys(_FIELDS, "categorical"))), gold, note)


def _rows(path: Path) -> Iterator[tuple[str, str, Times]]:
    sites, flights, *columns = read_columns(path, "src", "flight", *_FIELDS)
    for site, flight, *texts in zip(sites, flights, *columns, strict=True):
        found = {name: minutes for name, text in zip(_FIELDS, texts, strict=True) if (minutes := _minutes(text)) >= 0}
        yield site, flight, found


def _minutes(text: str) -> int:
    """Return the first time in a text as minutes of the day, or -1 if there is none."""
    found = _TIME.search(text or "")
    if found is None:
        return -1
    return int(found[1]) % 12 * 60 + int(found[2]) + (720 if found[3] == "p" else 0)


RECORDS = (
    Parser("records_flights", "records_flights", "when a flight departs and arrives, by 38 web sites", _flights),
)
