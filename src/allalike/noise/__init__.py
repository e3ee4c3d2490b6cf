"""Noise: how workers err, what that says about their faults, how to weigh them, and how to draw their answers."""

from allalike.noise.base import General, Noise
from allalike.noise.copiers import Copiers
from allalike.noise.gaussian import Gaussian
from allalike.noise.intervals import IntervalNoise
from allalike.noise.laplace import Laplace
from allalike.noise.mallows import Mallows
from allalike.noise.masks import MaskNoise
from allalike.noise.one_coin import OneCoin
from allalike.noise.populations import POPULATIONS, Fixed, HammerSpammer, Normal, Population, Uniform
from allalike.noise.two_coin import TwoCoin

__all__ = [
    "POPULATIONS",
    "Copiers",
    "Fixed",
    "Gaussian",
    "General",
    "HammerSpammer",
    "IntervalNoise",
    "Laplace",
    "Mallows",
    "MaskNoise",
    "Noise",
    "Normal",
    "OneCoin",
    "Population",
    "TwoCoin",
    "Uniform",
]
