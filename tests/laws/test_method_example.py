"""A method in one file is short, and its options are checked as soon as the registry has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import METHODS
from allalike.errors import OptionError
from crowds.samples import RUNNING_EXAMPLE, rows
from examples import method
from examples.method import Soft


def test_it_is_one_file_of_at_most_forty_lines() -> None:
    assert len(Path(method.__file__).read_text(encoding="utf-8").splitlines()) <= 40


def test_its_options_are_checked_and_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, Soft.name, Soft)
    answers: list[Any] = rows(RUNNING_EXAMPLE)
    flat, sharp = (allalike.discover(answers, domain="real", method=f"soft(sharpness={s})") for s in (0, 8.5))
    np.testing.assert_allclose(flat.workers["weight"], 0.2)
    assert sharp.workers["weight"].max() > 0.5
    assert sharp.summary["method"] == {"name": "SOFT", "options": {"sharpness": 8.5}}
    with pytest.raises(OptionError, match="sharpness is -1. It must be a finite number, at least 0."):
        Soft(sharpness=-1)
    with pytest.raises(OptionError, match="Method SOFT has no option 'rounds'. It has sharpness."):
        allalike.discover(answers, domain="real", method="SOFT(rounds=3)")
