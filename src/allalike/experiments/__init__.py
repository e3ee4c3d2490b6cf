"""Experiments: how good methods are, where the truth is known."""

from allalike.experiments.runner import Results, run
from allalike.experiments.scores import Score, improvements, score_all
from allalike.experiments.settings import Sample, Sampler, Setting

__all__ = ["Results", "Sample", "Sampler", "Score", "Setting", "improvements", "run", "score_all"]
