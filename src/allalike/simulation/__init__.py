"""Simulation: crowds whose truth and whose faults are known, because they are drawn."""

from allalike.simulation.draws import Pool, pool
from allalike.simulation.models import Model
from allalike.simulation.paper import CROWDS, MODELS, as_model
from allalike.simulation.simulated import Simulated, simulate

__all__ = ["CROWDS", "MODELS", "Model", "Pool", "Simulated", "as_model", "pool", "simulate"]
