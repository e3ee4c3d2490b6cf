"""Find the answers behind noisy answers: good workers are alike, each bad worker is bad in her own way."""

from importlib import import_module

__version__ = "0.1.0"

# `__init__.pyi` has a line for each public name: `from HOME import NAME as NAME`. They are imported when they are used,
# so that `import allalike` is quick and whoever reads needs no methods. The loader finds these lines in a zip, too.
_STUB = __spec__.loader.get_data(f"{__file__.removesuffix('c')}i").decode()
_HOMES = {line.split()[3]: line.split()[1] for line in _STUB.splitlines() if line.startswith("from ")}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'allalike' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
