"""Simulated crowds of the paper (Meir et al. 2023), under their names in the paper.

``N`` crowds are normal, and ``HS`` crowds consist of hammers and spammers: each worker is a hammer with probability
0.2. The second parameter of each normal distribution is a standard deviation. In ``real`` crowds, a worker's parameter
is the standard deviation of errors, which reproduces the paper's tables. Its text calls it a variance, as in
``real SYN.N(reading='variance')``. Error probabilities of four classes and Mallows' phi are clipped, and other
parameters truncated. The printed numbers of ``real`` are matched best if standard deviations are folded at 0 instead:
``real SYN.N(population="normal(mean=1, sd=0.5, high=10, outside='fold')")``.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from allalike._core.registry import make
from allalike.errors import UnknownNameError
from allalike.simulation.models import (
    GaussianModel,
    IntervalModel,
    MallowsModel,
    MaskModel,
    Model,
    OneCoinModel,
    TwoCoinModel,
)
from allalike.simulation.populations import Population


@dataclass(frozen=True, kw_only=True)
class RealN(GaussianModel):
    """Numbers; standard deviations are N(1, 0.5), truncated to 0..10."""

    name: ClassVar[str] = "real SYN.N"
    summary: ClassVar[str] = "numbers; standard deviations N(1, 0.5)"


@dataclass(frozen=True, kw_only=True)
class RealHS(GaussianModel):
    """Numbers; the standard deviation is 0.2 for hammers and 1 for spammers."""

    name: ClassVar[str] = "real SYN.HS"
    summary: ClassVar[str] = "numbers; standard deviations 0.2 (a fifth of the workers) and 1"
    population: Population | str = "hammer-spammer(good=0.2, bad=1.0)"


@dataclass(frozen=True, kw_only=True)
class BinaryN(OneCoinModel):
    """Two classes; error probabilities are N(0.35, 0.15), truncated to 0..1."""

    name: ClassVar[str] = "binary SYN.N"
    summary: ClassVar[str] = "two classes; errors N(0.35, 0.15)"


@dataclass(frozen=True, kw_only=True)
class BinaryHS(OneCoinModel):
    """Two classes; hammers err with probability 0.2, spammers guess."""

    name: ClassVar[str] = "binary SYN.HS"
    summary: ClassVar[str] = "two classes; errors 0.2 (a fifth of the workers) and 0.5"
    population: Population | str = "hammer-spammer(good=0.2, bad=0.5)"


@dataclass(frozen=True, kw_only=True)
class FourClasses(OneCoinModel):
    """Four classes; error probabilities are N(0.6, 0.3), clipped to 0..1."""

    name: ClassVar[str] = "k=4 SYN"
    summary: ClassVar[str] = "four classes; errors N(0.6, 0.3), clipped"
    population: Population | str = "normal(mean=0.6, sd=0.3, outside='clip')"
    classes: int = 4


@dataclass(frozen=True, kw_only=True)
class RankingN(MallowsModel):
    """One ranking of six items; Mallows' phi is N(0.65, 0.15), clipped to 0..1."""

    name: ClassVar[str] = "ranking SYN.N"
    summary: ClassVar[str] = "a ranking of six items; Mallows' phi N(0.65, 0.15), clipped"
    usual_tasks: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class RankingHS(MallowsModel):
    """One ranking of six items; Mallows' phi is 0.3 for hammers and 0.99 for spammers."""

    name: ClassVar[str] = "ranking SYN.HS"
    summary: ClassVar[str] = "a ranking of six items; Mallows' phi 0.3 (a fifth of the workers) and 0.99"
    usual_tasks: ClassVar[int] = 1
    population: Population | str = "hammer-spammer(good=0.3, bad=0.99)"


# Names of models, and abbreviations.


CROWDS: dict[str, type[Model]] = {
    crowd.name: crowd for crowd in (RealN, RealHS, BinaryN, BinaryHS, FourClasses, RankingN, RankingHS)
}
MODELS: dict[str, type[Model]] = CROWDS | {
    model.name: model for model in (GaussianModel, OneCoinModel, TwoCoinModel, MallowsModel, IntervalModel, MaskModel)
}


def as_model(spec: Model | str) -> Model:
    """Return a model, given a model or a name with options in brackets.

    Words of a name may be omitted or abbreviated if the name remains unique.

    >>> as_model("one-coin(classes=3)").classes, as_model("ranking-hs").name, as_model("k4").name
    (3, 'ranking SYN.HS', 'k=4 SYN')
    >>> as_model("SYN.N")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: 'SYN.N' may be real SYN.N, binary SYN.N or ranking SYN.N. Use one of these names.
    """
    if isinstance(spec, Model):
        return spec
    name, bracket, options = spec.partition("(")
    return make(_full_name(name.strip()) + bracket + options, MODELS, "model")


def _full_name(name: str) -> str:
    """Return the full name of the only model that fits an abbreviated name."""
    if name.casefold() in map(str.casefold, MODELS):
        return name
    asked = _words(name)
    fits = [known for known in MODELS if all(any(w.startswith(a) for w in _words(known)) for a in asked)]
    if not asked or len(fits) < 2:
        return fits[0] if asked and fits else name
    raise UnknownNameError(f"{name!r} may be {', '.join(fits[:-1])} or {fits[-1]}. Use one of these names.")


def _words(name: str) -> list[str]:
    return re.findall("[a-z0-9]+", name.casefold().replace("=", ""))
