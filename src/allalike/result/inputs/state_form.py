"""The typed definition of ``state.json``, by which all of it is checked before any of it is used."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from allalike.readers import READ_OPTIONS
from allalike.readers.gold import is_written
from allalike.telling.schemas import SUMMARY, JsonForm, describe_form, find_misfit
from allalike.telling.summary import Changes, SavedGeneration, Section

_SCALAR = str | int | float
_PAIRS = tuple[tuple[_SCALAR, _SCALAR], ...]
_OPTIONS = tuple(f"{name}?" for name in READ_OPTIONS)


class _SavedAs(Section):
    """How the result was saved."""

    format: str
    to: tuple[str, ...]
    report: bool
    probabilities: bool
    safe_csv: bool


_READ = {
    **dict.fromkeys(_OPTIONS, str | None),
    "columns?": Mapping[str, str],
    "na?": tuple[str, ...] | None,
    "abstain?": tuple[_SCALAR | bool | None, ...],
    "label_map?": _PAIRS,
    "only?": tuple[str, ...],
    "skip?": tuple[str, ...],
    "golden?": bool,
}
_NOTES = {
    **{f"{name.removesuffix('?')}?": hint for name, hint in SUMMARY.items()},
    "guessed?": JsonForm(
        "What was recognised in the first answers.",
        {**dict.fromkeys(_OPTIONS, str), "domain?": str, "engine?": str, "columns?": Mapping[str, str]},
    ),
    "gold?": JsonForm("How many gold labels there are.", {"tasks": int, "without_answers?": int, "blank?": int}),
}
_STATE = JsonForm(
    "What a saved result keeps beside its tables.",
    {
        "domain": JsonForm("The label type.", {"name": str, "rule?": str, "distance?": str}),
        "method": JsonForm("The method.", {"name": str, "options": Mapping[str, Any]}),
        "settings": JsonForm("How labels are estimated.", {"seed": int, "ties": str, "min_confidence?": float}),
        "read": JsonForm("How answers are read.", _READ),
        "gold_map": str | _PAIRS | None,
        "per_task": bool,
        "notes": JsonForm("What was noticed while reading.", _NOTES),
        "generations": tuple[SavedGeneration, ...],
        "warnings?": tuple[str, ...],
        "changes?": Changes,
        "saved": _SavedAs | None,
        "copies": tuple[tuple[str, ...], ...],
        "gold?": tuple[int, bool, bool],
    },
)


@cache
def _make_schema() -> dict[str, Any]:
    return describe_form(_STATE)


def find_wrong_setting(told: Any) -> str | None:
    """Return the place of the first setting that is missing or not of its type; None if there is none.

    A gold map is written out: a text that would be the name of a file is wrong.

    >>> find_wrong_setting([]), find_wrong_setting({"domain": {"name": 7}})
    ('all of it', 'method')
    """
    misfit = find_misfit(told, _make_schema())
    if misfit is not None:
        return misfit.lstrip(".") or "all of it"
    gold_map = told["gold_map"]
    if gold_map == [] or (isinstance(gold_map, str) and not is_written(gold_map)):
        return "gold_map"
    return None if told["generations"] else "generations"
