"""Options of methods that make no sense, and numbers at the end of what a computer can count."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allalike
from allalike import METHODS, Real
from allalike.errors import OptionError
from samples import RUNNING_EXAMPLE, rows

FLAGS = [
    (name, field.name)
    for name, method in METHODS.items()
    for field in dataclasses.fields(method)
    if isinstance(field.default, bool)
]
NUMERIC = [name for name, method in METHODS.items() if method().serves(Real()) and name != "OA"]


@pytest.mark.parametrize(("name", "flag"), FLAGS)
@pytest.mark.parametrize("value", ["no", "True", 3, None])
def test_a_flag_is_true_or_false(name: str, flag: str, value: object) -> None:
    with pytest.raises(OptionError, match=f"{flag} is {value!r}. It must be True or False."):
        METHODS[name](**{flag: value})


def test_there_are_flags() -> None:
    assert {("CRH", "standardise"), ("DS-1", "positive"), ("EVD", "positive"), ("MAS", "scaled")} <= set(FLAGS)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("scale", [1e-161, 1e-150, 1e140])
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_tiny_and_huge_numbers_cause_no_warning(name: str, scale: float) -> None:
    result = allalike.discover(rows(RUNNING_EXAMPLE * scale), domain="real", method=name)
    assert np.isfinite(result.truth["label"]).all()
    assert result.workers["weight"].sum() == pytest.approx(1)
