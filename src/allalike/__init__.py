"""Estimate correct labels from the answers of many workers, and the quality of each worker."""

import sys
from types import ModuleType

from allalike._core.lazy_imports import lend

__version__ = "0.2.0"

# Public names are imported at first use, so `import allalike` is fast, and reading answers does not import methods.
__all__, __getattr__ = lend(__spec__)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keep a public function accessible after the module with the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, getattr(value, name) if name in __all__ and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package
