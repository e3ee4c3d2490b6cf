"""Find the answers behind noisy answers: good workers are alike, each bad worker is bad in her own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allalike.answers import Answers
    from allalike.api.compare import compare
    from allalike.api.comparison import Comparison
    from allalike.api.discover import discover
    from allalike.api.result import Result
    from allalike.api.weigh import weigh
    from allalike.domains import (
        DOMAINS,
        RULES,
        Bitmap,
        Categorical,
        Custom,
        Domain,
        Interval,
        Ranking,
        Real,
        Set,
        Text,
        Vector,
    )
    from allalike.engines import ENGINES, Disk, Engine, Memory, Spark
    from allalike.errors import AllalikeError, ConvergenceWarning
    from allalike.methods import (
        CATD,
        CRH,
        DS,
        DS1,
        DTD,
        EVD,
        EXP,
        GTM,
        IBP,
        IPTD,
        KDE,
        MAS,
        METHODS,
        OA,
        PTD,
        PTDAK,
        TOP2,
        UA,
        Method,
    )
    from allalike.noise import POPULATIONS, Copiers
    from allalike.readers import Scan, read, scan
    from allalike.simulation import CROWDS, MODELS, Simulated, simulate

__all__ = [
    "CATD",
    "CRH",
    "CROWDS",
    "DOMAINS",
    "DS",
    "DS1",
    "DTD",
    "ENGINES",
    "EVD",
    "EXP",
    "GTM",
    "IBP",
    "IPTD",
    "KDE",
    "MAS",
    "METHODS",
    "MODELS",
    "OA",
    "POPULATIONS",
    "PTD",
    "PTDAK",
    "RULES",
    "TOP2",
    "UA",
    "AllalikeError",
    "Answers",
    "Bitmap",
    "Categorical",
    "Comparison",
    "ConvergenceWarning",
    "Copiers",
    "Custom",
    "Disk",
    "Domain",
    "Engine",
    "Interval",
    "Memory",
    "Method",
    "Ranking",
    "Real",
    "Result",
    "Scan",
    "Set",
    "Simulated",
    "Spark",
    "Text",
    "Vector",
    "compare",
    "discover",
    "read",
    "scan",
    "simulate",
    "weigh",
]

__version__ = "0.1.0"

# Names are imported when they are used, so that `import allalike` is quick and whoever reads needs no methods.
_HOMES = {
    "answers": ("Answers",),
    "api.compare": ("compare",),
    "api.comparison": ("Comparison",),
    "api.discover": ("discover",),
    "domains": (
        "DOMAINS",
        "RULES",
        "Bitmap",
        "Categorical",
        "Custom",
        "Domain",
        "Interval",
        "Ranking",
        "Real",
        "Set",
        "Text",
        "Vector",
    ),
    "engines": (
        "ENGINES",
        "Disk",
        "Engine",
        "Memory",
        "Spark",
    ),
    "errors": (
        "AllalikeError",
        "ConvergenceWarning",
    ),
    "methods": (
        "CATD",
        "CRH",
        "DS",
        "DS1",
        "DTD",
        "EVD",
        "EXP",
        "GTM",
        "IBP",
        "IPTD",
        "KDE",
        "MAS",
        "METHODS",
        "OA",
        "PTD",
        "PTDAK",
        "TOP2",
        "UA",
        "Method",
    ),
    "noise": (
        "POPULATIONS",
        "Copiers",
    ),
    "readers": (
        "Scan",
        "read",
        "scan",
    ),
    "api.result": ("Result",),
    "simulation": (
        "CROWDS",
        "MODELS",
        "Simulated",
        "simulate",
    ),
    "api.weigh": ("weigh",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from its home."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'allalike' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"allalike.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
