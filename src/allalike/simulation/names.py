"""The names of models, and what is short for them."""

from __future__ import annotations

import re

from allalike._core.registry import make
from allalike.errors import UnknownNameError
from allalike.simulation.base import Model
from allalike.simulation.coins import OneCoinModel, TwoCoinModel
from allalike.simulation.gaussian import GaussianModel
from allalike.simulation.mallows import MallowsModel
from allalike.simulation.paper import BinaryHS, BinaryN, FourClasses, RankingHS, RankingN, RealHS, RealN
from allalike.simulation.shapes import IntervalModel, MaskModel

__all__ = ["CROWDS", "MODELS", "as_model"]

CROWDS: dict[str, type[Model]] = {
    crowd.name: crowd for crowd in (RealN, RealHS, BinaryN, BinaryHS, FourClasses, RankingN, RankingHS)
}

MODELS: dict[str, type[Model]] = CROWDS | {
    model.name: model for model in (GaussianModel, OneCoinModel, TwoCoinModel, MallowsModel, IntervalModel, MaskModel)
}


def as_model(spec: Model | str) -> Model:
    """Return a model, given itself or its name, with options in brackets if need be.

    Words of a name may be left out or cut short where it stays clear which one is meant.

    >>> as_model("one-coin(classes=3)").classes, as_model("ranking-hs").name, as_model("k4").name
    (3, 'ranking SYN.HS', 'k=4 SYN')
    >>> as_model("SYN.N")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: 'SYN.N' may be real SYN.N, binary SYN.N or ranking SYN.N. Say which.
    """
    if isinstance(spec, Model):
        return spec
    name, bracket, options = spec.partition("(")
    return make(_full_name(name.strip()) + bracket + options, MODELS, "model")


def _full_name(name: str) -> str:
    """Find the only model whose name has words that begin like these."""
    if name.casefold() in map(str.casefold, MODELS):
        return name
    asked = _words(name)
    fits = [known for known in MODELS if all(any(w.startswith(a) for w in _words(known)) for a in asked)]
    if not asked or len(fits) < 2:
        return fits[0] if asked and fits else name
    raise UnknownNameError(f"{name!r} may be {', '.join(fits[:-1])} or {fits[-1]}. Say which.")


def _words(name: str) -> list[str]:
    return re.findall("[a-z0-9]+", name.casefold().replace("=", ""))
