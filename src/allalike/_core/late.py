"""Large packages that are loaded when they are first used, so that `import allalike` loads numpy alone."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["pa", "pc", "pd", "sparse"]


class _Late(ModuleType):
    """A module that is imported when something of it is asked for, and keeps it."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy import sparse
else:
    pa, pc, pd, sparse = map(_Late, ("pyarrow", "pyarrow.compute", "pandas", "scipy.sparse"))
