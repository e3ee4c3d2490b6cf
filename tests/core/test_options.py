"""Options are checked where they are declared, and registries import what has a name when it is asked for."""

import dataclasses
import pickle
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from allalike import DOMAINS, ENGINES, METHODS, MODELS, POPULATIONS, Copiers
from allalike._core.options import Options, choice, flag, number, option, share, whole
from allalike._core.registry import Registry
from allalike.errors import AllalikeError, OptionError
from allalike.noise import Gaussian
from allalike.readers.tools import TOOLS
from allalike.result.writers import WRITERS


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
    ("options", "must"),
    [
        *(({"rounds": value}, "whole number, at least 1") for value in (0, 1.5, True, None)),
        ({"seconds": "a"}, "whole number, at least 1"),
        *(({"tol": value}, "finite number, at least 0") for value in (-1, float("nan"))),
        ({"tol": 1}, "less than 1"),
        *(({"offset": value}, "finite number") for value in (float("-inf"), None)),
        ({"scale": -0.5}, "at least 0"),
        *(({"start": value}, "mean, median") for value in ("mode", None)),
        ({"rule": ["vote"]}, "vote, mode"),
        ({"verbose": 1}, "True or False"),
        ({"dropout": 1.5}, "between 0 and 1"),
        ({"dropout": "all"}, "finite number"),
    ],
)
def test_what_an_option_cannot_be_is_refused_by_its_name(options: dict[str, Any], must: str) -> None:
    [(name, value)] = options.items()
    with pytest.raises(OptionError, match=must) as caught:
        Search(**options)
    assert {"seconds": "time limit"}.get(name, name) in str(caught.value)
    assert str(value) in str(caught.value)


def test_options_are_plain_fields_of_a_dataclass_for_all_else() -> None:
    made = Search(rounds=10**400, seconds=3, scale=0, rule="vote", free=[])
    assert dataclasses.replace(made, word=" x ").word == "x"
    assert pickle.loads(pickle.dumps(made)) == made
    assert repr(Search(word=" c")).startswith("Search(rounds=15, seconds=None, tol=1e-06, offset=0.0,")
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

    assert Longer().start == "median"
    for wrong in ({"rounds": 15}, {"depth": 0}, {"tol": 2}, {"start": "mode"}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            Longer(**wrong)


UNCHECKED = {  # what only the answers, the noise or Spark can judge
    *("OA.faults", "P-TD-AK.ridge", "P-TD-AK.nonpositive", "P-TD-AK.mu", "P-TD-AK.transform"),
    *("spark.session", "spark.spark_master"),
}
CLASSES: list[Any] = [
    *(cls for registry in (METHODS, POPULATIONS, MODELS, ENGINES) for cls in registry.values()),
    *(Gaussian, Copiers),
]
FIELDS = [(cls, field.name) for cls in CLASSES for field in dataclasses.fields(cls)]


@pytest.mark.parametrize(("cls", "field"), FIELDS)
def test_no_option_takes_nonsense(cls: Any, field: str) -> None:
    if f"{getattr(cls, 'name', '')}.{field}" not in UNCHECKED:
        with pytest.raises(AllalikeError):
            cls(**{field: object()})


REGISTRIES: list[Registry[Any]] = [METHODS, DOMAINS, ENGINES, TOOLS, WRITERS]


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_every_name_is_that_of_its_class(registry: Registry[Any]) -> None:
    assert [cls.name for cls in registry.values()] == list(registry)
    assert all(issubclass(cls, registry.base) for cls in registry.values())


@pytest.mark.parametrize("registry", [METHODS, DOMAINS, ENGINES, WRITERS], ids=lambda registry: registry.kind)
def test_a_package_has_its_classes_and_nothing_else(registry: Registry[Any]) -> None:
    package = import_module(registry.package)
    assert all(getattr(package, cls.__name__) is cls for cls in registry.values())
    assert all(hasattr(package, name) for name in getattr(package, "__all__", ()))
    with pytest.raises(AttributeError, match=f"module '{registry.package}' has no attribute 'Nonsense'"):
        _ = package.Nonsense


def test_names_are_known_before_anything_is_imported() -> None:
    code = (
        "import sys\n"
        "from allalike import DOMAINS, METHODS\n"
        "from allalike.readers.tools import TOOLS\n"
        "known = [*METHODS, *DOMAINS, *TOOLS], 'UA' in METHODS, 'nonsense' in METHODS, len(DOMAINS), repr(TOOLS)\n"
        "print([each for each in ('unweighted', 'proximity', 'auto') if f'allalike.methods.{each}' in sys.modules],\n"
        "      'allalike.domains.real' in sys.modules, 'allalike.readers.tools.crowdsourcing' in sys.modules)\n"
        "METHODS['UA'], DOMAINS['real']\n"
        "print('allalike.methods.unweighted' in sys.modules, 'allalike.domains.real' in sys.modules,\n"
        "      'allalike.methods.mace' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] False False", "True True False"]
