"""Options of methods that make no sense, and numbers at the end of what a computer can count."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allalike
from allalike import METHODS, ConvergenceWarning, Real
from allalike.errors import OptionError
from crowds.samples import RUNNING_EXAMPLE, rows

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


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("scale", [1e-143, 1e140])
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_tiny_and_huge_numbers_cause_no_warning(name: str, scale: float) -> None:
    result = allalike.discover(rows(RUNNING_EXAMPLE * scale), domain="real", method=name)
    assert np.isfinite(result.truth["label"]).all()
    assert result.workers["weight"].sum() == pytest.approx(1)


def test_the_warning_of_the_limit_of_rounds_points_to_the_line_that_called() -> None:
    hasty = "iP-TD(max_iter=1, tol=0)"
    with pytest.warns(ConvergenceWarning, match="iP-TD stopped at its limit of 1 rounds") as discovering:
        result = allalike.discover(rows(RUNNING_EXAMPLE), domain="real", method=hasty)
    with pytest.warns(ConvergenceWarning) as updating:
        result.update([("new", "t0000", 80.0)])
    with pytest.warns(ConvergenceWarning) as weighing:
        allalike.weigh([[0, 1, 4], [1, 0, 3], [4, 3, 0]], method=hasty)
    assert [caught[0].filename for caught in (discovering, updating, weighing)] == [__file__] * 3
