"""Answers: labels by workers, sorted by task; gold labels; streams of answers."""

from allalike.answers.answers import Answers, Stream
from allalike.answers.gold import Gold, Truths

__all__ = ["Answers", "Gold", "Stream", "Truths"]
