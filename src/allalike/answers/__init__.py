"""Answers: labels by workers, sorted by task; gold labels; streams of answers."""

from allalike.answers.answers import Answers
from allalike.answers.gold import Gold, Truths
from allalike.answers.stream import Stream

__all__ = ["Answers", "Gold", "Stream", "Truths"]
