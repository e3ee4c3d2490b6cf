"""Late imports: large packages and our own public names are imported at first use."""

from __future__ import annotations

import importlib
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from allalike.errors import UnsupportedError

__all__ = ["late_pattern", "lend", "need", "pa", "pc", "pd", "sparse", "special", "stats"]


class _Late(ModuleType):
    """A module that is imported at the first access to one of its attributes, which are then cached."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


class _Pattern:
    """A regular expression that is compiled at first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    r"""Return a regular expression that is compiled at first use, because some take longer than a small run.

    >>> late_pattern(r"\d+").findall("12 and 3")
    ['12', '3']
    """
    return cast("re.Pattern[str]", _Pattern(text, flags))


def lend(package: ModuleSpec) -> tuple[list[str], Callable[[str], Any]]:
    """Return ``__all__`` and ``__getattr__`` of a package whose names are imported at first use.

    Each name has a line ``from HOME import NAME as PUBLIC`` in the ``__init__.pyi`` beside the ``__init__.py``. The
    loader also finds it in a zip file.
    """
    loader: Any = package.loader
    stub = loader.get_data(f"{str(package.origin).removesuffix('c')}i").decode()
    lines = (line.split() for line in stub.splitlines() if line.startswith("from "))
    homes = {words[5]: (words[1], words[3]) for words in lines}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package.name!r} has no attribute {name!r}")
        home, own = homes[name]
        found = getattr(importlib.import_module(home), own)
        setattr(sys.modules[package.name], name, found)
        return found

    return list(homes), get


def need(module: str, why: str, extra: str) -> Any:
    """Return an optional module, or raise an error with the reason and the installation command.

    >>> need("nowhere", "Somewhere needs nowhere", "places")
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: Somewhere needs nowhere. Install it with: pip install 'allalike[places]'.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UnsupportedError(f"{why}. Install it with: pip install 'allalike[{extra}]'.") from None


if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy import sparse, special, stats
else:
    pa, pc, pd = map(_Late, ("pyarrow", "pyarrow.compute", "pandas"))
    sparse, special, stats = map(_Late, ("scipy.sparse", "scipy.special", "scipy.stats"))
