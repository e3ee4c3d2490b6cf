"""Find the answers behind noisy answers: good workers are alike, each bad worker is bad in her own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from allalike.engines import ENGINES, Engine, Memory
from allalike.errors import AllalikeError, ConvergenceWarning
from allalike.methods import DTD, IPTD, METHODS, OA, PTD, PTDAK, UA, Method

if TYPE_CHECKING:
    from allalike.answers import Answers
    from allalike.discovery import discover
    from allalike.readers import read
    from allalike.result import Result
    from allalike.weighing import weigh

__all__ = [
    "DOMAINS",
    "DTD",
    "ENGINES",
    "IPTD",
    "METHODS",
    "OA",
    "PTD",
    "PTDAK",
    "RULES",
    "UA",
    "AllalikeError",
    "Answers",
    "Bitmap",
    "Categorical",
    "ConvergenceWarning",
    "Custom",
    "Domain",
    "Engine",
    "Interval",
    "Memory",
    "Method",
    "Ranking",
    "Real",
    "Result",
    "Set",
    "Text",
    "Vector",
    "discover",
    "read",
    "weigh",
]

__version__ = "0.1.0"

_LATER = {
    "Answers": "allalike.answers",
    "Result": "allalike.result",
    "discover": "allalike.discovery",
    "read": "allalike.readers",
    "weigh": "allalike.weighing",
}


def __getattr__(name: str) -> Any:
    """Import what needs more than numpy when it is used."""
    if name not in _LATER:
        raise AttributeError(f"module 'allalike' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
