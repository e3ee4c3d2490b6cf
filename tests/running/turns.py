"""Turns: of many cases that show the same, the usual run takes some, and `make long` the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def in_turn(cases: Iterable[Any], each: int) -> list[Any]:
    """Return parameters of which every so many stays in the usual run.

    >>> [[mark.name for mark in case.marks] for case in in_turn("abc", 2)]
    [[], ['long'], []]
    """
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long if place % each else ())
        for place, case in enumerate(cases)
    ]
