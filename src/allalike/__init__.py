"""Find the answers behind noisy answers: good workers are alike, each bad worker is bad in her own way."""

from allalike._core.late import lend

__version__ = "0.1.0"

# The public names are imported when they are used, so that `import allalike` is quick and who reads needs no methods.
__all__, __getattr__ = lend(__spec__)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
