"""Simulation: crowds with known labels and known errors."""

from allalike.simulation.models import Model
from allalike.simulation.paper import CROWDS, MODELS, as_model
from allalike.simulation.populations import (
    POPULATIONS,
    Copiers,
    Fixed,
    HammerSpammer,
    Normal,
    Population,
    Uniform,
)
from allalike.simulation.simulated import Simulated, simulate

__all__ = [
    "CROWDS",
    "MODELS",
    "POPULATIONS",
    "Copiers",
    "Fixed",
    "HammerSpammer",
    "Model",
    "Normal",
    "Population",
    "Simulated",
    "Uniform",
    "as_model",
    "simulate",
]
