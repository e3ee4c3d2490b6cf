"""A registry knows all names, and imports what has a name when it is asked for it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from allalike._core.registry import Registry
from allalike.api.writers import WRITERS
from allalike.domains import DOMAINS
from allalike.engines import ENGINES
from allalike.methods import METHODS
from allalike.readers.tools import TOOLS

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
        "      'allalike.methods.proximity' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] False False", "True True False"]
