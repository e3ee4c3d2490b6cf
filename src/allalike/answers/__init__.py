"""Answers: who said what, sorted by task; truths that are known; answers that are still to be read."""

from allalike.answers.answers import Answers
from allalike.answers.gold import Gold, Truths
from allalike.answers.stream import Stream

__all__ = ["Answers", "Gold", "Stream", "Truths"]
