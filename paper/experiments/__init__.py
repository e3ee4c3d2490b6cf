"""Experiments: how good methods are, where the truth is known."""

from paper.experiments.runner import Results, run
from paper.experiments.scores import Score, improvements, score_all
from paper.experiments.settings import Sampler, Setting

__all__ = ["Results", "Sampler", "Score", "Setting", "improvements", "run", "score_all"]
