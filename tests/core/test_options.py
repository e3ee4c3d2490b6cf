"""Options are checked where they are declared, once, whatever class they belong to."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from allalike import DOMAINS, ENGINES, METHODS, MODELS, POPULATIONS, Copiers
from allalike._core.options import Options, choice, flag, number, option, share, whole
from allalike.errors import AllalikeError, OptionError
from allalike.noise import Gaussian, IntervalNoise, MaskNoise


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search(Options):
    rounds: int = whole(15, least=1)
    seconds: int | None = whole(None, least=1, called="time limit")
    tol: float = number(1e-6, least=0, below=1)
    offset: float = number(0.0)
    scale: float | None = number(None, least=0)
    start: str = choice("mean", "median")
    rule: str | None = choice(None, "vote", "mode")
    verbose: bool = flag(False)
    dropout: float = share(0.5)
    word: str = option("a", lambda value, name: value.strip())
    free: Any = None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds is 0. It must be a whole number, at least 1."),
        ({"rounds": 1.5}, "rounds is 1.5. It must be a whole number, at least 1."),
        ({"rounds": True}, "rounds is True. It must be a whole number, at least 1."),
        ({"rounds": None}, "rounds is None. It must be a whole number, at least 1."),
        ({"seconds": "a"}, "time limit is 'a'. It must be a whole number, at least 1."),
        ({"tol": -1}, "tol is -1. It must be a finite number, at least 0."),
        ({"tol": 1}, "tol is 1. It must be less than 1."),
        ({"tol": float("nan")}, "tol is nan. It must be a finite number, at least 0."),
        ({"offset": float("-inf")}, "offset is -inf. It must be a finite number."),
        ({"offset": None}, "offset is None. It must be a finite number."),
        ({"scale": -0.5}, "scale is -0.5. It must be a finite number, at least 0."),
        ({"start": "mode"}, "start is 'mode'. Choose one of: mean, median."),
        ({"start": None}, "start is None. Choose one of: mean, median."),
        ({"rule": ["vote"]}, "rule is ['vote']. Choose one of: vote, mode."),
        ({"verbose": 1}, "verbose is 1. It must be True or False."),
        ({"dropout": 1.5}, "dropout must be between 0 and 1, and one is 1.5."),
        ({"dropout": "all"}, "dropout is 'all'. It must be a finite number."),
    ],
)
def test_what_an_option_cannot_be_is_refused_by_its_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Search(**options)
    assert str(caught.value) == message


def test_options_are_plain_fields_of_a_dataclass_for_all_else() -> None:
    made = Search(rounds=10**400, seconds=3, scale=0, rule="vote", free=[])
    assert dataclasses.replace(made, word=" x ").word == "x"
    assert pickle.loads(pickle.dumps(made)) == made
    assert repr(Search(word=" c")) == (
        "Search(rounds=15, seconds=None, tol=1e-06, offset=0.0, scale=None, start='mean', rule=None, verbose=False,"
        " dropout=0.5, word='c', free=None)"
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.rounds = 3  # type: ignore[misc]
    with pytest.raises(OptionError, match="rounds is 0"):
        dataclasses.replace(made, rounds=0)


def test_a_class_below_checks_its_own_fields_and_those_above() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Longer(Search):
        rounds: int = whole(50, least=20)
        depth: int = whole(2, least=1)
        start: str = "median"

    with pytest.raises(OptionError, match="rounds is 15. It must be a whole number, at least 20"):
        Longer(rounds=15)
    with pytest.raises(OptionError, match="depth is 0"):
        Longer(depth=0)
    with pytest.raises(OptionError, match="tol is 2"):
        Longer(tol=2)
    assert Longer().start == "median"
    with pytest.raises(OptionError, match="start is 'mode'. Choose one of: mean, median"):
        Longer(start="mode")


UNCHECKED = {  # what only the answers, the noise or Spark can judge
    *("OA.faults", "P-TD-AK.ridge", "P-TD-AK.nonpositive", "P-TD-AK.mu", "P-TD-AK.transform"),
    *("spark.session", "spark.master"),
}
CLASSES: list[Any] = [
    *(cls for registry in (METHODS, POPULATIONS, MODELS, ENGINES) for cls in registry.values()),
    *(Gaussian, IntervalNoise, MaskNoise, Copiers),
]
FIELDS = [(cls, field.name) for cls in CLASSES for field in dataclasses.fields(cls)]


@pytest.mark.parametrize(("cls", "field"), FIELDS)
def test_no_option_takes_nonsense(cls: Any, field: str) -> None:
    if f"{getattr(cls, 'name', '')}.{field}" not in UNCHECKED:
        with pytest.raises(AllalikeError):
            cls(**{field: object()})


def test_registries_have_what_they_list() -> None:
    assert METHODS.kind == "method"
    assert DOMAINS.kind == "domain"
    assert len(FIELDS) > 60
