"""A method in one file keeps every law on every engine, as soon as the registry has it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_laws

import allalike
from allalike import DOMAINS, METHODS, Disk, Memory
from allalike.errors import OptionError
from crowds.samples import RUNNING_EXAMPLE, rows
from examples import method
from examples.method import Soft

Law = Callable[..., None]


def laws(*parameters: str) -> list[Law]:
    """Return the laws that have these parameters, and no others."""
    found = [law for name, law in vars(test_laws).items() if name.startswith("test_")]
    return [law for law in found if set(inspect.signature(law).parameters) == set(parameters)]


def every_kind(chosen: list[Law]) -> pytest.MarkDecorator:
    """Have laws hold for every kind of label: each for every third, in turn, and for all in what takes long."""
    cases = [
        pytest.param(law, domain, marks=() if (number + place) % 3 == 0 else pytest.mark.long)
        for number, law in enumerate(chosen)
        for place, domain in enumerate([*DOMAINS, "binary"])
    ]
    return pytest.mark.parametrize(("law", "domain"), cases)


@pytest.fixture(autouse=True)
def _in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, Soft.name, Soft)


@every_kind(laws("spec", "domain", "engine"))
def test_it_keeps_the_laws_of_few_workers(law: Law, domain: str) -> None:
    law(spec="SOFT", domain=domain, engine=Disk(partitions=4) if domain == "real" else Memory())


@every_kind(laws("spec", "domain"))
def test_it_keeps_the_laws_of_all_labels(law: Law, domain: str) -> None:
    law(spec="SOFT", domain=domain)


@pytest.mark.parametrize("law", laws("spec"))
def test_it_keeps_the_laws_of_numbers_and_of_classes(law: Law) -> None:
    law(spec="SOFT")


def test_no_law_of_every_method_is_left_out() -> None:
    of_methods = {name for name, law in vars(test_laws).items() if "spec" in getattr(law, "__annotations__", ())}
    kept = {law.__name__ for law in (*laws("spec", "domain", "engine"), *laws("spec", "domain"), *laws("spec"))}
    assert {name for name in of_methods if name.startswith("test_")} - kept == {
        "test_rounding_does_not_decide_who_has_weight"  # on answers that were found for methods by name
    }


def test_it_is_one_file_of_at_most_forty_lines() -> None:
    assert len(Path(method.__file__).read_text(encoding="utf-8").splitlines()) <= 40


def test_its_options_are_checked_and_described() -> None:
    answers: list[Any] = rows(RUNNING_EXAMPLE)
    flat, sharp = (allalike.discover(answers, domain="real", method=f"soft(sharpness={s})") for s in (0, 8.5))
    np.testing.assert_allclose(flat.workers["weight"], 0.2)
    assert sharp.workers["weight"].max() > 0.5
    assert sharp.summary["method"] == {"name": "SOFT", "options": {"sharpness": 8.5}}
    with pytest.raises(OptionError, match="sharpness is -1. It must be a finite number, at least 0."):
        Soft(sharpness=-1)
    with pytest.raises(OptionError, match="Method SOFT has no option 'rounds'. It has sharpness."):
        allalike.discover(answers, domain="real", method="SOFT(rounds=3)")
