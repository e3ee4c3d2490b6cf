"""Noise: how workers err, what that says about their faults, and how to weigh them."""

from allalike.noise.base import General, Noise
from allalike.noise.gaussian import Gaussian
from allalike.noise.one_coin import OneCoin

__all__ = ["Gaussian", "General", "Noise", "OneCoin"]
